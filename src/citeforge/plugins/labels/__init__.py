"""Labels of people: sheets for annotators, agreement, judges measured by them, scores corrected by
them (``labels …``, ``score --labels``).

Reaches the core through ``evaluator.reports.corrections`` and ``cli.command``. Begin at `declared`,
then `files`, `people` and `correct`.
"""
