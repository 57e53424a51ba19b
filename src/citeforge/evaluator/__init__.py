"""From submissions to scores, and from scores to comparisons and gates.

May import everything below it. Begin at `score`, then `submissions` and `measures`; `compare` and
`gate` read score files.
"""
