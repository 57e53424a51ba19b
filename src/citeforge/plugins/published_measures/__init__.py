"""Measures that papers report since 2024, a module for each family.

The entry point is this package: a module with ``MEASURES`` is found without being listed anywhere.
Begin at `placement`, the shortest.
"""
