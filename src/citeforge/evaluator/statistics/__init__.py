"""Values of queries made means, intervals, differences and ranks.

May import all of `evaluator`. Begin at `estimates`, then `compare`.
"""
