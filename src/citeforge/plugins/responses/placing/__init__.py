"""Conversion of citations beside a text, as vendors return them, to marks in the text.

Begin at `placer`, then `marks`.
"""
