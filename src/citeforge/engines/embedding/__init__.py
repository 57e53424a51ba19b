"""Texts made unit vectors, on disk.

May import schemas, `engines.io` and `engines.models`. Begin at `embed`, then `vectors`.
"""
