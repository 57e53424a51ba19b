"""Reader of packages on disk; `builders` alone writes their tables.

May import schemas and engines. Begin at `package`, then `kinds`.
"""
