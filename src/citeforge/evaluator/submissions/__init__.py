"""Submissions in any format: their answers, matched with queries and split into statements.

May import schemas, engines, package and `statistics`. Begin at `submission`, then `split`.
"""
