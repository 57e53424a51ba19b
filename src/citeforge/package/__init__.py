"""Packages as they lie on disk: the one reader of their tables.

May import schemas and engines. Begin at `package`, then `kinds`.
"""
