"""The design of ``build documents``: which users ask which forms of questions, in which shares."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.running.names import EMBEDDERS, JUDGES, LLMS
from citeforge.engines.textfiles import read_yaml
from citeforge.plugins.documents.prompts import Prompts
from citeforge.plugins.documents.wishes import DesignPart, Name, Wishes
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.record import FrozenRecord

SINGLE, PAIR, LIST, ABSENT = BASES = ("single", "pair", "list", "absent")
"""Forms on which all others are based: one passage answers, two passages together answer, the
answer is a list, the documents do not answer."""
Base = Literal["single", "pair", "list", "absent"]
Rule = Literal[
    "", "bridge", "comparison", "number", "procedure", "definition", "yes/no", "premise", "search",
    "misspelled",
]  # fmt: skip
"""Further rule that the texts of a form have to keep (``form_rules``)."""


class Form(FrozenRecord):
    """A form of questions: share, instruction to the writer, wishes, and the rule of its texts."""

    name: str
    base: Base
    share: float = 1.0
    description: str = ""
    check: Rule = ""
    wishes: Wishes = Wishes()


@cache
def _built_in() -> Mapping[str, Any]:
    """Read ``data/forms.yaml``, the built-in question forms and groups of users."""
    content: Mapping[str, Any] = read_yaml(Path(__file__).parent / "data" / "forms.yaml")
    return content


@cache
def built_in_forms() -> dict[str, Form]:
    """Get the built-in forms of questions (``single``, ``pair``, ``list``, …), by name."""
    return {name: Form(name=name, **row) for name, row in _built_in()["forms"].items()}


def built_in_users() -> dict[str, str]:
    """Get the built-in groups of users: name to description."""
    return dict(_built_in()["users"])


SEED = "seed"
"""Form and origin of questions that were not written by the build; no design has it."""
Share = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ModelName = Annotated[str, Field(min_length=1, max_length=1000)]
"""Name of a model, or path of a file."""


_MOST_ROWS = 1000
"""Most users, forms or topics of a design."""


def _refuse_repeats(rows: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return user groups, question forms or topics; refuse repeated names and over 1,000 rows."""
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"has {len(rows):,} rows, of at most {_MOST_ROWS:,}")
    names = Counter(row.name for row in rows)
    if repeated := [name for name, n in names.items() if n > 1]:
        raise ValueError(f"names {repeated[0]!r} twice")
    return rows


class DesignedUser(Wishes):
    """A group of users, as a design declares it."""

    name: Name
    """Name of the group; newcomer, expert and auditor are built in."""
    share: Share = 1.0
    """Share of the questions that the group asks, relative to the other groups."""
    description: str = Field("", validate_default=True)
    """Who asks, for the writer; built-in groups have one."""

    @field_validator("description")
    @classmethod
    def _fill_description(cls, text: str, info: ValidationInfo) -> str:
        """Fill in the description of a built-in user group; refuse another group without one."""
        name = info.data.get("name", "")
        known = built_in_users()
        if not text.strip() and name and name not in known:
            raise ValueError(f"{name!r} is not built in ({', '.join(known)}), so it needs one")
        return text.strip() or known.get(name, "")


class DesignedForm(Wishes):
    """A form of questions, as a design declares it."""

    like: str | None = None
    """Built-in form whose base and checks it has; needed for names that are not built in."""
    name: Name
    """Name of a built-in form, or one of your own."""
    share: Share = 1.0
    """Share of the questions, relative to the other forms."""
    description: str = ""
    """Instruction to the writer, in place of the built-in form's."""

    @field_validator("like")
    @classmethod
    def _check_like(cls, name: str | None) -> str | None:
        """Return the value of a key ``like``; refuse one that is no built-in question form."""
        if name is not None and name not in built_in_forms():
            raise ValueError(str(UnknownValueError("form of questions", name, built_in_forms())))
        return name

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str, info: ValidationInfo) -> str:
        """Return a question form's name; refuse one not built in, without a key ``like``."""
        if name == SEED:
            raise ValueError(f"{name!r} is the form of --seeds; take another name")
        if info.data.get("like") is None and name not in built_in_forms():
            error = UnknownValueError("form of questions", name, built_in_forms())
            raise ValueError(f"{error}; a form of your own needs `like: FORM`")
        return name

    @property
    def form(self) -> Form:
        """Question form as declared, with defaults of the built-in form it is like."""
        built_in = built_in_forms()[self.like or self.name]
        own = {"description": text} if (text := self.description.strip()) else {}
        update = {"name": self.name, "share": self.share, "wishes": self.own_wishes, **own}
        return built_in.model_copy(update=update)


FOLDER, HEADING, REST = "folder", "heading", "rest"
"""Ways to choose the passages of a topic, besides fields of metadata; name of the topic that has
the passages of no other one."""


class DesignedTopic(DesignPart):
    """A topic of questions: passages by their folder, a heading or a field of their metadata."""

    name: Name
    """Name of the topic; rest has the passages of no other topic."""
    share: Share = 1.0
    """Share of the questions, relative to the other topics."""
    by: Name = FOLDER
    """folder (of the file, or above it), heading (any above a passage), or a metadata field."""
    pattern: str = Field("", max_length=300, validate_default=True)
    """Pattern of the folder, heading or value, in any case; * and ? stand for other characters."""

    @field_validator("pattern")
    @classmethod
    def _require_pattern(cls, pattern: str, info: ValidationInfo) -> str:
        """Return a topic's pattern; refuse none, or one of the topic ``rest``."""
        name = info.data.get("name")
        if name == REST and pattern:
            raise ValueError(f"{REST!r} has the passages of no other topic, so it has no pattern")
        if name is not None and name != REST and not pattern.strip():
            raise ValueError(f"is missing: which {info.data.get('by', FOLDER)} has the topic?")
        return pattern.strip()


