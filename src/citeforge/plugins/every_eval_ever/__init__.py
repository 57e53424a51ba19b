"""Score files as records of Every Eval Ever, evaleval's collection.

Reaches the core through ``publish.export`` and ``evaluator``. All of it is in `exports`.
"""
