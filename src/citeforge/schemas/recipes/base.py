"""What every recipe is: a frozen record of all that the tables of a benchmark depend on."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from citeforge.schemas.benchmarks.licences import Licence
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.models.choices import JUDGES, listed
from citeforge.schemas.recipes.compute import Runtime
from citeforge.schemas.recipes.option import Option, with_docstrings
from citeforge.schemas.record import FrozenRecord

ExtraFields = Literal["refuse", "ignore", "keep"]
"""What becomes of fields that rows of a source have beside those of its format."""
M = TypeVar("M", bound=BaseModel)
RECIPE_VERSION = 1
"""Version of ``config`` in manifests."""
_IN_MANIFEST = ("name", "licence")
"""Fields that a manifest holds beside its config."""


class Part(FrozenRecord):
    """A record whose fields are options of a command; inside another one, of the same command."""

    model_config = ConfigDict(json_schema_extra=with_docstrings)


class Recipe(Part):
    """Base of the recipes, one a kind.

    An option is declared in its recipe and nowhere else: name, type, bounds, default and help
    text. The command line, recipe files, manifests and Python all take it from there.

    Attributes:
        kind: word after ``citeforge build``, and ``kind`` of manifests.
        run_options: fields of RunOptions that such a build takes.
        main_input: field that names what the benchmark is made of.
    """

    kind: ClassVar[str]
    run_options: ClassVar[tuple[str, ...]] = ()
    main_input: ClassVar[str] = "source"

    name: str | None = None
    """Name in signatures and card (default: the folder's)."""

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """The recipe that a package was made by, as its manifest tells it.

        Raises:
            InputError: a newer recipe than this citeforge knows.
            KeyError: the manifest does not hold all choices.
            ValidationError: likewise.
        """
        config = dict(manifest.config)
        version = config.pop("recipe")
        if version > RECIPE_VERSION:
            raise InputError(
                f"has recipe {version}; this citeforge reads up to {RECIPE_VERSION}",
                path="manifest.json",
                field="config",
                allowed="a newer citeforge",
            )
        values = {k: v for k, v in config.items() if k in cls.model_fields}
        beside = {k: getattr(manifest, k) for k in _IN_MANIFEST if k in cls.model_fields}
        return cls.model_validate(values | beside)

    def with_file_names(self) -> Self:
        """The same recipe with file names in place of what only a file could say."""
        return self

    def recorded(self, **facts: Any) -> dict[str, Any]:
        """``config`` of a manifest: this recipe, and what the build found (``facts``)."""
        own = self.model_dump(mode="json", exclude=set(_IN_MANIFEST))
        judges = {name: v.told() for name, v in self if isinstance(v, Judging)}
        return {"recipe": RECIPE_VERSION, **own, **judges, **facts}


class Licensed(Recipe):
    """A recipe of a benchmark that gets a licence of its own."""

    licence: Licence = None
    """Licence identifier of the Hub, such as cc-by-4.0, when the source does not say."""


class Sourced(Recipe):
    """A recipe whose source may be of a format that allows no further fields."""

    extra_fields: ExtraFields = "refuse"
    """Fields of BEIR or HAGRID rows that are not of the format: refuse, ignore and count, or keep
    as metadata."""


class Hideable(Recipe):
    """A recipe whose packages can be published without their gold."""

    hidden: bool = False
    """Draw by a secret that stays with the gold, so that `publish --hide-gold` hides it."""


class Judging(Part):
    """Which judge checks what a writer wrote."""

    judge: Annotated[str | None, Option(input=True)] = Field(
        None, description=f"Does one text entail another? {listed(JUDGES)}."
    )
    """What decides whether one text entails another."""
    revision: str | None = None
    """Commit, tag or branch of a Hub model."""
    judge_profile: Annotated[str | None, Option(input=True)] = None
    """How a model is asked: FILE.yaml, or the name of one of ours (docs/models.md)."""
    threshold: float | None = Field(None, ge=0, le=1)
    """Least probability of support (default: the profile's)."""
    max_tokens: int | None = Field(None, ge=8)
    """Longest input of a local model."""
    runtime: Runtime = "torch"
    """What computes a classifier or cross-encoder on a CPU; openvino (extra fast) is faster."""

    def told(self) -> dict[str, Any]:
        """As a manifest keeps it: a profile by the name of its file, wherever that lies here. What
        it says is in the judge's signature, by the digest."""
        own = self.model_dump(mode="json")
        if self.judge_profile is not None:
            own["judge_profile"] = Path(self.judge_profile).name
        return own


def checked(record: type[M], **values: Any) -> M:
    """A record of these values.

    Raises:
        UsageError: one of them is not possible.
    """
    try:
        return record.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{name}: " for name in first["loc"])
        raise UsageError(place + first["msg"].removeprefix("Value error, ")) from error


def model_name(models: dict[str, dict[str, Any]], role: str) -> str | None:
    """Name of the model that had a role in a build; None when there was none."""
    return str(models[role]["name"]) if role in models else None
