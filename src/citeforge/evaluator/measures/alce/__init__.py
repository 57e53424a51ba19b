"""Measures of ALCE (Gao et al. 2023): citation quality by a judge, and correctness by task.

May import schemas, engines and `evaluator`. Begin at `citations`.
"""
