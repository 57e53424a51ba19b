"""From submissions to scores, and from scores to comparisons, gates and reports.

May import everything below it. Begin at `score`, then `submissions` and `measures`; `compare` and
`report` read score files.
"""
