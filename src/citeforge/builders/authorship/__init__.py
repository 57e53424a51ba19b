"""Authorship benchmarks (Abolghasemi et al. 2025): one list of passages, many labels.

May import everything below builders and `builders.stages`. Begin at `build`, then `select`.
"""
