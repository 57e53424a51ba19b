"""Find flaws of a benchmark (``audit``), and classify wrong citations of answers (``wrong``).

Flaws are negatives that are relevant, leaks between splits, and odd texts. Reaches the core through
``cli.command``, ``evaluator.measures``, ``builders`` and ``publishing.card``. Begin at `run`, then
`flaws`.
"""
