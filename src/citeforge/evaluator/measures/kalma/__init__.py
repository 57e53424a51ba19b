"""Scoring of citations of triples (METRICS section 4)."""
