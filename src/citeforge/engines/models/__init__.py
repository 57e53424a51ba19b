"""Embedders, their vectors on disk, perplexity models, and the numeric formats of local models.

May import schemas, `engines` and `engines.llm`. Begin at `embedder`, then `embed` and `vectors`.
"""
