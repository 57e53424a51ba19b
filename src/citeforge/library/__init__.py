"""The Python interface, ``import citeforge``: benchmarks, systems, scores and reports.

May import everything below it. Begin at `scores`.
"""
