"""Runs models and searches vectors by the workers of a Ray cluster; the driver writes what is kept.

Reaches the core through ``engines``. Begin at `runner`, then `pool`.
"""
