"""Base classes of recipes: frozen records of all that the tables of a benchmark depend on.

Also the options of a run, and how fields become options.

Help texts of options are below the fields in the source, and are read when they are needed:
pydantic's ``use_attribute_docstrings`` reads them whenever a class is made, which took a tenth of
the time of a short command.
"""

import ast
import inspect
import textwrap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from citeforge.schemas.catalogue import Sort
from citeforge.schemas.errors import InputError, UnknownValueError, UsageError, field_message
from citeforge.schemas.licences import Licence
from citeforge.schemas.recipes.groups import (
    CACHE,
    DRY,
    EMBEDDING,
    ENDPOINTS,
    FOLDER,
    GRAPHS,
    JUDGE,
    LOCAL,
    ROWS,
    RUNNER,
    SECRET,
    SETTING,
    VERDICTS,
    Group,
)
from citeforge.schemas.record import FrozenRecord

if TYPE_CHECKING:
    from citeforge.schemas.manifest import Manifest

Chosen = Literal["fp32", "bf16", "fp64"]
Compute = Literal["auto", "fp32", "bf16", "fp64"]
Runtime = Literal["torch", "openvino"]


def docstring(record: type[BaseModel], name: str) -> str:
    """Read the docstring of a record's field from its class; empty without one."""
    declaring = (c for c in record.__mro__ if name in vars(c).get("__annotations__", {}))
    return _docstrings(next(declaring)).get(name, "")


def with_docstrings(schema: dict[str, Any], record: type[BaseModel]) -> None:
    """Add the docstrings of a record's fields to its JSON schema, as descriptions."""
    fields = {field.alias or name: name for name, field in record.model_fields.items()}
    for word, content in schema.get("properties", {}).items():
        text = docstring(record, fields[word]) if word in fields else ""
        if text and "description" not in content:
            content["description"] = text


@cache
def _docstrings(declaring_class: type) -> dict[str, str]:
    """Map the fields of a class to their docstrings; empty if the source cannot be read."""
    try:
        source = textwrap.dedent(inspect.getsource(declaring_class))
    except (OSError, TypeError):
        return {}
    body = next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef)).body
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


@dataclass(frozen=True)
class Option:
    """Annotation of a field: how it is named and typed as an option.

    Attributes:
        flag: name of the option; None for the field's name with dashes.
        metavar: placeholder of the value in help texts; None for the type's name.
        joined: the parts of a tuple stand in one word, with commas; otherwise the option repeats.
        input: names something that is read: a source, a package, a file, a model.
        names: sort of the catalogue whose rows are its values; ``{judges}`` in a docstring is
            replaced by the forms of all judges, and so for every sort.
    """

    flag: str | None = None
    metavar: str | None = None
    joined: bool = False
    input: bool = False
    names: Sort | None = None


def _split_commas(value: Any) -> Any:
    """Split a text at its commas; other values stay as they are."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _two_numbers(expected: str) -> BeforeValidator:
    """Make a validator that reads ``"0.8,1.25"`` as two numbers; errors name the expected form.

    Args:
        expected: text of its error after "expected", such as ``LOW,HIGH``.
    """

    def read(value: Any) -> Any:
        """Split a text at its comma into two numbers; other values stay as they are."""
        if not isinstance(value, str):
            return value
        try:
            one, two = (float(part) for part in value.split(","))
        except ValueError as error:
            raise ValueError(f"expected {expected}") from error
        return one, two

    return BeforeValidator(read)


def allow_only(noun: str, names: Collection[str]) -> AfterValidator:
    """Make a validator that refuses words not in a list of names, and drops repeats.

    Args:
        noun: kind of thing that a word names, for the error: "pair of origins".
        names: legal words.
    """

    def check(words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the words, each once; raise an error if one is unknown."""
        for word in words:
            if word not in names:
                raise ValueError(str(UnknownValueError(noun, word, names)))
        return tuple(dict.fromkeys(words))

    return AfterValidator(check)


