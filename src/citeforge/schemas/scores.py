"""The score file that ``citeforge score --out`` writes."""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, model_validator

from citeforge.schemas.authorship import Design
from citeforge.schemas.record import Record
from citeforge.schemas.signature import parse_signature
from citeforge.schemas.text import choose_digits

SCORES_VERSION = 1
UNKNOWN_BUILD = "not known which build was answered"
"""Caution beside scores of a submission that names no build of its benchmark."""
Source = Literal["judges", "runs", "repeats", "queries"]
"""Sources of uncertainty, in the order of axes."""
Gold = Literal["public", "private", "withheld"]
Weights = Literal["equal", "fixed", "own"]
"""Whether labels are public; else whether a score file has values of single queries."""


def _check_signature(text: str) -> str:
    """Raise an error if a text is no score signature; return the text."""
    parse_signature(text)
    return text


SignatureText = Annotated[str, AfterValidator(_check_signature)]


PPI, ROGAN_GLADEN = "ppi++", "rogan-gladen"
"""Methods of corrections, as score files name them."""


class Corrected(Record, allow_inf_nan=False):
    """A judged measure, corrected for the errors of its judge.

    Attributes:
        value: estimate of what people would have found, as displayed; set to the end of the
            measure's range where it leaves it.
        low: lower end of its 95 % interval, as displayed.
        high: upper end.
        stderr: standard error, as displayed.
        method: ``ppi++`` (labels of these very answers) or ``rogan-gladen`` (error rates of the
            judge, from labels of other answers).
        n_labels: labelled answers; 0 where the rates come from elsewhere.
        signature: recipe of ``value``: that of the raw one, and ``corr:``.
        tuning: ``ppi++``: weight of the judge, from 0 (the labels alone) to 1.
        df: degrees of freedom of ``stderr``; None for infinitely many.
        labels_value: ``ppi++``: estimate from the labels alone, as displayed.
        labels_low: lower end of its interval.
        labels_high: upper end.
        human: raw values of ``query_ids`` as people decide them, or that need no decision; None
            elsewhere, and where the measure is not defined.
        labelled: 0-based indexes in ``query_ids`` of the labelled answers that enter.
        linear_judged: raw values of ``query_ids`` by the judge whose mean is the value to first
            order, where the measure is no mean: what corrected differences are made of.
        linear_human: the same by people; None where none decided.
    """

    value: float | None
    low: float | None
    high: float | None
    stderr: float | None
    method: str
    n_labels: int = Field(ge=0)
    signature: SignatureText
    tuning: float | None = None
    df: float | None = None
    labels_value: float | None = None
    labels_low: float | None = None
    labels_high: float | None = None
    human: list[float | None] = Field([], repr=False)
    labelled: list[int] = Field([], repr=False)
    linear_judged: list[float | None] | None = Field(None, repr=False)
    linear_human: list[float | None] | None = Field(None, repr=False)


class Variance(Record, allow_inf_nan=False):
    """Uncertainty of a value, split by its sources.

    Attributes:
        levels: how many ``queries`` (or clusters of them), ``runs``, ``judges`` and ``repeats`` of
            these the value is the mean of.
        components: variance of single values, displayed units squared, by effect: one of these, or
            several joined by ``:`` (their interaction); unbiased, and so below 0 at times.
        shares: part of the squared standard error, from 0 to 1, by source; an interaction belongs
            to the later one of ``queries``, ``runs``, ``judges``, ``repeats``.
        values: of judged measures, raw values of every query that enters (or cluster), one list a
            verdict of a run, with the value as their mean to first order.
    """

    levels: dict[Source, PositiveInt]
    components: dict[str, float]
    shares: dict[Source, float]
    values: list[list[float]] = []

    @model_validator(mode="after")
    def _require_fitting_values(self) -> "Variance":
        """Raise an error if variance sources are unknown or absent, or values too few or many.

        Raises:
            ValueError: names what is wrong.
        """
        n = self.levels
        if set(n) != set(get_args(Source)):
            raise ValueError(f"levels: lists other sources than {', '.join(get_args(Source))}")
        if any(set(e.split(":")) - set(n) for e in self.components):
            raise ValueError("components: names another source")
        layers = n["judges"] * n["runs"] * n["repeats"]
        if self.values and [len(row) for row in self.values] != [n["queries"]] * layers:
            raise ValueError("values: expected one value per query, run and verdict")
        return self


