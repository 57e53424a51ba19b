"""Tells refusals by the rules of a language; each language is a file in ``data``.

May import what any engine may. Begin at `rules`.
"""
