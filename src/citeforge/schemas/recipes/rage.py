"""``build rage``."""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from citeforge.schemas.licences import Licence
from citeforge.schemas.recipes.base import Hideable, Judging, Licensed, Option, Part, Sourced
from citeforge.schemas.recipes.groups import (
    DRY,
    EMBEDDING,
    ENDPOINTS,
    JUDGE,
    LOCAL,
    NEGATIVES,
    POOL,
    ROWS,
    RUNNER,
    SECRET,
    VERDICTS,
    Group,
)
from citeforge.schemas.tables import LABELS, is_split_name

CONTAINED = 0.4
"""Neighbours among chunks of 100 words with stride 50 share .48 of their runs of five words."""
DEFAULT_EMBEDDER = "intfloat/multilingual-e5-small"
_TEXT = re.compile(
    r"(?P<name>\w+)=(?P<relevant>\d+),(?P<irrelevant>\d+),(?P<seemingly_relevant>\d+)"
)

RESERVED = {"own": "with passages of their own", "none": "without any passages"}
"""Names of context sets that mean something else in submissions."""


class Mixture(Part):
    """Number of passages of each label in a context (RAGE, section 3.2).

    May be given as text: ``NAME=REL,IRR,SEEM``, or the name of a preset.
    """

    name: str = Field(pattern=r"^\w+$")
    """Name of the context set; letters, digits and underscores."""
    relevant: int = Field(ge=0)
    """Maximum relevant passages per query."""
    irrelevant: int = Field(ge=0)
    """Irrelevant passages per query; fewer only if the query has fewer."""
    seemingly_relevant: int = Field(ge=0)
    """Seemingly relevant passages per query; fewer only if the query has fewer."""

    @model_validator(mode="before")
    @classmethod
    def _parse_text(cls, value: Any) -> Any:
        """Parse a mixture (passages per label) from ``mix=3,3,3`` or a preset's name."""
        if not isinstance(value, str):
            return value
        if value in PRESETS:
            return dict(PRESETS[value])
        match = _TEXT.fullmatch(value)
        if not match:
            raise ValueError(
                "expected NAME=REL,IRR,SEEM with NAME of letters, digits and underscores "
                f"(mix=3,3,3), or a preset: {', '.join(PRESETS)}"
            )
        return match.groupdict()

    @model_validator(mode="after")
    def _refuse_empty_or_reserved(self) -> "Mixture":
        """Raise an error if a mixture (passages per label) is empty or its name cannot be used."""
        if self.name in RESERVED:
            raise ValueError(
                f"{self.name!r} is reserved: in submissions it means answers "
                f"{RESERVED[self.name]}; choose another name"
            )
        if not is_split_name(self.name):
            raise ValueError(f"`datasets` loads no split {self.name!r}; choose another name")
        if self.total == 0:
            raise ValueError("contains no passages")
        return self

    def __str__(self) -> str:
        """Write the numbers of passages per label (mixture) as users type them: ``mix=3,3,3``."""
        return f"{self.name}={self.relevant},{self.irrelevant},{self.seemingly_relevant}"

    @property
    def sizes(self) -> dict[str, int]:
        """Number of passages per relevance label in a full context."""
        return {label: getattr(self, label) for label in LABELS}

    @property
    def total(self) -> int:
        """Number of passages in a full context."""
        return sum(self.sizes.values())


PRESETS = {
    # RAGE, appendix B: the relevant ones constant, the rest varied.
    "paper_mix": Mixture(name="paper_mix", relevant=4, irrelevant=3, seemingly_relevant=3),
    "paper_irrelevant": Mixture(
        name="paper_irrelevant", relevant=4, irrelevant=6, seemingly_relevant=0
    ),
    "paper_seemingly": Mixture(
        name="paper_seemingly", relevant=4, irrelevant=0, seemingly_relevant=6
    ),
}
DEFAULT_MIXTURE = Mixture(name="mix", relevant=3, irrelevant=3, seemingly_relevant=3)


