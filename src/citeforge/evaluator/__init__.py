"""From submissions to scores.

May import everything below it. Begin at `score`, then `submissions` and `statements`.
"""
