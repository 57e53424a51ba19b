"""Exact nearest-neighbour search: one engine retrieves candidates, exact products decide.

May import schemas, `engines.io` and `engines.embedding`. Begin at `exact`.
"""
