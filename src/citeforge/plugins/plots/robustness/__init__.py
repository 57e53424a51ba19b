"""How far the order of systems hangs on the definition of citation quality: tables, page, figure.

Reaches the core through ``evaluator``. Begin at `declared`, then `orders`.
"""
