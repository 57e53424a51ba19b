"""What ``import citeforge`` offers: benchmarks and scores from Python.

May import everything below it. Begin at `scores`.
"""
