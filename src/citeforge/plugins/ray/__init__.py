"""Runs models and searches vectors in a Ray cluster, by actors of Ray Data; the driver writes.

Reaches the core through ``engines``. Begin at `runner`, then `pool`.
"""
