"""Twins that an LLM wrote, and authorship benchmarks made of them (Abolghasemi et al. 2025).

May import everything below builders and `builders`. Begin at `twins`, then `build`.
"""
