"""Labels of people: sheets for annotators, agreement, and values of judges corrected by them.

May import all of `evaluator`. Begin at `files`, then `people` and `ppi`.
"""