NO_TEMPERATURE: Final = "none"
Temperature = Annotated[
    Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["none"],
    Option(metavar="NUMBER|none"),
]
"""Sampling temperature; ``none`` leaves it out of requests."""
Words = Annotated[tuple[str, ...], BeforeValidator(_split_commas)]
"""Several words; as text with commas between them."""
Ratio = Annotated[tuple[float, float], _two_numbers("LOW,HIGH, e.g. 0.8,1.25")]
"""Minimum and maximum share; as text ``LOW,HIGH``."""
Prices = Annotated[tuple[float, float], _two_numbers("IN,OUT per million tokens, e.g. 0.15,0.60")]
"""Prices of a million prompt and completion tokens; as text ``IN,OUT``."""


ExtraFields = Literal["refuse", "ignore", "keep"]
"""Treatment of fields that rows of a source have beside those of its format."""
M = TypeVar("M", bound=BaseModel)
RECIPE_VERSION = 1
"""Version of ``config`` in manifests."""
_IN_MANIFEST = ("name", "licence")
"""Fields that a manifest holds beside its config."""


class Part(FrozenRecord):
    """A record whose fields are options of a command; inside another one, of the same command."""

    model_config = ConfigDict(json_schema_extra=with_docstrings)


class Recipe(Part):
    """Base of the recipes, one per kind.

    An option is declared in its recipe and nowhere else: name, type, bounds, default and help
    text. The command line, recipe files, manifests and Python all take it from there.

    Attributes:
        kind: word after ``citeforge build``, and ``kind`` of manifests.
        run_options: groups of RunOptions that such a build takes.
        main_input: field that names what the benchmark is made of.
        no_batch: why such a build refuses --batch; empty where it does not.
        show_option: option that prints the settings in force and builds nothing; empty for none.
        plan_option: option that has an LLM propose settings and builds nothing; empty for none.
    """

    kind: ClassVar[str]
    run_options: ClassVar[tuple[Group, ...]] = ()
    main_input: ClassVar[str] = "source"
    no_batch: ClassVar[str] = ""
    show_option: ClassVar[str] = ""
    plan_option: ClassVar[str] = ""

    name: str | None = None
    """Name in signatures and card (default: the folder's)."""

    @property
    def llms(self) -> tuple[str, ...]:
        """Names (values of options) of the LLMs whose replies a build stores beside its folder."""
        return ()

    def content_inputs(self) -> list[str]:
        """List models and files that the recipe's input files name, as ``--option value`` texts."""
        return []

    @classmethod
    def from_manifest(cls, manifest: "Manifest") -> Self:
        """Read the recipe of a package from its manifest.

        Raises:
            InputError: a newer recipe than this citeforge knows.
            KeyError: the manifest lacks the version of the recipe.
            ValidationError: the manifest lacks a setting, or has one that is not possible.
        """
        config = dict(manifest.config)
        version = config.pop("recipe")
        if version > RECIPE_VERSION:
            raise InputError(
                f"has recipe {version}; this citeforge reads up to {RECIPE_VERSION}",
                path="manifest.json",
                field="config",
                allowed="a newer citeforge",
                code="wrong-version",
            )
        values = {k: v for k, v in config.items() if k in cls.model_fields}
        from_top_level = {k: getattr(manifest, k) for k in _IN_MANIFEST if k in cls.model_fields}
        return cls.model_validate(values | from_top_level)

    def settings_text(self) -> str:
        """Write the settings in force as text, for the option that only prints them."""
        return ""

    def with_file_names(self) -> Self:
        """Copy the recipe, with file names in place of content that was read from files."""
        return self

    def with_recorded_files(self, config: Mapping[str, Any]) -> Self:
        """Copy the recipe, with the input files' names that a manifest's ``config`` records."""
        return self

    def recorded(self, **facts: Any) -> dict[str, Any]:
        """Make the ``config`` of a manifest: the recipe's settings, and facts from the build."""
        settings = facts.keys() & type(self).model_fields.keys()
        assert not settings, f"facts named like settings: {sorted(settings)}"  # lost in a rebuild
        own = self.model_dump(mode="json", exclude=set(_IN_MANIFEST))
        judges = {name: v.to_manifest() for name, v in self if isinstance(v, Judging)}
        return {"recipe": RECIPE_VERSION, **own, **judges, **facts}


class Licensed(Recipe):
    """A recipe of a benchmark that gets a licence of its own."""

    licence: Licence = None
    """Licence, a Hub identifier such as cc-by-4.0; `publish` needs it if the source states none."""


