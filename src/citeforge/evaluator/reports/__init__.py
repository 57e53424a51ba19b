"""Make entries of score files, comparisons, ranks and tables; a plugin makes pages and plots.

May import `measures` and what that may import. Begin at `entries`, then `compare` and `report`.
"""
