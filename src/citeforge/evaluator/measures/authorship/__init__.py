"""Scoring of authorship benchmarks (docs/definitions.md#authorship).

May import schemas, engines and `evaluator`. Begin at `answers`, then `measures`.
"""
