"""Splitting of texts into sentences, comparison of texts, and reading of short LLM replies.

May import schemas. Begin at `segmenters`.
"""
