"""Local models: their files, the numbers they compute in, threads, and what an embedder offers.

May import schemas, `engines.io` and `engines.llm`. Begin at `files`, then `compute`.
"""
