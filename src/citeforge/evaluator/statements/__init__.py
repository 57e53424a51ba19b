"""Answers cut into statements, each with the citations that belong to it.

May import schemas, engines and `evaluator.submissions`. Begin at `split`, then `reading`.
"""
