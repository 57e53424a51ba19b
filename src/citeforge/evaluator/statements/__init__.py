"""Answers cut into statements, each with the citations that belong to it.

May import all of `evaluator`. Begin at `split`, then `reading`.
"""
