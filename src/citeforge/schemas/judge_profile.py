"""Judge profiles: the prompt of a model family, and the replies that mean each verdict."""

from collections import Counter
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from citeforge.schemas.record import FrozenRecord

LEVELS = {"full": 1.0, "partial": 0.5, "no": 0.0, "contradicts": -1.0}
"""Levels of support with the weights of TREC RAG (Thakur et al. 2025, section 3) and DRAGUN."""


def level_name(support: float) -> str:
    """Return the name of a support level (``full``, ``partial`` …) by its weight."""
    return next(name for name, weight in LEVELS.items() if weight == support)


Architecture = Literal[
    "seq2seq", "classifier", "token-classifier", "three-heads", "causal", "json-llm"
]


class Chunks(FrozenRecord):
    """Way to cut a long premise; its best chunk decides.

    Attributes:
        size: most units per chunk.
        of: units: ``words`` between white space, ``tokens`` of the model, ``nltk-words`` of NLTK's
            word tokenizer, or ``even-words``: as many sentences in each chunk as make it about
            ``size`` words.
    """

    size: int = Field(ge=1)
    of: Literal["words", "tokens", "nltk-words", "even-words"]


class Message(FrozenRecord):
    """A turn of a chat, with ``{premise}`` and ``{hypothesis}`` in its text.

    With ``{note}`` in the text of one of them, both are quoted between tags that their authors
    cannot write, and the note says what the tags mean. Prompts that a published model was trained
    with have none: their texts stand there as they are, and may speak to the model.
    """

    role: str
    text: str


class JudgeProfile(FrozenRecord):
    """Prompt and limits of a judge model, and the meaning of its answers.

    Attributes:
        name: name in signatures and for ``--judge-profile``.
        architecture: ``seq2seq`` (the first token that it writes), ``classifier`` (of a text or a
            pair), ``token-classifier`` (its first token, HHEM), ``three-heads`` (AlignScore's
            checkpoint), ``causal`` (the next token of a chat) or ``json-llm`` (an LLM that replies
            in JSON).
        models: Hub repositories that are so.
        prompt: one text with ``{premise}``, ``{hypothesis}`` and ``{eos}``; None for a text pair.
        messages: of a chat.
        template: further arguments of a chat template.
        supported: what says that the premise supports the hypothesis: texts whose first token it
            is, words, labels or their indices; of ``json-llm`` values of ``field``.
        partial: what says that it does so in part.
        unsupported: what says that it does not; empty for everything else.
        contradicted: of ``json-llm``, what says that it contradicts the hypothesis.
        undecided: what says that it cannot be told, as of a text without content.
        field: member of a JSON reply.
        threshold: least probability of support, exclusive.
        max_tokens: longest input; None for the model's own limit.
        chunks: how long premises are cut; None for not at all.
        sentences: of several sentences of a hypothesis: ``whole`` for one text, else the ``min`` or
            the ``mean`` over them.
        foundation: repository or folder with configuration and tokenizer, where the model's own has
            neither.
        weights: file with the weights, where the repository holds several.
        comparable_with: published numbers that it gives again; empty for none.
        family: of the models, such as ``llama``; scores of a system of that family say so.
        source: where all this is written.
    """

    name: str = Field(min_length=1)
    architecture: Architecture
    models: tuple[str, ...] = ()
    prompt: str | None = None
    messages: tuple[Message, ...] = ()
    template: dict[str, Any] = {}
    supported: tuple[bool | int | str, ...] = Field(min_length=1)
    partial: tuple[bool | int | str, ...] = ()
    unsupported: tuple[bool | int | str, ...] = ()
    contradicted: tuple[bool | int | str, ...] = ()
    undecided: tuple[bool | int | str, ...] = ()
    field: str = ""
    threshold: float = Field(0.5, ge=0, le=1)
    max_tokens: int | None = Field(None, ge=8)
    chunks: Chunks | None = None
    sentences: Literal["whole", "min", "mean"] = "whole"
    foundation: str | None = None
    weights: str | None = None
    comparable_with: str = ""
    family: str = ""
    source: str = ""

    @model_validator(mode="after")
    def _refuse_misfits(self) -> Self:
        """Raise an error if prompt, verdicts or other fields do not fit the model type."""
        self._refuse_overlapping_verdicts()
        chat = self.architecture in ("causal", "json-llm")
        if chat != bool(self.messages):
            raise ValueError(f"messages: a {self.architecture} has {'some' if chat else 'none'}")
        texts = [m.text for m in self.messages] + ([] if self.prompt is None else [self.prompt])
        for placeholder in ("{premise}", "{hypothesis}"):
            if texts and sum(t.count(placeholder) for t in texts) != 1:
                raise ValueError(f"the prompt must contain {placeholder} once")
        if self.architecture in ("seq2seq", "token-classifier") and self.prompt is None:
            raise ValueError(f"prompt: a {self.architecture} needs one")
        if (self.architecture == "json-llm") != bool(self.field):
            raise ValueError("field: required for json-llm (a member of its reply), else refused")
        for name in ("partial", "contradicted", "undecided"):
            if getattr(self, name) and self.architecture != "json-llm":
                raise ValueError(f"{name}: only a json-llm replies with more than two levels")
        return self

    def _refuse_overlapping_verdicts(self) -> None:
        """Raise an error if two verdicts share a word, or one is a boolean but replies are text."""
        if self.architecture != "json-llm" and any(isinstance(v, bool) for v in self.verdicts):
            raise ValueError('a verdict is true or false, not a text; in YAML, quote "Yes", "No"')
        words = [str(v).strip().lower() for v in self.verdicts]
        twice = [text for text, n in Counter(words).items() if n > 1]
        if twice:
            raise ValueError(f"{twice[0]!r} would be two verdicts: supported, partial, "
                             "unsupported, contradicted, undecided must not overlap")  # fmt: skip

    @property
    def verdicts(self) -> tuple[bool | int | str, ...]:
        """All replies (words, numbers or booleans) that count as a verdict of the model."""
        return (
            *self.supported, *self.partial, *self.unsupported, *self.contradicted, *self.undecided
        )  # fmt: skip

    @property
    def quotes(self) -> bool:
        """Whether prompts quote premise and hypothesis, so that neither can instruct the model."""
        return any("{note}" in message.text for message in self.messages)

    @property
    def has_levels(self) -> bool:
        """Whether the model has verdicts for partial support or for contradiction."""
        return bool(self.partial or self.contradicted)
