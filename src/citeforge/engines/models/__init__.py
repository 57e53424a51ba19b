"""Local models: their files, the numbers they compute in, and the threads.

May import schemas and `engines.io`. Begin at `files`, then `compute`.
"""
