"""Collect labels of people, measure judges by them, and correct scores by them (``labels …``).

Reaches the core through ``evaluator.corrections`` and ``cli.command``. Begin at `declared`,
then `files`, `people` and `correct`.
"""
