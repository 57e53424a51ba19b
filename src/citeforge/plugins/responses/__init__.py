"""What vendors' APIs, inspect_ai and deep-research systems answered, as submissions.

`vendors` and `inspect_logs` read responses, `deep_research` reports; `placing` makes citations of
responses marks. Reaches the core through ``evaluator``. Begin at `vendors`, then `placing`.
"""
