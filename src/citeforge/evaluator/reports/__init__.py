"""Score files as tables; pages and plots are a plugin's (`pages`).

May import all of `evaluator`. Begin at `report`, then `entries`.
"""
