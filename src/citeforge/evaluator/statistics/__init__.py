"""Values of queries made means, intervals, differences and ranks.

May import schemas and engines. Begin at `estimates`, then `compare`.
"""
