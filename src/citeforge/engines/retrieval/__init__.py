"""Retrieval: BM25, rerankers, and vector search whose rankings exact arithmetic decides.

May import schemas and other engines. Begin at `records`, then `settings` and `exact`.
"""
