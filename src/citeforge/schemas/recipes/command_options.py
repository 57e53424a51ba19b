"""Options of commands other than ``build``: one record per command, as recipes are for builds."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from citeforge.schemas.recipes.base import Judging, Option, Part, Temperature, Words
from citeforge.schemas.recipes.groups import MEASURES, PROMPTS

Protocol = Literal["strict", "reference"]

MOST_CITATIONS = 3
"""Maximum citations per statement that ALCE's evaluator reads by default."""
QA_MODEL = "gaotianyu1350/roberta-large-squad"
BERTSCORE_MODEL = "roberta-large"
BERTSCORE_LAYER = 17
MAUVE_MODEL = "gpt2-large"


class JudgeOptions(Judging):
    """Options of the judge that decides."""

    judge: Annotated[str | None, Option(input=True, names="judges")] = None
    """Judge: {judges}."""


class ScoreOptions(JudgeOptions):
    """Options that scores depend on, apart from answers and benchmark."""

    context: str | None = None
    """Context set to score (default: all that are answered); `own` for passages in the lines,
    `none` for closed-book systems."""
    protocol: Protocol = "strict"
    """Our corrected definitions, or what the paper's own code prints."""
    measures: Annotated[Words, Option(joined=True, names="measures")] = ()
    """Measures or families, separated by commas (default: rage, or what fits the benchmark)."""
    file_format: Annotated[str, Option("--format", names="formats")] = "auto"
    """Format of the submissions: auto, {formats}; `citeforge list formats` explains each."""
    by: Annotated[Words, Option(joined=True, metavar="FIELD[,FIELD]")] = ()
    """Also score slices: the queries that share the value of a field of their metadata, of
    n_relevant (relevant passages shown), or of n_shown (passages shown)."""
    judge_repeats: int = Field(1, ge=1)
    """Verdicts of an LLM judge on every pair; the score is their mean, and costs as many times."""
    llm: Annotated[str | None, Option(names="llms")] = None
    """LLM that gives marks (G-Eval): {llms}."""
    embedder: Annotated[str, Option(names="embedders")] = "offline"
    """Embedder that finds passages of the corpus for the measures `wrong`: {embedders}."""
    segmenter: Annotated[str | None, Option(names="segmenters"), MEASURES] = None
    """Sentence segmenter: {segmenters} (default: nupunkt for strict, punkt for reference)."""
    bertscore_model: Annotated[str, MEASURES] = Field(BERTSCORE_MODEL, description="MODEL[#LAYER].")
    """Model of BERTScore."""
    mauve_model: Annotated[str, MEASURES] = Field(MAUVE_MODEL, description="")
    """Language model whose features MAUVE compares."""
    qa_model: Annotated[str, MEASURES] = Field(QA_MODEL, description="")
    """Extractive QA model."""
    tokenizer: Annotated[str | None, MEASURES] = None
    """Tokenizer (Hub id or folder) whose tokens LongCite.Length counts (default: words)."""
    max_row: Annotated[bool, MEASURES] = False
    """Add a row with the best ranking of each query, out of several."""
    only_asked: Annotated[bool, MEASURES] = False
    """Score only the queries that were asked, as the header says (run --limit)."""
    only_answered: Annotated[bool, MEASURES] = False
    """Score only the queries that the file answers; the signature says which."""
    cot: Annotated[bool, MEASURES] = False
    """QAMPARI: answers follow the first colon."""
    at_most_citations: Annotated[int, MEASURES] = Field(MOST_CITATIONS, ge=1)
    """Maximum citations per statement that ALCE's measures read (--protocol reference)."""
    labels: Annotated[tuple[Path, ...], Option(input=True)] = Field(
        (),
        description="Labels of people, which correct judged measures: of labels import, in "
        "ExpertQA's layout, or ALCE's; repeatable.",
    )
    """Labels of people."""
    assessments: Annotated[tuple[Path, ...], Option(input=True), MEASURES] = Field(
        (),
        description="Assessments to score answers by, labelled or for the judge: TREC's support, "
        "nuggets, rubrics, DRAGUN's; file or folder, repeatable.",
    )
    """Support, nuggets, rubrics, DRAGUN's questions."""
    also: Annotated[tuple[Path, ...], Option(input=True), MEASURES] = Field(
        (),
        description="More answers of the same system, which measures of several context sets "
        "(mirage) or runs compare: a file for each set or run; repeatable.",
    )
    """More answers of the same system."""
    wordings: Annotated[Path | None, Option(input=True), MEASURES] = Field(
        None,
        description="Texts of papers' authors that --protocol reference needs to the letter: YAML, "
        "a text by name (docs/measures has the names).",
    )
    """Prompts and sentences of papers' authors."""
    details: Annotated[bool | None, MEASURES] = None
    """Keep answers in the score file, for reports (default: when sentences are split anyway)."""

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        """Raise an error if scoring options exclude each other, or a needed one is missing."""
        if self.protocol == "strict" and self.at_most_citations != MOST_CITATIONS:
            raise ValueError(
                "--at-most-citations: strict looks at every citation; give --protocol reference"
            )
        if self.only_asked and self.only_answered:
            raise ValueError("--only-asked and --only-answered exclude each other")
        if self.judge_repeats > 1 and self.judge is None:
            raise ValueError("--judge-repeats requires --judge")
        if self.labels and self.judge is None:
            raise ValueError("--labels correct the scores of a judge; name it with --judge")
        if self.labels and self.protocol != "strict":
            raise ValueError("--labels are about statements as strict reads them")
        _, mark, layer = self.bertscore_model.partition("#")
        if mark and not layer.isdecimal():
            raise ValueError(
                f"--bertscore-model {self.bertscore_model}: the layer after # is a number, as in "
                "roberta-large#17"
            )
        return self

    @property
    def bertscore(self) -> tuple[str, int]:
        """Name of the model that computes BERTScore, and the number of its layer."""
        name, _, layer = self.bertscore_model.partition("#")
        return name, int(layer or BERTSCORE_LAYER)


