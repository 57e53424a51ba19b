"""Flaws of a benchmark: negatives that are relevant, leaks, odd texts (``audit``).

Suspects and what people decided are dropped by ``build rage``. Reaches the core through
``cli.command``, ``builders`` and ``publish.card``. Begin at `library`, then `run` and `flaws`.
"""
