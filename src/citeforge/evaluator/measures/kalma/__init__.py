"""Scoring of citations of triples (docs/definitions.md#kalma)."""
