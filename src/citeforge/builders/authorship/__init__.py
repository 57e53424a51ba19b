"""Authorship benchmarks (Abolghasemi et al. 2025): one list of passages, many labels."""
