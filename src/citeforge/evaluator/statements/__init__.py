"""Answers cut into statements, each with the citations that belong to it.

May import `submissions` and `statistics`. Begin at `split`, then `inputs`.
"""
