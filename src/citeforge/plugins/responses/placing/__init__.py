"""Citations beside a text, as vendors give them, made marks in it.

Begin at `placer`, then `marks`.
"""
