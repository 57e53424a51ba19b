"""Retrieval: rankings of passages by BM25, embeddings, rerankers and their fusion."""
