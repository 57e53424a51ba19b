"""Records, table schemas, the citation grammar, errors. No I/O.

Imports nothing else of citeforge. Begin at `manifest` and `tables`, then at `recipes`.
"""