class Figures(Record, allow_inf_nan=False):
    """What is published of a measure where the gold is hidden; made beside the value itself.

    Attributes:
        value: with noise, in whole points (counts: in tenths).
        low: lower end of the 95 % interval.
        high: upper end.
        interval: how the interval was made; ``widest`` where it follows from the value alone.
        noise: standard deviation of the noise in ``value``, as displayed; 0 where hidden labels
            decide nothing of it.
    """

    value: float
    low: float | None
    high: float | None
    interval: str
    noise: float = Field(ge=0)


class MeasureScore(Record, allow_inf_nan=False):
    """One measure of one submission.

    Attributes:
        name: declared name.
        signature: recipe of the number.
        scale: factor between ``per_query`` and the displayed values: 100 or 1.
        value: mean (or ratio) as displayed; None when no query defines the measure.
        low: lower end of the 95 % interval, as displayed; None when there is none.
        high: upper end.
        stderr: standard error, as displayed.
        sd_runs: standard deviation between runs, as displayed; None with one run.
        interval: how the interval was made: ``wilson`` (shares), ``skew-t`` (counts), ``t``
            (differences), ``widest`` (hidden gold: as wide as any values could make it) or
            ``none``.
        n: queries that enter the value.
        n_undefined: queries for which the measure is not defined.
        lower_bound: value if every pair on which the judge failed had been against; None without.
        upper_bound: value if every such pair had been in favour.
        p_t: two-sided t-test, paired by query: for CAB, of its two labellings; for CAS.P-placebo
            and CAS.R-placebo, of both CAS; for AC.relevant, against AC.other; None for others.
        p_holm: ``p_t`` adjusted by Holm over the cells of its table; None without.
        per_query: raw values in the order of ``query_ids``, averaged over runs; None if undefined.
        influence: what each query does to the raw value, where that is not the mean of
            ``per_query`` (harmonic means, ratios of sums), with the sum 0; None of queries that do
            not enter.
        corrected: the value with the judge's errors taken out; None without labels.
        variance: by queries, runs and repeats of the judge; None of one run that was judged once.
        weights: what decides how much each query weighs: nothing, as all weigh the same
            (``equal``); the benchmark (``fixed``); or what the answers contain (``own``).
        published: what leaves of it where the gold is hidden; None where nothing does, or the
            gold is public.
        noise: standard deviation of the noise in a published value, as displayed; None where the
            gold is public.
    """

    name: str
    signature: SignatureText
    scale: int = Field(ge=1)
    value: float | None
    low: float | None
    high: float | None
    stderr: float | None
    sd_runs: float | None = None
    interval: str
    n: NonNegativeInt
    n_undefined: NonNegativeInt
    lower_bound: float | None = None
    upper_bound: float | None = None
    p_t: float | None = None
    p_holm: float | None = None
    per_query: list[float | None] = Field(repr=False)
    influence: list[float | None] | None = Field(None, repr=False)
    corrected: Corrected | None = None
    variance: Variance | None = None
    weights: Weights = "equal"
    published: Figures | None = None
    noise: float | None = None

    @property
    def n_digits(self) -> int:
        """Number of decimals to print: 2; if gold is hidden, 0 for percentages and 1 for counts."""
        return choose_digits(self.noise, self.scale)


class Slice(Record):
    """Scores of the queries that share the value of a field.

    Attributes:
        field: field of the queries' metadata, ``n_relevant`` or ``n_shown``.
        value: of the field, as text.
        rows: 0-based indexes of its queries in ``query_ids``.
        measures: scores over these queries, without ``per_query``, which are the file's; intervals
            of a measure hold at once for all slices of the file. Empty for a field that only
            filters answers.
    """

    field: str
    value: str
    rows: list[NonNegativeInt] = Field(repr=False)
    measures: list[MeasureScore] = Field([], repr=False)


class NotComputed(Record):
    """A measure that was asked for and could not be computed.

    Attributes:
        name: declared name.
        reason: what is missing.
    """

    name: str
    reason: str


