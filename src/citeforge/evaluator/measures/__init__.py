"""Measures, one family a file; `registry` collects them, and `passages` reads submissions for them.

May import `submissions` and `statistics`. Begin at `declared`, then `columns`.
"""
