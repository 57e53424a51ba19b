"""Runs of TREC's report tracks: formats, rules, exports, and measures by assessors' labels; sources
of ad hoc retrieval.

Reaches the core through ``evaluator``, ``ir_convert`` and ``publish.export``. Begin at `formats`,
then `support` and `sources`.
"""
