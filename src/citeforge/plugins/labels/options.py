"""What the commands about labels are asked for, one record each."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from citeforge.schemas.command_options import JudgeOptions
from citeforge.schemas.recipes.base import Option, Part


class PlanOptions(Part):
    """A difference that is to be found."""

    effect: float = Field(gt=0)
    """Difference of two systems, as displayed."""
    power: float = Field(0.8, gt=0, lt=1)
    """Probability of finding it."""
    measure: str | None = None
    """Measure (default: all in the files)."""


class EffortOptions(Part):
    """What more of everything costs, in any one unit."""

    measure: str | None = None
    """Measure (default: the first that a judge decides)."""
    query_cost: float = Field(1, ge=0)
    """Of a query with its passages."""
    answer_cost: float = Field(1, ge=0)
    """Of a system's answer."""
    judging_cost: float = Field(1, ge=0)
    """Of one judge's verdicts on an answer, once."""
    label_cost: float = Field(1, ge=0)
    """Of people's labels of an answer."""


class LabelPlanOptions(JudgeOptions):
    """An interval that labels are to give."""

    half_width: float = Field(gt=0)
    """Half of the 95 % interval of the corrected value, as displayed."""
    measure: str | None = None
    """Judged measure (default: the first in the score file; of a submission, ALCE.CitRec)."""
    benchmark: Annotated[Path | None, Option(input=True)] = None
    """Package that a submission answers, or hub:ORG/NAME[@REVISION]."""
    context: str | None = None
    """Context set of a submission."""
    labels: Annotated[tuple[Path, ...], Option(input=True)] = ()
    """Labels of a pilot, as score takes them; repeatable."""
    correlation: float | None = Field(None, ge=0, le=1)
    """Of the judge's values of answers with people's, where no pilot tells (score --labels)."""
    design: Literal["random", "stratified"] = "random"
    """Which answers: any, or evenly over the judge's values; each as likely as any other."""
    seed: int = Field(0, description="")
    """Seed of the draw."""
    out: Path | None = None
    """File for the answers to label, which labels export --queries reads."""


class AnnotationOptions(Part):
    """What annotators are sent."""

    task: str
    """utility, statement-support, citation-support, knowledge-support (of score files);
    audit-negative, unsure-relevance, twin-relevant, twin-nonrelevant, kalma-authenticity,
    kalma-relevance, kalma-naturalness, kalma-significance (of a benchmark)."""
    benchmark: Path | None = None
    """Benchmark, for tasks that look at it."""
    out: Path
    """FILE.csv, or FILE.json for Label Studio."""
    sample: int | None = Field(None, ge=1)
    """Queries to sample (default: all; twin-nonrelevant: a tenth)."""
    queries: Path | None = None
    """Queries that labels plan drew."""
    seed: int = Field(0, description="")
    """Seed of sample and order."""
