"""Measures of Attributed-IR (Djeddal et al. 2024): AutoAIS, NLI, overlap and correctness.

May import schemas, engines and `evaluator`. Begin at `citations`, then `gold`.
"""
