"""Values of queries made means, intervals and tests.

May import schemas and engines. Begin at `estimates`, then `significance`.
"""