class Mining(Part):
    """Choices that decide how negatives are found (RAGE, section 3.1)."""

    seemingly_relevant: Annotated[int, Option("--n-seemingly"), NEGATIVES] = Field(10, ge=0)
    """Seemingly relevant passages per query: the nearest that are not relevant."""
    irrelevant: Annotated[int, Option("--n-irrelevant"), NEGATIVES] = Field(10, ge=0)
    """Irrelevant passages per query, drawn from all others."""
    skip_top: Annotated[int, NEGATIVES] = Field(0, ge=0)
    """Pass over this many nearest candidates."""
    max_score: Annotated[float | None, NEGATIVES] = Field(None, ge=-1, le=1)
    """Maximum cosine of a seemingly relevant passage."""
    margin: Annotated[float | None, NEGATIVES] = Field(None, allow_inf_nan=False)
    """Keep candidates with cosine ≤ best relevant − margin."""
    relative_margin: Annotated[float | None, NEGATIVES] = Field(None, gt=0, le=1)
    """Keep candidates with cosine ≤ this share of the best relevant one's (NV-Retriever: .95)."""
    exclude_answers: Annotated[bool, NEGATIVES] = False
    """Drop negatives that contain a gold answer."""
    exclude_contained: Annotated[bool, NEGATIVES] = False
    """Drop negatives that share text with a relevant passage: its pieces, overlapping chunks."""
    contained: Annotated[float, JUDGE] = Field(CONTAINED, gt=0, le=1)
    """Minimum share of the shorter text's five-word runs for two passages to share text."""
    keep_self: Annotated[bool, NEGATIVES] = False
    """Let a passage with the query's own text or id be a negative."""


class Pooling(Part):
    """Choices of the pool of passages that a judge labels in place of people."""

    judge: Annotated[
        str | None, Option("--judge-pool", metavar="JUDGE", input=True, names="judges"), POOL
    ] = None
    """Judge of relevance where a source has no judgements, or few: {judges}."""
    depth: Annotated[int, Option("--pool-depth"), POOL] = Field(20, ge=1)
    """Passages per query by BM25, and as many by the embedder, that --judge-pool is asked about."""
    controls: Annotated[int, Option("--pool-controls"), POOL] = Field(2, ge=0)
    """Further passages per query that measure the judge's error: so many at random, and so many of
    those that people judged, where the source has some."""
    relevant_from: Annotated[int, POOL] = Field(2, ge=1, le=3)
    """Least grade of an LLM (0 to 3) that makes a passage relevant; lower ones above 0 are shown to
    no system."""


