"""Collect labels of people, and measure judges by them (``labels …``).

Scores are corrected by ``evaluator.corrections``. Reaches the core through ``cli.command``. Begin
at `commands`, then `sheets` and `meta_eval`.
"""
