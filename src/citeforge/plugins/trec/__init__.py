"""TREC: formats and exports of its report tracks, measures by its assessors' labels, and sources of
ad hoc retrieval.

Reaches the core through ``evaluator``, ``ir_convert`` and ``publishing.export``. Begin at
`formats`, then `support` and `sources`.
"""
