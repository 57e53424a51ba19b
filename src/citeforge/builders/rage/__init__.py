"""``build rage``: from sources to mapping tables and frozen contexts (Penzkofer & Baumann 2024).

May import the files of `builders` and everything below. Begin at `build`.
"""
