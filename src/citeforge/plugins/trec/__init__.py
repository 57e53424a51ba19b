"""TREC: formats, exports and measures of its report tracks, and sources of ad hoc retrieval.

Reaches the core through ``evaluator``, ``ir_convert`` and ``publishing.export``. Begin at
`formats`, then `support` and `sources`.
"""
