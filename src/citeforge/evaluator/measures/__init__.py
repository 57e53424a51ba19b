"""Measures, one family a file; `registry` collects them.

May import all of `evaluator`. Begin at `declared`, then `columns`.
"""