class Sourced(Recipe):
    """A recipe whose source may be of a format that allows no further fields."""

    extra_fields: Annotated[ExtraFields, ROWS] = "refuse"
    """Fields that are not of the format: keep as metadata, ignore and count, or refuse (BEIR and
    HAGRID; other sources ignore and count them)."""


class Hideable(Recipe):
    """A recipe whose packages can be published without their gold."""

    hidden: bool = False
    """Draw by a secret that stays with the gold, so that `publish --hide-gold` hides it."""


def hides_labels(recipe: Recipe) -> bool:
    """Whether a recipe builds a benchmark whose labels can be hidden on publication."""
    return isinstance(recipe, Hideable) and recipe.hidden


class Judging(Part):
    """Judge that checks texts, and its settings."""

    judge: Annotated[str | None, Option(input=True, names="judges")] = None
    """Judge of entailment: {judges}."""
    revision: Annotated[str | None, JUDGE] = None
    """Commit, tag or branch of a Hub model."""
    judge_profile: Annotated[str | None, Option(input=True), JUDGE] = None
    """Profile that says how to ask a model: FILE.yaml, or a built-in name (docs/models.md)."""
    threshold: Annotated[float | None, JUDGE] = Field(None, ge=0, le=1)
    """Minimum probability of support (default: the profile's)."""
    max_tokens: Annotated[int | None, JUDGE] = Field(None, ge=8)
    """Maximum input tokens of a local model."""
    runtime: Annotated[Runtime, JUDGE] = "torch"
    """Library that computes a classifier or cross-encoder on a CPU; openvino (extra fast) is
    faster."""

    def to_manifest(self) -> dict[str, Any]:
        """Convert the judge's settings for a manifest; a profile's path becomes its file name."""
        settings = self.model_dump(mode="json")
        if self.judge_profile is not None:
            settings["judge_profile"] = Path(self.judge_profile).name
        return settings


def make_record(record_class: type[M], **values: Any) -> M:
    """Make a record of a class from its fields' values; invalid ones raise UsageError.

    Raises:
        UsageError: one of them is not possible.
    """
    try:
        return record_class.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field_path = "".join(f"{name}: " for name in first["loc"])
        message = field_path + field_message(first["type"], first["msg"])
        raise UsageError(message, code="bad-option") from error


def model_name(models: dict[str, dict[str, Any]], role: str) -> str | None:
    """Get the name of the model that had a role (such as judge) in a build, or None."""
    return str(models[role]["name"]) if role in models else None


IfExists = Literal["refuse", "overwrite", "resume"]


