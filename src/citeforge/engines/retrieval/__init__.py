"""Retrieval: BM25, rerankers, and exact search over vectors; exact arithmetic decides all ranks.

May import schemas and other engines. Begin at `records`, then `registry` and `exact`.
"""
