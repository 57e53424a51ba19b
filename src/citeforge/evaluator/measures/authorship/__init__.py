"""Scoring of authorship benchmarks (docs/definitions.md#authorship)."""
