"""Measures of RAGE (Penzkofer & Baumann 2024): citations against relevance, and the ranking shown.

May import schemas, engines and `evaluator`. Begin at `citations`.
"""
