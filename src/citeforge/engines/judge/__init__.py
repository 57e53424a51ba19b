"""Judges: models and rules that decide whether a premise entails a hypothesis.

May import schemas and other engines. Begin at `records`, then `session`.
"""
