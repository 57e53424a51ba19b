"""Twins that an LLM wrote, and authorship benchmarks made of them (Abolghasemi et al. 2025).

May import the files of `builders` and everything below. Begin at `twins`, then `build`.
"""
