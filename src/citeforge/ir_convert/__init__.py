"""Outside formats, read: one file a format.

May import schemas and engines. Begin at `source`, then `registry`.
"""
