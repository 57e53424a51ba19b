"""The design of ``build documents``: which users ask which forms of questions, in which shares."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator

from citeforge.engines.textfiles import read_yaml
from citeforge.plugins.documents.prompts import Prompts
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.recipes.base import with_docstrings
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
    """A form of questions: its share, the instruction to the writer, and the rule of its texts."""

    name: str
    base: Base
    share: float = 1.0
    description: str = ""
    check: Rule = ""


@cache
def _built_in() -> Mapping[str, Any]:
    """Read the built-in forms and users."""
    content: Mapping[str, Any] = read_yaml(Path(__file__).parent / "data" / "forms.yaml")
    return content


@cache
def built_in_forms() -> dict[str, Form]:
    """Read the built-in forms, by name."""
    return {name: Form(name=name, **row) for name, row in _built_in()["forms"].items()}


def built_in_users() -> dict[str, str]:
    """Read the built-in groups of users: name to description."""
    return dict(_built_in()["users"])


SEED = "seed"
"""Form and origin of questions that were not written by the build; no design has it."""
Name = Annotated[str, Field(min_length=1, max_length=60)]
Share = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _refuse_repeats(rows: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse rows of which two have the same name."""
    names = [row.name for row in rows]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names {name!r} twice")
    return rows


class DesignPart(FrozenRecord):
    """Part of a design; its docstrings describe the fields in the JSON schema for LLMs."""

    model_config = ConfigDict(json_schema_extra=with_docstrings)


class DesignedUser(DesignPart):
    """A group of users, as a design declares it."""

    name: Name
    """Name of the group; newcomer, expert and auditor are built in."""
    share: Share = 1.0
    """Share of the questions that the group asks, relative to the other groups."""
    description: str = Field("", validate_default=True)
    """Who asks, for the writer; built-in groups have one."""

    @field_validator("description")
    @classmethod
    def _describe(cls, text: str, info: ValidationInfo) -> str:
        """Take the description of a built-in group; refuse another one without a description."""
        name = info.data.get("name", "")
        known = built_in_users()
        if not text.strip() and name and name not in known:
            raise ValueError(f"{name!r} is not built in ({', '.join(known)}), so it needs one")
        return text.strip() or known.get(name, "")


class DesignedForm(DesignPart):
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
    def _find_like(cls, name: str | None) -> str | None:
        """Refuse a form that is not built in."""
        if name is not None and name not in built_in_forms():
            raise ValueError(str(UnknownValueError("form of questions", name, built_in_forms())))
        return name

    @field_validator("name")
    @classmethod
    def _find_name(cls, name: str, info: ValidationInfo) -> str:
        """Refuse a name that is not built in, unless ``like`` says what it is based on."""
        if name == SEED:
            raise ValueError(f"{name!r} is the form of --seeds; take another name")
        if info.data.get("like") is None and name not in built_in_forms():
            error = UnknownValueError("form of questions", name, built_in_forms())
            raise ValueError(f"{error}; a form of your own needs `like: FORM`")
        return name

    @property
    def form(self) -> Form:
        """The form, with what it has from the built-in one."""
        built_in = built_in_forms()[self.like or self.name]
        own = {"description": text} if (text := self.description.strip()) else {}
        return built_in.model_copy(update={"name": self.name, "share": self.share, **own})


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
        """Refuse a topic without a pattern, and a pattern of the rest."""
        name = info.data.get("name")
        if name == REST and pattern:
            raise ValueError(f"{REST!r} has the passages of no other topic, so it has no pattern")
        if name is not None and name != REST and not pattern.strip():
            raise ValueError(f"is missing: which {info.data.get('by', FOLDER)} has the topic?")
        return pattern.strip()


class Length(DesignPart):
    """Least and most words of a question; of scripts without spaces, characters."""

    least: int = Field(1, ge=1)
    """Least words."""
    most: int = Field(40, ge=1)
    """Most words."""

    @field_validator("most")
    @classmethod
    def _order(cls, most: int, info: ValidationInfo) -> int:
        """Refuse fewer words at most than at least."""
        if most < info.data.get("least", 1):
            raise ValueError(f"is below least ({info.data['least']})")
        return most


