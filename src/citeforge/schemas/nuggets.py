"""Words and columns of a sheet of nuggets, which ``labels propose`` writes and ``score`` reads."""

VITAL, OKAY = "vital", "okay"
"""Importance of a nugget: every good answer has it, or an answer is good without it."""
QUERY, NUGGET, NUGGET_IMPORTANCE, KEEP = "query_id", "nugget", "importance", "keep"
"""Columns that are read; ``keep`` is yes or no."""
YES, NO = "yes", "no"
