"""Means, intervals and tests, computed from values per query.

May import schemas and engines. Begin at `estimates`, then `significance`.
"""
