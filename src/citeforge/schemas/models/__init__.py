"""Models that can be named, and what is declared of them.

Imports `schemas` alone. Begin at `choices`.
"""