class Counts(Record):
    """Counts of queries, answers and faults, stated with every result.

    Attributes:
        n_queries: queries of the benchmark.
        n_runs: runs of the submission.
        n_answered: expected keys that have a line.
        n_missing: expected keys that have none.
        n_unparsed: answers with a mark that looks like a citation and could not be read.
        n_judge_failed: pairs on which the judge failed.
        n_premises_cut: pairs whose premise was too long for the judge, which saw its beginning.
        n_empty: answers without any text.
        n_truncated: answers that were cut at the token limit, as their lines say.
        n_uncited: answers without any citation.
        n_refused: answers that say, in whole or in part, that they cannot answer; not empty ones.
        n_out_of_range: answers that cite a passage that was not shown.
        n_listed: answers with a reference list, whose numbers are no citations (``strict``).
        n_no_relevant: queries without a relevant passage in the context.
        n_no_gold: queries without a gold answer (authorship benchmarks).
        n_all_relevant: queries for which relevant passages alone are shown.
    """

    n_queries: NonNegativeInt
    n_runs: NonNegativeInt
    n_answered: NonNegativeInt
    n_missing: NonNegativeInt
    n_unparsed: NonNegativeInt
    n_judge_failed: NonNegativeInt = 0
    n_premises_cut: NonNegativeInt = 0
    n_empty: NonNegativeInt = 0
    n_truncated: NonNegativeInt = 0
    n_uncited: NonNegativeInt = 0
    n_refused: NonNegativeInt = 0
    n_out_of_range: NonNegativeInt = 0
    n_listed: NonNegativeInt = 0
    n_no_relevant: NonNegativeInt = 0
    n_no_gold: NonNegativeInt = 0
    n_all_relevant: NonNegativeInt = 0


class StatementDetail(Record):
    """A statement of an answer, for reports.

    Attributes:
        text: the statement without markers.
        cited: 0-based positions of the passages that it cites, all shown.
        wrong: number of its citations of passages that were not shown.
        supported: whether its citations together entail it; None without a verdict.
    """

    text: str
    cited: list[int]
    wrong: int
    supported: bool | None


class PassageDetail(Record):
    """A passage as it was shown.

    Attributes:
        id: its id.
        title: its title.
        text: its text.
        label: its label in a frozen context; None for a system's own passage.
    """

    id: str
    title: str
    text: str
    label: str | None = None


class CitedWords(Record):
    """Words of an answer that a citation is for, and its quotations, from a submission's spans.

    Attributes:
        statement: number of the statement, from 0; None where a citation is for no words.
        start: first of the words' characters in the statement's text.
        end: behind the last one.
        passage: 0-based position of the passage; None for a source that was not shown.
        quoted: (start, end) of the quotations in the passage's text.
    """

    statement: int | None = None
    start: int = 0
    end: int = 0
    passage: int | None = None
    quoted: list[tuple[int, int]] = []


class AnswerDetail(Record):
    """One answer of the first run, for reports.

    Attributes:
        query_id: its query.
        query: text of the query.
        statements: in order; empty for an answer without text.
        passages: what the system was shown.
        is_missing: whether the submission has no such answer.
        gold: gold answers of the query, the first ones.
        cited: 0-based positions of the passages cited by an answer without statements (``[1][4]``
            and no word), all shown.
        wrong: number of its citations of passages that were not shown.
        said: words that the system itself cites for.
    """

    query_id: str
    query: str
    statements: list[StatementDetail]
    passages: list[PassageDetail]
    is_missing: bool = False
    gold: list[str] = []
    cited: list[int] = []
    wrong: int = 0
    said: list[CitedWords] = []

    @property
    def all_cited(self) -> set[int]:
        """Positions of the passages that the answer cites anywhere."""
        return {*self.cited, *(c for s in self.statements for c in s.cited)}

    @property
    def n_not_shown(self) -> int:
        """Number of the answer's citations of passages that were not shown."""
        return self.wrong + sum(s.wrong for s in self.statements)


LONGEST_FIELD = 300
"""Characters of a field that tables show."""
LARGEST_COST = 1e9
"""US dollars; more is a mistake, and breaks every column."""
Said = Annotated[str, Field(max_length=LONGEST_FIELD)]


class About(Record, allow_inf_nan=False):
    """Description of the system from a submission's header, for leaderboards.

    Attributes:
        organisation: who made it.
        model: the language model.
        family: of the model, such as ``llama``.
        parameters: size of the model, such as ``8B``.
        url: where it is described.
        date: when the answers were made, such as ``2026-05-01``.
        cost: what all answers of the submission cost, in US dollars.
    """

    organisation: Said | None = None
    model: Said | None = None
    family: Said | None = None
    parameters: Said | None = None
    url: Annotated[str, Field(max_length=2000)] | None = None
    date: Said | None = None
    cost: float | None = Field(default=None, ge=0, le=LARGEST_COST)