_LEAST_TOPICS, _MOST_TOPICS = 2, 50
"""Bounds of the number of topics that are to be found."""


class FoundTopics(DesignPart):
    """Topics to be found: clusters of passages. May be given as their number."""

    number: int = Field(ge=_LEAST_TOPICS, le=_MOST_TOPICS)
    """Number of topics."""
    shares: tuple[Share, ...] = ()
    """Share of each topic, of the largest first (default: equal ones)."""
    by_size: bool = False
    """Whether each topic has the share of its passages."""

    @model_validator(mode="before")
    @classmethod
    def _read_number(cls, value: Any) -> Any:
        """Convert topics given as a number to fields; refuse an impossible number."""
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        if not _LEAST_TOPICS <= value <= _MOST_TOPICS:
            raise ValueError(f"expected {_LEAST_TOPICS} to {_MOST_TOPICS} topics")
        return {"number": value}

    @model_validator(mode="after")
    def _count_shares(self) -> Self:
        """Refuse topic shares that are not one per topic, or that contradict ``by_size``."""
        if self.shares and self.by_size:
            raise ValueError("has shares and by_size; say one of both")
        if self.shares and len(self.shares) != self.number:
            raise ValueError(f"has {len(self.shares)} shares of {self.number} topics")
        return self

    def share(self, rank: int, n_passages: int) -> float:
        """Get the share of questions on a topic by its size: 0-based rank, and number of passages.

        Args:
            rank: number of topics that have more passages.
            n_passages: number of its passages.
        """
        if self.shares:
            return self.shares[rank]
        return float(n_passages) if self.by_size else 1.0


INPUTS = ("writer", "checker", "judge", "embedder", "seeds")
"""Keys of a design that name models or files; options of the command are in their place."""


class Design(Wishes):
    """A design of questions: who asks, what, in which words, and which models work on it."""

    brief: str | None = None
    """What you want, in a sentence: --plan-only has an LLM propose a design of it."""
    users: Annotated[tuple[DesignedUser, ...], AfterValidator(_refuse_repeats)] = ()
    """Groups of users; each question is asked as one of them would."""
    questions: Annotated[tuple[DesignedForm, ...], AfterValidator(_refuse_repeats)] = ()
    """Forms of questions (default: --single, --pair, --list and --absent)."""

    topics: Annotated[tuple[DesignedTopic, ...], AfterValidator(_refuse_repeats)] = ()
    """Topics; a passage is of the first that it matches, and none is asked about without one."""
    found_topics: FoundTopics | None = None
    """Topics to be found: clusters of passages, named by --llm."""

    prompts: Prompts = Prompts()
    """Templates in place of the built-in prompts."""
    writer: ModelName | None = None
    """LLM that writes questions (--llm)."""
    checker: ModelName | None = None
    """LLM that tries to answer them (--checker)."""
    judge: ModelName | None = None
    """Judge that decides whether passages entail answers (--judge)."""
    embedder: ModelName | None = None
    """Embedder of questions and passages (--embedder)."""
    seeds: ModelName | None = None
    """File of questions that users have (--seeds)."""

    @field_validator("found_topics")
    @classmethod
    def _check_topics(
        cls, found_topics: FoundTopics | None, info: ValidationInfo
    ) -> FoundTopics | None:
        """Return the settings of topics to be found; refuse them if topics are listed, too."""
        if found_topics is not None and info.data.get("topics"):
            raise ValueError("topics are listed and to be found; say one of both")
        return found_topics

    @field_validator("questions")
    @classmethod
    def _require_answers(cls, forms: Sequence[DesignedForm]) -> Sequence[DesignedForm]:
        """Return the question forms of a design; refuse them if the documents answer none."""
        if forms and all(form.form.base == ABSENT for form in forms):
            raise ValueError("has no form that the documents answer")
        return forms

    @property
    def shares(self) -> dict[str, dict[str, float]]:
        """Declared shares of question forms and of user groups, by name."""
        return {
            "form": {form.name: form.share for form in self.questions},
            "user": {user.name: user.share for user in self.users},
        }

    @property
    def forms(self) -> tuple[Form, ...]:
        """Question forms (``single``, ``list``, …) of the settings, with built-in defaults."""
        return tuple(designed.form for designed in self.questions)

    def resolve_paths(self, folder: Path) -> Self:
        """Resolve the paths of example questions and models in the settings against a folder.

        A model is a path where it is a file by its kind (``table:FILE``), or starts with a dot.
        """
        catalogues: dict[str, Catalogue[Any, Any]] = {
            "writer": LLMS,
            "checker": LLMS,
            "judge": JUDGES,
            "embedder": EMBEDDERS,
        }
        update = {
            key: catalogue.resolve_path(name, folder)
            for key, catalogue in catalogues.items()
            if (name := getattr(self, key)) is not None
        }
        if self.seeds is not None:
            update["seeds"] = str(folder / self.seeds)
        return self.model_copy(update=update)
