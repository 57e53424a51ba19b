"""Files, folders and stores: whole or absent, streamed, errors at the right line.

May import schemas. Begin at `files`, then `jsonlines` and `tables`.
"""
