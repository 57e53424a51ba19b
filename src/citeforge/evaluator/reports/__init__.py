"""Score files as tables, pages and plots.

May import all of `evaluator`. Begin at `report`, then `entries`.
"""
