"""Runs of TREC's report tracks: formats, rules, exports, and measures by assessors' labels.

Reaches the core through ``evaluator`` and ``publish.export``. Begin at `formats`, then `support`.
"""
