"""How well judges and measures agree with people.

Reaches the core through ``evaluator``. Begin at `meta_eval`.
"""