class Terms(DesignPart):
    """Terms that questions keep as the documents have them, and terms that they avoid."""

    keep: tuple[Name, ...] = ()
    """Terms that stay letter for letter, as in translations."""
    avoid: tuple[Name, ...] = ()
    """Terms that no question has."""


Difficulty = Literal["easy", "hard"]
_DIFFICULTY = {
    "easy": "Name what is asked about as the passage does, so that a search finds the passage.",
    "hard": "Describe what is asked about in other words than the passage does, so that a search "
    "does not find the passage at once.",
}
"""Difficulty to the sentence that asks for it."""


class Design(DesignPart):
    """A design of questions: who asks, what, and in which words."""

    brief: str | None = None
    """What you want, in a sentence: --plan-only has an LLM propose a design of it."""
    users: Annotated[tuple[DesignedUser, ...], AfterValidator(_refuse_repeats)] = ()
    """Groups of users; each question is asked as one of them would."""
    questions: Annotated[tuple[DesignedForm, ...], AfterValidator(_refuse_repeats)] = ()
    """Forms of questions (default: --single, --pair, --list and --absent)."""

    topics: Annotated[tuple[DesignedTopic, ...], AfterValidator(_refuse_repeats)] = ()
    """Topics; a passage is of the first that it matches, and none is asked about without one."""
    found_topics: int | None = Field(None, ge=2, le=50)
    """Number of topics to be found: clusters of passages, named by --llm, with equal shares."""

    language: str | None = None
    """Language of the questions (ISO 639-1), where it is not the documents'."""
    length: Length | None = None
    """Words of a question."""
    difficulty: Difficulty | None = None
    """easy: a search finds the passages at once; hard: other passages are nearer."""
    terms: Terms = Terms()
    """Terms to keep, and to avoid."""
    prompts: Prompts = Prompts()
    """Templates in place of the built-in prompts."""

    @field_validator("found_topics")
    @classmethod
    def _choose_topics(cls, number: int | None, info: ValidationInfo) -> int | None:
        """Refuse topics that are both listed and to be found."""
        if number is not None and info.data.get("topics"):
            raise ValueError("topics are listed and to be found; say one of both")
        return number

    @field_validator("language")
    @classmethod
    def _find_language(cls, code: str | None) -> str | None:
        """Refuse a language that is not detected."""
        from citeforge.engines.text.languages import language_codes

        if code is not None and code not in language_codes():
            raise ValueError(str(UnknownValueError("language", code, language_codes())))
        return code

    @field_validator("questions")
    @classmethod
    def _require_answers(cls, forms: Sequence[DesignedForm]) -> Sequence[DesignedForm]:
        """Refuse forms none of which the documents answer."""
        if forms and all(form.form.base == ABSENT for form in forms):
            raise ValueError("has no form that the documents answer")
        return forms

    @property
    def wishes(self) -> tuple[str, ...]:
        """Sentences that tell the writer language, length, difficulty and terms."""
        terms, length, wishes = self.terms, self.length, list[str]()
        if self.language:
            wishes.append(
                "Question, answer and statement are in the language with the code "
                f"{self.language}; quotes stay as they are."
            )
        if length:
            wishes.append(f"The question has {length.least} to {length.most} words.")
        if self.difficulty:
            wishes.append(_DIFFICULTY[self.difficulty])
        if terms.keep:
            wishes.append(f"Write these terms exactly so: {'; '.join(terms.keep)}.")
        if terms.avoid:
            wishes.append(f"Do not use these terms: {'; '.join(terms.avoid)}.")
        return tuple(wishes)

    @property
    def forms(self) -> tuple[Form, ...]:
        """Forms of questions, with what they have from built-in ones."""
        return tuple(designed.form for designed in self.questions)