class RageRecipe(Licensed, Hideable, Sourced):
    """Queries with relevant, irrelevant and seemingly relevant passages (RAGE)."""

    kind: ClassVar[str] = "rage"
    run_options: ClassVar[tuple[Group, ...]] = (
        EMBEDDING,
        VERDICTS,
        LOCAL,
        DRY,
        ENDPOINTS,
        RUNNER,
        SECRET,
    )

    source: Annotated[str, Option(input=True)]
    """KIND:ARGUMENT; see `citeforge list sources`."""
    split: str | None = None
    """Split of the source (BEIR: name of the qrels file; default test)."""
    extra_corpus: Annotated[str | None, Option(input=True), ROWS] = None
    """A further source of passages to mine from; it needs no queries (corpus:FOLDER)."""
    extra_prefix: Annotated[str, ROWS] = ""
    """Text before the ids of --extra-corpus, which may clash with the source's."""
    extra_licence: Annotated[Licence, ROWS] = None
    """Licence of --extra-corpus, a Hub identifier; `publish` needs it if the corpus states none."""
    limit: int | None = Field(None, ge=1)
    """Sample this many queries."""
    seed: int = 0
    """Seed of every draw."""
    embedder: Annotated[str, Option(input=True, names="embedders")] = DEFAULT_EMBEDDER
    """Embedder: {embedders}."""
    embedder_revision: Annotated[str | None, EMBEDDING] = None
    """Commit, tag or branch of a Hub model."""
    query_prefix: Annotated[str | None, EMBEDDING] = None
    """Text before each query (default: the model's own prompt, or its family's)."""
    passage_prefix: Annotated[str | None, EMBEDDING] = None
    """Text before each passage (default: as for queries)."""
    vectors: Annotated[
        Path | None, Option(metavar="FILE.npy|FILE.parquet|FOLDER", input=True), EMBEDDING
    ] = None
    """Precomputed vectors of all passages, in corpus order (Parquet: columns _id, vector)."""
    query_vectors: Annotated[
        Path | None, Option(metavar="FILE.npy|FILE.parquet|FOLDER", input=True), EMBEDDING
    ] = None
    """Precomputed vectors of all queries (Parquet: in any order)."""
    vectors_model: Annotated[str | None, EMBEDDING] = None
    """Name of the model that computed --vectors, for manifest and card."""
    mining: Mining = Mining()
    """Mining of negatives."""
    candidates: Annotated[str | None, Option(metavar="run:FILE", input=True), NEGATIVES] = None
    """Take seemingly relevant passages from a TREC run, or by bm25, not by embeddings."""
    judging: Judging = Judging()
    """Judge of relevance where the source has claims instead (ALCE's ELI5)."""
    pool: Pooling = Pooling()
    """Pool of passages whose relevance a judge decides."""
    labels: Annotated[tuple[Path, ...], Option(metavar="LABELS.jsonl", input=True), POOL] = ()
    """People's relevance labels (labels import), which correct those of --judge-pool; repeatable.
    """
    remine: Annotated[bool, NEGATIVES] = False
    """Replace the negatives that a rage: source brings."""
    mixtures: Annotated[tuple[Mixture, ...], Option("--mixture", metavar="NAME=REL,IRR,SEEM")] = (
        Field((DEFAULT_MIXTURE,), min_length=1)
    )
    """Context set, repeatable (default mix=3,3,3); presets: paper_mix, paper_irrelevant,
    paper_seemingly."""
    corpus: Annotated[Literal["all", "pool"], ROWS] = "all"
    """Keep all passages, or those that some mapping names."""
    base: Annotated[Literal[0, 1], ROWS] = 1
    """Number that prompts give to the first passage."""
    allow_no_relevant: Annotated[bool, ROWS] = False
    """Keep queries without relevant passages."""
    skip_empty: Annotated[bool, ROWS] = False
    """Skip, and count, rows without text."""
    skip_dangling: Annotated[bool, ROWS] = False
    """Skip, and count, judgements of missing rows."""
    skip_contradictions: Annotated[bool, NEGATIVES] = False
    """Keep the highest of judgements that contradict each other, and count the others."""
    drop_suspects: Annotated[bool, NEGATIVES] = False
    """Drop negatives that nearly repeat or overlap a relevant passage, or hold a gold answer."""
    decided: Annotated[Path | None, Option(metavar="audit.json", input=True), NEGATIVES] = None
    """Drop negatives that an audit with --strong-judge (or people) decided are relevant."""
    keep_from: Annotated[Path | None, Option(metavar="DIR", input=True), ROWS] = None
    """Keep the queries of an earlier package whose question, gold, judgements and passages did not
    change, with their contexts; make the others anew."""

    @property
    def llms(self) -> tuple[str, ...]:
        """Name of the LLM that judges pooled passages, in a tuple; empty without one."""
        return () if self.pool.judge is None else (self.pool.judge,)

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        """Raise an error if cosine limits, vectors, --candidates or --hidden do not go together."""
        for name in ("max_score", "margin", "relative_margin"):
            if self.candidates is not None and getattr(self.mining, name) is not None:
                flag = f"--{name.replace('_', '-')}"
                raise ValueError(f"{flag} limits cosines, which --candidates does not compute")
        options = {
            "--vectors": self.vectors,
            "--query-vectors": self.query_vectors,
            "--vectors-model": self.vectors_model,
        }
        missing = [name for name, value in options.items() if value is None]
        if missing and len(missing) < len(options):
            raise ValueError(f"{', '.join(missing)} missing: {', '.join(options)} go together")
        if not missing and self.candidates is not None:
            raise ValueError("--candidates needs no vectors: leave --vectors out")
        if self.pool.judge is None and (self.pool != Pooling() or self.labels):
            raise ValueError(
                "--pool-depth, --pool-controls, --relevant-from, --labels require --judge-pool"
            )
        if self.pool.judge is not None and self.judging.judge is not None:
            raise ValueError("--judge and --judge-pool exclude each other")
        if self.pool.judge is not None and self.hidden:
            raise ValueError("--hidden requires judgements by people, not --judge-pool")
        if self.hidden and self.keep_from is not None:
            raise ValueError("--hidden draws all contexts together: --keep-from can keep none")
        if self.hidden and len(self.mixtures) > 1:
            raise ValueError(
                "--hidden goes with one --mixture: passages shared by several context sets of a "
                "query reveal which are relevant"
            )
        return self

    @field_validator("mixtures")
    @classmethod
    def _refuse_repeated_names(cls, mixtures: tuple[Mixture, ...]) -> tuple[Mixture, ...]:
        """Raise an error if names of mixtures are equal apart from case, since they name files."""
        names = [m.name for m in mixtures]
        if len({name.casefold() for name in names}) != len(names):
            raise ValueError(f"duplicate mixture name ({', '.join(names)}); case does not count")
        return mixtures
