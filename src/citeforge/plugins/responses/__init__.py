"""What vendors' APIs and inspect_ai answered, as submissions.

`vendors` and `inspect_logs` read responses; `placing` makes their citations marks.
Reaches the core through ``evaluator.submissions``. Begin at `vendors`, then `placing`.
"""
