"""Entries of score files, comparisons, ranks and tables; pages and plots are a plugin's.

May import `measures` and what that may import. Begin at `entries`, then `compare` and `report`.
"""
