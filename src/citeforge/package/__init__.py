"""Reader of packages on disk; no other folder knows where their tables are.

May import schemas and engines. Begin at `package`, then `kinds`.
"""
