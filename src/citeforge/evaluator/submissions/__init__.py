"""Submissions: any format read as answers, placed on the queries of a benchmark, and checked.

May import schemas, engines and package. Begin at `reader`, then `index`.
"""