class RunOptions(Part):
    """Options of a run that decide no table: folders, processors, endpoints, caches.

    The same recipe gives the same tables with any of these options.
    """

    out: Annotated[Path | None, FOLDER] = None
    """Folder to make."""
    overwrite: Annotated[bool, FOLDER] = False
    """Replace what is at --out."""
    resume: Annotated[bool, FOLDER] = False
    """Continue a build that was cut off."""
    dry_run: Annotated[bool, DRY] = False
    """Say what would be asked and what it would cost; needs no --out."""
    device: Annotated[str, LOCAL, EMBEDDING, SETTING] = "auto"
    """auto, cpu, cuda, …"""
    embeddings: Annotated[Path | None, EMBEDDING] = None
    """Keep and reuse shards here."""
    cache: Annotated[Path | None, EMBEDDING, CACHE] = None
    """Keep vectors here for all builds (default: CITEFORGE_CACHE, else in your cache folder)."""
    no_cache: Annotated[bool, EMBEDDING, CACHE] = False
    """Neither read nor keep vectors in the cache."""
    cache_size: Annotated[float, EMBEDDING, CACHE, SETTING] = Field(10.0, gt=0)
    """Gigabytes that the cached vectors may take; those unused for longest are removed first."""
    compute: Annotated[Compute, EMBEDDING] = "auto"
    """Numeric format in which a local embedder computes first (auto: the fastest here). It changes
    only the time: close cosines are computed again in float32 or float64."""
    shard_rows: Annotated[int, EMBEDDING] = Field(8192, ge=1)
    """Passages per embedding shard; a killed build resumes at the next shard."""
    batch_size: Annotated[int | None, LOCAL, SETTING] = Field(None, ge=1)
    """Pairs per batch of a local model (default: 32 on a GPU, 8 elsewhere)."""
    verdicts: Annotated[Path | None, VERDICTS] = None
    """Verdict store (SQLite)."""
    base_url: Annotated[str | None, ENDPOINTS] = None
    """OpenAI-compatible endpoint (default: OPENAI_BASE_URL)."""
    concurrency: Annotated[int, ENDPOINTS, SETTING] = Field(16, ge=1)
    """Requests in flight."""
    timeout: Annotated[float, ENDPOINTS, SETTING] = Field(600.0, gt=0)
    """Seconds before a silent connection counts as broken: models that think are silent until a
    reply is whole."""
    max_retries: Annotated[int, ENDPOINTS, SETTING] = Field(12, ge=0)
    """Further tries after 408, 409, 429, 5xx and broken connections; after silence at most two."""
    rpm: Annotated[float | None, ENDPOINTS, SETTING] = Field(None, gt=0)
    """Maximum requests per minute (default: as many as the endpoint takes)."""
    tpm: Annotated[float | None, ENDPOINTS, SETTING] = Field(None, gt=0)
    """Maximum tokens per minute."""
    price: Annotated[Prices | None, Option(metavar="IN,OUT", joined=True), ENDPOINTS, SETTING] = (
        None
    )
    """Prices of a million prompt and completion tokens."""
    max_cost: Annotated[float | None, ENDPOINTS, SETTING] = Field(None, ge=0)
    """Stop before the total cost exceeds this."""
    store: Annotated[Path | None, ENDPOINTS] = None
    """Replay store (SQLite)."""
    same_server: Annotated[bool, ENDPOINTS] = False
    """Use replies and verdicts that another address gave under the same model's name; the store
    records it."""
    thinking_tokens: Annotated[int, ENDPOINTS] = Field(4096, ge=0)
    """Tokens for thoughts of judges, markers and writers, in addition to those of the answer."""
    reasoning_effort: Annotated[str | None, ENDPOINTS] = None
    """Effort asked of models that think: low, medium, high, or what the provider knows."""
    batch: Annotated[bool, ENDPOINTS] = False
    """Submit chat requests to the provider's batch endpoint: half the price, replies within a day.
    A killed command finds its batch in the store."""
    secret_from: Annotated[Path | None, SECRET] = None
    """With --hidden: take the secret of this package or gold half, not a new one."""
    engine: Annotated[str, Option(names="runners"), RUNNER, SETTING] = "local"
    """Runner of models and vector search: {runners} (local: in this process; ray: a Ray
    cluster)."""
    engine_options: Annotated[dict[str, dict[str, Any]], RUNNER, SETTING] = {}
    """Name of that runner to its options by name."""
    kg_store: Annotated[Path | None, GRAPHS] = None
    """Keep an endpoint's replies here (SQLite)."""
    accept_changed: Annotated[bool, GRAPHS] = False
    """Go on with --kg-store although the endpoint's answers have changed since (counted)."""
    kg_batch: Annotated[int, GRAPHS, SETTING] = Field(50, ge=1)
    """Entities per request (replay: as in the run that wrote the store)."""
    kg_timeout: Annotated[float, GRAPHS, SETTING] = Field(60.0, ge=1)
    """Seconds a query may take."""
    kg_seconds: Annotated[float, GRAPHS, SETTING] = Field(60.0, ge=1)
    """Query seconds per minute that the endpoint grants."""

    @model_validator(mode="after")
    def _refuse_overwrite_with_resume(self) -> Self:
        """Raise an error if --overwrite and --resume are both set."""
        if self.overwrite and self.resume:
            raise ValueError("--overwrite and --resume exclude each other")
        return self

    @property
    def if_exists(self) -> IfExists:
        """What to do when ``out`` exists: ``overwrite``, ``resume`` or ``refuse``."""
        return "overwrite" if self.overwrite else "resume" if self.resume else "refuse"

    @property
    def folder(self) -> Path:
        """Output folder (``--out``); raises UsageError if none was named, as in dry runs.

        Raises:
            UsageError: it is missing.
        """
        if self.out is None:
            raise UsageError(
                "--out is missing: name the folder to make, or pass --dry-run",
                code="missing-option",
            )
        return self.out
