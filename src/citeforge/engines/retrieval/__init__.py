"""Retrieval: rankings of passages by BM25, embeddings and rerankers, or from run files."""
