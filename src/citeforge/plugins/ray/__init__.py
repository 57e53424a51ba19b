"""Runs models and searches vectors by the workers of a Ray cluster; the driver writes what is kept.

Reaches the core through ``engines`` and ``cli.command``. Begin at `runner`, then `pool`.
"""
