"""How many answers people must label, and which: before anybody labels."""

from __future__ import annotations

from pathlib import Path

from citeforge.evaluator.statistics.compare import load_scores
from citeforge.library.scores import score_files
from citeforge.plugins.labels.options import LabelPlanOptions
from citeforge.plugins.labels.planning.planning import LabelPlan, plan_labels
from citeforge.schemas.commands.command_options import ScoreOptions
from citeforge.schemas.errors import UsageError
from citeforge.schemas.extras import extras_named
from citeforge.schemas.recipes.run import RunOptions

_MEASURE = "ALCE.CitRec"
"""What is planned for, unless another judged measure is named."""


@extras_named()
def plan_labelling(
    path: str | Path, options: LabelPlanOptions, run: RunOptions | None = None
) -> LabelPlan:
    """Plan labels, as ``citeforge labels plan`` does.

    Args:
        path: score file by the judge; or a submission, which the judge of the options is asked
            about first.
        options: half width, as displayed, design and seed; judge and benchmark of a submission.
        run: where a judge runs, what it may cost, where its verdicts are kept.

    Raises:
        InputError: a file cannot be read, or answers something else.
        UnknownValueError: no judged measure of that name.
        UsageError: a judge without a benchmark or the reverse, or scores without any judge.
    """
    if options.judge is None and options.benchmark is None:
        if options.labels:
            raise UsageError("--labels belong to a submission: give --benchmark and --judge, too")
        return plan_labels(load_scores(Path(path)), options)
    if options.judge is None or options.benchmark is None:
        given, lacks = ("benchmark", "judge") if options.judge is None else ("judge", "benchmark")
        raise UsageError(
            f"--{given} is given without --{lacks}: a submission needs both; a score file by the "
            "judge needs neither"
        )
    judging = {name: getattr(options, name) for name in _JUDGING}
    chosen = ScoreOptions(
        **judging,
        measures=(options.measure or _MEASURE,),
        context=options.context,
        labels=options.labels,
        details=False,
    )
    (found,) = score_files([path], options.benchmark, chosen, run=run).scores
    for absent in found.file.not_computed:
        raise UsageError(f"{absent.name} cannot be planned for: {absent.reason}")
    return plan_labels(found.file, options)


_JUDGING = [n for n in ScoreOptions.model_fields if n in LabelPlanOptions.model_fields
            and n not in ("context", "labels", "measures", "details")]  # fmt: skip
