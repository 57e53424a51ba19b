"""Local models: their files, numeric formats, embedders and their vectors on disk.

May import schemas, `engines` and `engines.llm`. Begin at `files`, then `embed` and `vectors`.
"""
