"""Score files as tables; pages and plots are a plugin's.

May import all of `evaluator`. Begin at `report`, then `entries`.
"""
