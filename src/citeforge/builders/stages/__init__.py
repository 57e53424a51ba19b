"""What builds of all kinds share: the folder they happen in, the corpus, vectors, and their order.

May import everything below builders. Begin at `build`.
"""
