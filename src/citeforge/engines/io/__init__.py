"""Files, folders and stores: written completely or not at all, read as streams.

May import schemas. Begin at `files`, then `jsonlines` and `tables`.
"""
