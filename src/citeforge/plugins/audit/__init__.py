"""Find flaws of a benchmark (``audit``), and classify wrong citations of answers (``wrong``).

Flaws are negatives that are relevant, leaks between splits, and odd texts. ``build rage`` drops
suspects, and negatives that were decided to be relevant. Reaches the core through
``cli.command``, ``evaluator.measures``, ``builders`` and ``publish.card``. Begin at `run`, then
`flaws`.
"""
