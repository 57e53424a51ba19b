"""Options of the commands ``labels …``, one record each."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from citeforge.schemas.recipes.base import Option, Part
from citeforge.schemas.recipes.command_options import JudgeOptions
from citeforge.schemas.recipes.groups import ENDPOINTS, JUDGE, PREFERENCES, PROMPTS, QUESTIONS


class LabelFiles(Part):
    """Files of labels, and the score files that they are about."""

    labels: tuple[Path, ...] = ()
    """Labels of labels import or ALCE's human evaluation (with --scores), of ExpertQA, or claims
    with references; repeatable."""
    label_format: Annotated[
        Literal["auto", "annotations", "expertqa", "alce", "claims"], Option("--format")
    ] = "auto"
    """Format of the labels; auto detects it."""
    scores: tuple[Path, ...] = ()
    """Score files (--details) that the labels are about."""


class CertifyOptions(LabelFiles):
    """Labels that a judge is measured by, and what it must reach."""

    certify_from: float | None = Field(None, gt=0, lt=1)
    """Certify the judge if the lower bounds (95 %) of its shares of supported and of other
    statements that it finds reach this, such as .8; scores by another judge say so."""


class MetaEvalOptions(CertifyOptions):
    """Options of ``labels meta-eval``: labels or preferences to compare a judge or measure with."""

    bias: bool = False
    """Also ask about changes that must not change a verdict: length, order, wordiness, the name of
    the source, the judge's own family. Asks up to nine times as much."""
    judge_family: Annotated[str | None, JUDGE] = None
    """Family of the judge's model, as llama (default: its profile's)."""

    benchmark: Path | None = None
    """HAGRID benchmark, for its attributable labels."""
    against: tuple[Path, ...] = ()
    """Score files of the same systems by another judge, or by people: compares the orders."""
    preferences: Annotated[tuple[Path, ...], PREFERENCES] = ()
    """Preferences between two answers, one file per annotator: compares them with --measure."""
    people: Annotated[str, PREFERENCES] = "preference"
    """Field of --preferences with the human scores of both answers."""
    tie_threshold: Annotated[float | None, PREFERENCES] = None
    """Difference up to which the measure calls two answers equal (default: that at which it does so
    as often as people)."""
    agreed: Annotated[bool, PREFERENCES] = False
    """Use only comparisons that all annotators decide alike."""
    measure: str | None = None
    """Measure that orders systems (--against), or is compared with people (--preferences): in the
    score files of --scores, else a field of the preferences."""
    allow_judge_failures: Annotated[bool, ENDPOINTS] = False
    """Exit with 0 in spite of failures."""


class LabelPlanOptions(JudgeOptions):
    """Options of ``labels plan``: the wanted interval, and how answers are drawn."""

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
    seed: int = Field(0, description="")
    """Seed of the draw."""
    out: Path | None = None
    """File for the answers to label, which labels export --queries reads."""


class NuggetOptions(Part):
    """Options of ``labels propose nuggets``: the LLM, and how many nuggets there are."""

    llm: Annotated[str, Option(input=True, names="llms")]
    """LLM that lists and weighs nuggets: {llms}."""
    most: Annotated[int, QUESTIONS] = Field(20, ge=1, le=30)
    """Most nuggets of a query, vital ones first."""
    limit: Annotated[int | None, QUESTIONS] = Field(None, ge=1)
    """Only the first N queries with relevant passages."""


class AnnotationOptions(Part):
    """Options of ``labels export``: the task, and which items annotators get."""

    task: str
    """utility, statement-support, citation-support, knowledge-support (of score files);
    audit-negative, unsure-relevance, questions, twin-relevant, twin-nonrelevant,
    kalma-authenticity, kalma-relevance, kalma-naturalness, kalma-significance (of a benchmark)."""
    benchmark: Path | None = None
    """Benchmark, for tasks about one."""
    out: Path
    """FILE.csv, or FILE.json for Label Studio."""
    sample: Annotated[int | None, QUESTIONS] = Field(None, ge=1)
    """Queries to sample (default: all; twin-nonrelevant: a tenth)."""
    queries: Annotated[Path | None, PROMPTS] = None
    """Queries that labels plan drew."""
    seed: int = Field(0, description="")
    """Seed of sample and order."""
