"""The language model that comes with an extra and needs no network.

May import schemas and engines. Begin at `offline`.
"""
