"""What things are: records, table schemas, the citation grammar, errors. No I/O.

Imports nothing of ours. Begin at `benchmarks` and `recipes`.
"""
