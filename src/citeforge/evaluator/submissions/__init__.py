"""Submissions: any format read as answers and placed on the queries of a benchmark.

May import schemas, engines, package and `statistics`. Begin at `reader`, then `index`.
"""
