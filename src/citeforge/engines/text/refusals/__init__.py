"""Tells refusals by the rules of a language; each language is a file in ``data``.

Begin reading in ``rules.py``; it may import what any engine may.
"""
