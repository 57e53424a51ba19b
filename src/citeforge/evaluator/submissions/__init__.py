"""Submissions in any format: their answers, matched with queries.

May import schemas, engines, package and `statistics`. Begin at `submission`, then `inputs`.
"""
