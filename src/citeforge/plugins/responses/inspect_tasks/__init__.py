"""Benchmarks as tasks of inspect_ai, and its scores by our measures (extra ``inspect``).

``inspect eval citeforge/package -T benchmark=DIR`` finds the task by the entry point of this
module; :func:`package` and :func:`measured` can be called from Python, too. Reaches the core
through ``evaluator`` and ``library``. Begin at `tasks`, then `scorers`.
"""

from citeforge.plugins.responses.inspect_tasks.scorers import measured, whole
from citeforge.plugins.responses.inspect_tasks.tasks import package

__all__ = ["measured", "package", "whole"]