class ScoreFile(Record):
    """All scores of one submission.

    Attributes:
        scores_version: version of this schema.
        system: name of the system.
        submission: file name of the submission.
        submission_format: format it was read as.
        submission_sha256: sha256 of that file.
        benchmark: name of the benchmark.
        benchmark_hash: its hash.
        protocol: ``strict`` or ``reference``.
        context: context set scored.
        counts: what the submission consists of.
        query_ids: queries, in the order of all ``per_query`` lists.
        clusters: cluster of each query, where questions repeat; empty where none does.
        measures: the scores.
        slices: scores by fields of the queries (``--by``), and with ``--details`` the queries of
            each value of other fields; none where gold is hidden.
        not_computed: measures asked for and not computed, with reasons.
        design: cells of an authorship benchmark; names of its measures end in ``[cell]``.
        answers: answers in statements, for reports; only when ``--details`` was given.
        is_build_known: whether the submission names the build of the benchmark that it answers.
        warnings: what makes it doubtful that the submission answers this benchmark.
        private_warnings: of these, with hidden gold, warnings that may depend on it.
        about: what the submission's header says of the system; None where it says nothing.
        is_control: whether the system is a control, by its header: shown apart and never ranked.
        same_family: family, or model, that system and judge share by what header and judge profile
            declare; None where they share none, or nothing was judged.
        unpublished_judge: signature of a judge that no published number is made of; else None.
        headline: measures that sum up scores of the benchmark's kind, the best first.
        gold: whether the labels that it was scored with are ``public``. Where they are hidden, a
            file that tells of single queries is ``private``, for the maintainer alone, and one that
            may be published is ``withheld``: rounded figures of the whole and no values by query.
    """

    scores_version: int = SCORES_VERSION
    system: str
    submission: str
    submission_format: str = "citeforge"
    submission_sha256: str
    benchmark: str
    benchmark_hash: str
    protocol: str
    context: str
    counts: Counts
    query_ids: list[str] = Field(repr=False)
    clusters: list[int] = Field([], repr=False)
    measures: list[MeasureScore] = Field(repr=False)
    slices: list[Slice] = Field([], repr=False)
    not_computed: list[NotComputed] = []
    design: Design | None = None
    answers: list[AnswerDetail] = Field([], repr=False)
    is_build_known: bool = True
    warnings: list[str] = []
    private_warnings: list[str] = []
    about: About | None = None
    is_control: bool = False
    same_family: str | None = None
    unpublished_judge: str | None = None
    headline: list[str] = Field([], repr=False)
    gold: Gold = "public"

    def to_line(self) -> str:
        """Write the content of the score file, one line of JSON."""
        return self.model_dump_json() + "\n"

    @model_validator(mode="after")
    def _require_fitting_lists(self) -> "ScoreFile":
        """Raise an error if lists that belong together differ in length, or names repeat.

        Raises:
            ValueError: names the measure or the answer.
        """
        if len(set(self.query_ids)) < len(self.query_ids):
            raise ValueError("query_ids: duplicate id")
        if len({m.name for m in self.measures}) < len(self.measures):
            raise ValueError("measures: duplicate name")
        n = len(self.query_ids)
        for measure in self.measures:
            lists = {"per_query": measure.per_query, "influence": measure.influence}
            if (entry := measure.corrected) is not None and (entry.human or entry.labelled):
                fields = ("human", "linear_judged", "linear_human")
                lists |= {f"corrected.{name}": getattr(entry, name) for name in fields}
                if any(not 0 <= i < n for i in entry.labelled):
                    raise ValueError(f"measures: {measure.name}: labelled names no query")
            for field, values in lists.items():
                if values is not None and len(values) != n:
                    raise ValueError(
                        f"measures: {measure.name} has {len(values)} values {field}, and "
                        f"query_ids has {n}"
                    )
        for part in self.slices:
            lengths = {len(m.influence) for m in part.measures if m.influence is not None}
            known = {m.name for m in self.measures} >= {m.name for m in part.measures}
            if not known or not all(r < n for r in part.rows) or lengths - {len(part.rows)}:
                raise ValueError(f"slices: {part.field} {part.value} does not fit the whole")
        if self.gold == "withheld" and (self.slices or self.query_ids or self.answers):
            raise ValueError("gold: is withheld, but the file contains values of single queries")
        if self.clusters and (len(self.clusters) != n or not 0 <= min(self.clusters) < n):
            raise ValueError("clusters: expected one valid number per query")
        for answer in self.answers:
            rows = range(len(answer.passages))
            if any(c not in rows for c in answer.all_cited):
                raise ValueError(
                    f"answers: {answer.query_id!r} cites a passage that it does not list"
                )
        return self
