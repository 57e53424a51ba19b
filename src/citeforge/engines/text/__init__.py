"""Texts cut into sentences and compared.

May import schemas. Begin at `segmenters`.
"""
