"""Scoring of authorship benchmarks (METRICS section 5)."""
