"""Measures, one family per file; `registry` collects them, `passages` reads submissions for them.

May import `submissions` and `statistics`. Begin at `declared`, then `columns`.
"""
