"""Readers of answers by vendors' APIs, inspect_ai and deep-research systems, as submissions.

`vendors` and `inspect_logs` read responses, `deep_research` reports; `inspect_tasks` makes
benchmarks tasks of inspect_ai; `placing` makes citations of responses marks. Reaches the core
through ``evaluator``. Begin at `vendors`, then `placing`.
"""
