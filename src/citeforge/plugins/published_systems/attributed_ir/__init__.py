"""Scenarios of Attributed-IR as systems: generate, retrieve then generate, generate then retrieve.

Reaches the core through ``systems`` and ``engines.retrieval``. Begin at `scenarios`, then `search`.
"""
