"""Local models: their files, the numbers they compute in, embedders and their vectors on disk.

May import schemas, `engines.io` and `engines.llm`. Begin at `files`, then `embed` and `vectors`.
"""
