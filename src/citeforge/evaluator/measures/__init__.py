"""Measures by family; `registry` collects them, `results` reads submissions for them.

May import `submissions` and `statistics`. Begin at `declared`, `rage_citations`, `results`.
"""
