"""Scoring of citations of triples (docs/definitions.md#kalma).

May import schemas, engines and `evaluator`. Begin at `graphs`, then `citations`.
"""
