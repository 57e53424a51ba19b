"""Logs of inspect_ai as submissions.

Reaches the core through ``evaluator.submissions``. Begin at `logs`.
"""
