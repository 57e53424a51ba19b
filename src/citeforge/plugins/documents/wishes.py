"""Wishes of a design about the words of questions: language, length, difficulty, terms."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo, field_validator

from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.recipes.base import with_docstrings
from citeforge.schemas.record import FrozenRecord


def _refuse_blank(name: str) -> str:
    """Strip a name of white space; refuse an empty, multi-line or unprintable one."""
    if not (name := name.strip()) or not name.isprintable():
        raise ValueError("expected a name in one line")
    return name


Name = Annotated[str, Field(max_length=60), AfterValidator(_refuse_blank)]


class DesignPart(FrozenRecord):
    """Part of a design; its docstrings describe the fields in the JSON schema for LLMs."""

    model_config = ConfigDict(json_schema_extra=with_docstrings)


class Length(DesignPart):
    """Least and most words of a question; of scripts without spaces, characters."""

    least: int = Field(1, ge=1)
    """Least words."""
    most: int = Field(40, ge=1)
    """Most words."""

    @field_validator("most")
    @classmethod
    def _check_order(cls, most: int, info: ValidationInfo) -> int:
        """Refuse a maximum number of words that is below the minimum."""
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


class Wishes(DesignPart):
    """Wishes about the words of questions."""

    language: str | None = None
    """Language of the questions (ISO 639-1), where it is not the documents'."""
    length: Length | None = None
    """Words of a question."""
    difficulty: Difficulty | None = None
    """easy: a search finds the passages at once; hard: other passages are nearer."""
    terms: Terms = Terms()
    """Terms to keep, and to avoid."""

    @field_validator("language")
    @classmethod
    def _check_language(cls, code: str | None) -> str | None:
        """Refuse a language code that the language detector does not know."""
        from citeforge.engines.text.languages import language_codes

        if code is not None and code not in language_codes():
            raise ValueError(str(UnknownValueError("language", code, language_codes())))
        return code

    @property
    def own_wishes(self) -> "Wishes":
        """Wishes on questions (language, length, difficulty, terms) without the other fields."""
        return Wishes(**{name: getattr(self, name) for name in Wishes.model_fields})

    def join(self, general: "Wishes") -> "Wishes":
        """Merge with more general wishes on questions, which fill gaps; the terms are joined."""
        terms, others = self.terms, general.terms
        return Wishes(
            language=self.language or general.language,
            length=self.length or general.length,
            difficulty=self.difficulty or general.difficulty,
            terms=Terms(
                keep=(*dict.fromkeys((*terms.keep, *others.keep)),),
                avoid=(*dict.fromkeys((*terms.avoid, *others.avoid)),),
            ),
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Instructions to the LLM on a question's language, length, difficulty and terms."""
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
