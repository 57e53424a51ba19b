"""``build rage``: from sources to mapping tables and frozen contexts (Penzkofer & Baumann 2024).

May import the files of `builders` and everything below. Begin at `build`. While negatives are
mined, a passage is its position in the corpus; before and after, it is its id.
"""
