"""Runs of TREC's report tracks: formats, rules, and measures by assessors' labels.

Reaches the core through ``evaluator``. Begin at `formats`, then `support`.
"""
