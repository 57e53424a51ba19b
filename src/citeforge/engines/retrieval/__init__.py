"""Retrieval: rankings of passages by BM25, embeddings and rerankers.

May import schemas and other engines. Begin at `records`, then `registry`.
"""
