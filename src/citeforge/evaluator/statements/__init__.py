"""Answers in statements with the passages that they cite, as each protocol reads them; no judge.

May import schemas, engines, package and `submissions`. Begin at `protocols`, then `strict`.
"""
