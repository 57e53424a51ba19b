"""Flaws of a benchmark (``audit``): negatives that are relevant, leaks, odd texts; of answers: how
citations are wrong (the measures ``wrong``).

Suspects and what people decided are dropped by ``build rage``. Reaches the core through
``cli.command``, ``evaluator.measures``, ``builders`` and ``publish.card``. Begin at `run`, then
`flaws`.
"""
