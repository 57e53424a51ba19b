"""``build rage``: sources to mapping tables and frozen contexts (Penzkofer & Baumann 2024).

May import everything below builders and `builders`. Begin at `build`.
"""
