"""Submissions: any format read as answers, placed on queries, and split into statements.

May import schemas, engines, package and `statistics`. Begin at `reader`, then `index` and `split`.
"""
