"""LLMs: requests, the replay store, the client, and the writers built on them.

May import schemas and other engines. Begin at `records`, then `writers` and `endpoint`.
"""
