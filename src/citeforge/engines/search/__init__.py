"""Exact nearest-neighbour search: one engine retrieves candidates, exact products decide.

May import schemas, `engines.io`, `engines.models` and `engines.embedding`. Begin at `exact`.
"""
