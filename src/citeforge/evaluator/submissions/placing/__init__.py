"""Citations beside a text, as vendors give them, made marks in it.

May import what `evaluator.submissions` may. Begin at `placer`, then `marks`.
"""