class AmountOptions(Part):
    """Options of the number of answers that a system gives."""

    runs: int = Field(1, ge=1, description="")
    """Answers per query."""
    seed: int = Field(0, description="")
    """Seed of all draws."""
    limit: int | None = Field(
        None, ge=1, description="Answer the first so many queries (`bench`: score these alone)."
    )
    """Queries to answer, from the first on."""


class PromptingOptions(Part):
    """Options of an LLM that answers prompts."""

    llm: Annotated[str, Option(names="llms")]
    """LLM that answers: {llms}."""
    system: str | None = None
    """Name of the system (default: the model)."""
    runs: int = Field(1, ge=1, description="")
    """Samples of every answer."""
    temperature: Temperature = 0.0
    """Sampling temperature; none leaves it out of requests."""
    max_answer: int = Field(512, ge=1)
    """Maximum tokens per answer."""
    logprobs: Annotated[bool, PROMPTS] = False
    """Keep log probabilities of citation tokens."""


class TableOptions(Part):
    """Options of a table for a paper."""

    measures: Annotated[Words, Option(joined=True, names="measures")] = ()
    """Columns of a table: measures or families, separated by commas, in order (default: all)."""
    best: Literal["none", "bold"] = "none"
    """Mark the highest value of every measure that is shown from 0 to 100."""
    against: str | None = None
    """Baseline: systems that differ from it significantly are marked."""
    significance: str | None = None
    """Mark of a significant difference (default with --against: †)."""
    per_context: bool = False
    """Show context sets side by side, one row per system."""
    across: Annotated[Words, Option(joined=True)] = ()
    """Parts of signatures that ranks, bold and marks may reach across, as in `compare`: contexts,
    benchmarks, judges, segmenters, grammars, gold, options, versions."""

    @model_validator(mode="after")
    def _require_baseline(self) -> Self:
        """Raise an error for a mark of significant differences without a baseline."""
        if self.significance is not None and self.against is None:
            raise ValueError("--significance requires a baseline: --against SYSTEM")
        return self

    @property
    def is_plain(self) -> bool:
        """Whether all table options but ``--across`` have their defaults."""
        fields = TableOptions.model_fields.items()
        return all(getattr(self, n) == f.default for n, f in fields if n != "across")

    @property
    def is_measures_alone(self) -> bool:
        """Whether all table options but ``--measures`` and ``--across`` have their defaults."""
        return self.model_copy(update={"measures": ()}).is_plain

    @property
    def mark(self) -> str:
        """Sign that tables print at a significant difference; empty without a baseline."""
        return (self.significance or "†") if self.against else ""


class ReportOptions(TableOptions):
    """Options of a report."""

    title: Annotated[str | None, PROMPTS] = None
    """Title of the report."""
    one_file: bool = False
    """Keep all data in the page (default: those of many answers are in a folder beside it)."""
    by: Annotated[Words, Option(joined=True, metavar="FIELD[,FIELD]")] = ()
    """Fields whose slices are shown (default: all that the files were scored by)."""
    plot: Annotated[str | None, Option(names="plots")] = None
    """Plot to draw in a file that is a plot: {plots} (default: intervals)."""
    benchmark: Annotated[Path | None, Option(input=True)] = None
    """Package whose audit the report summarises: negatives, and the line to beat (pages, md)."""
    robustness: bool = False
    """Show how each definition of citation quality ranks the systems, and where they disagree, by
    several score files per system (protocols, judges). Any format; no model is asked."""
    measure: str | None = None
    """Measure that a plot shows (default: the main measure of the files)."""

    @model_validator(mode="after")
    def _refuse_two_reports(self) -> Self:
        """Raise an error if both a plot and a report on robustness are requested."""
        if self.robustness and self.plot is not None:
            raise ValueError("--robustness and --plot are two reports; write two files")
        return self

    @property
    def is_plot(self) -> bool:
        """Whether the report is a picture or page of its own: --plot, --measure or --robustness."""
        return self.robustness or (self.plot, self.measure) != (None, None)


class CompareOptions(Part):
    """Options of a comparison of scores."""

    measures: Annotated[Words, Option(joined=True, names="measures")] = ()
    """Names, names without their cell (CAB.P), or families, separated by commas (default: all that
    the files share). Holm's family is all pairs on these measures."""
    against: str | None = None
    """Baseline that all others are compared with (default: all pairs)."""
    across: Annotated[Words, Option(joined=True)] = ()
    """Parts of signatures that may differ, separated by commas: contexts, benchmarks, judges,
    segmenters, grammars, gold, options, versions."""
    by: Annotated[Words, Option(joined=True, metavar="FIELD[,FIELD]")] = ()
    """Compare by slices, by which the files were scored (score --by); Holm's family is all of
    them."""
