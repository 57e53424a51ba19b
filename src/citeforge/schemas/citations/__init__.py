"""Marks in an output that are citations: of passages, of triples, and of lists of sources.

Imports `schemas` alone. Begin at `grammar`.
"""
