"""A decision whether a new system may replace another one.

May import all of `evaluator`. Begin at `decide`, then `rows`.
"""
