"""Read files of labels in four formats: ``labels import``, ExpertQA, ALCE, and AttributionBench."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import read_json
from citeforge.engines.jsonlines import open_bytes, read_errors, read_rows
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import InputError

FULL, PARTIAL, NOT = "full", "partial", "not"
LEVELS = {FULL: FULL, PARTIAL: PARTIAL, NOT: NOT, "yes": FULL, "no": NOT}
"""Labels of annotation tasks about support to levels of support."""
EXPERTQA = {"Complete": FULL, "Partial": PARTIAL, "Incomplete": NOT, "Missing": NOT, "N/A": None}
"""ExpertQA's words; a claim that is N/A has no label."""
CLAIMS = {
    "attributable": FULL, "not attributable": NOT, "extrapolatory": NOT, "contradictory": NOT,
    **LEVELS,
}  # fmt: skip
"""Labels of claim rows, in lower case: AttributionBench's, AttrScore's, and those of annotation
tasks; to levels of support."""
_CONTRADICTED = {"attributable": False, "extrapolatory": False, "contradictory": True}
"""AttrScore's labels, to whether the evidence contradicts the claim."""


@dataclass(frozen=True)
class Label:
    """People's label of a statement with all that it cites, or of one citation.

    Attributes:
        path: file that contains the label.
        line: its line; None in a JSON file.
        system: name of the system that answered.
        query: id of the query, or its text.
        level: ``full``, ``partial`` or ``not``; None if people did not decide.
        statement: 0-based place of the statement in the answer; None if ``text`` identifies it.
        text: text of the statement; without citation marks if there is ``evidence``.
        citation: 0-based position of the only passage that is labelled; None for all together.
        nth: instead, 0-based number of the labelled citation of the statement.
        n_statements: number of statements of the answer, if the file contains all.
        evidence: texts that it cites, if the file contains them; None if score files do.
        answer: identifies the answer where ``query`` does not.
        contradicted: whether people say that the evidence contradicts it; None if their labels do
            not say.
    """

    path: Path
    line: int | None
    system: str
    query: str
    level: str | None
    statement: int | None = None
    text: str | None = None
    citation: int | None = None
    nth: int | None = None
    n_statements: int | None = None
    evidence: tuple[str, ...] | None = None
    answer: str = ""
    contradicted: bool | None = None

    def error(self, message: str, allowed: str | None = None, *, code: str) -> InputError:
        """Make an error that names the file and line of the label."""
        return InputError(message, path=self.path, line=self.line, allowed=allowed, code=code)


@dataclass
class LabelRegister:
    """Register of labels read so far, which finds repeated and contradicting ones."""

    _labels: dict[Hashable, dict[str | None, Label]] = field(default_factory=dict)

    def is_repeat(self, target: Hashable, label: Label) -> bool:
        """Whether a label of a statement or citation is known; else add it, or raise if it differs.

        Args:
            target: answer, statement and citation that are labelled.
            label: the label; one without a level (people did not decide) contradicts none.

        Raises:
            InputError: it contradicts an earlier label; names both lines.
        """
        levels = self._labels.setdefault(target, {})
        if label.level in levels:
            return True
        first = next((x for x in levels.values() if x.level is not None), None)
        if first is not None and label.level is not None:
            where = f"{first.path}" + (f", line {first.line}," if first.line else "")
            raise label.error(
                f"labels as {label.level!r} what {where} labels as {first.level!r} "
                f"({label.system}, {label.query!r})",
                "one label per statement or citation; labels import takes the majority of several "
                "people",
                code="contradiction",
            )
        levels[label.level] = label
        return False


def read_labels(path: Path, file_format: str = "auto") -> list[Label]:
    """Read people's labels of statements from a file in one of four formats.

    Args:
        path: JSON Lines of ``labels import``, in ExpertQA's layout or of claims with references,
            or ALCE's JSON.
        file_format: a value of ``--format``; ``auto`` detects the format.

    Raises:
        InputError: the file is in none of these formats, or has no label of a statement.
    """
    readers = {"annotations": _read_annotations, "expertqa": _read_expertqa, "alce": _read_alce,
               "claims": _read_claims}  # fmt: skip
    rows = list(readers[detect_format(path) if file_format == "auto" else file_format](path))
    if not any(label.level is not None for label in rows):
        raise InputError(
            "contains no label of a statement",
            path=path,
            allowed="labels of statement-support or citation-support from labels import, "
            "ExpertQA's rows, ALCE's human_eval_citations_completed.json, or rows with claim, "
            "references and attribution_label",
            code="no-labels",
        )
    return rows


def detect_format(path: Path) -> str:
    """Detect the format of a file of labels from its first bytes.

    Raises:
        InputError: it cannot be read.
    """
    with open_bytes(path) as file, read_errors(path):
        start = file.read(1 << 12)
    if b'"claim"' in start and b'"claims"' not in start:
        return "claims"
    if b'"question"' in start and b'"item"' not in start:
        return "expertqa"
    return "alce" if path.suffix == ".json" else "annotations"


class _Annotated(msgspec.Struct):
    """A line that ``labels import`` wrote; labels of other units have no statement."""

    system: str = ""
    query_id: str = ""
    label: str | None = None
    statement: int | None = None
    citation: int | None = None


def _read_annotations(path: Path) -> Iterator[Label]:
    """Read labels from a file that ``labels import`` wrote."""
    for line, row in read_rows(path, _Annotated):
        if row.statement is None:
            continue
        level = _find_level(row.label, LEVELS, path, line, "label")
        yield Label(
            path, line, row.system, row.query_id, level, row.statement, citation=row.citation
        )


def plain_label(word: str) -> str:
    """Normalise the case and spaces of a label's word, for comparison."""
    return " ".join(word.split()).casefold()


def _find_level(
    word: str | None, levels: Mapping[str, str | None], path: Path, line: int, field: str
) -> str | None:
    """Convert a label's word to "full", "partial" or "not"; None without word or if undecided.

    Args:
        word: word of the label, such as "fully".
        levels: support level by word.
        path: file of the label, for errors, as are line and field.
        line: its line.
        field: its field.

    Raises:
        InputError: the word is unknown; lists the known ones.
    """
    if word is None:
        return None
    plain = {plain_label(name): level for name, level in levels.items()}
    if plain_label(word) in plain:
        return plain[plain_label(word)]
    raise InputError(
        f"{word!r} is not a level of support",
        path=path,
        line=line,
        field=field,
        allowed=", ".join(levels),
        code="wrong-value",
    )


class _Claim(msgspec.Struct):
    """A claim of an ExpertQA answer."""

    claim: str
    support: str | None = None
    evidence: list[str] = []


class _ExpertQa(msgspec.Struct):
    """An answer in ExpertQA's layout, with its claims."""

    question: str
    system: str
    claims: list[_Claim]


def _read_expertqa(path: Path) -> Iterator[Label]:
    """Read the labels of a file in ExpertQA's layout."""
    grammar = Grammar()
    for line, row in read_rows(path, _ExpertQa):
        for claim in row.claims:
            level = _find_level(claim.support, EXPERTQA, path, line, "claims.support")
            text = grammar.strip_marks(claim.claim)
            yield Label(
                path, line, row.system, row.question, level, text=text,
                evidence=tuple(claim.evidence),
            )  # fmt: skip


class _ClaimRow(msgspec.Struct):
    """A claim with its references; further fields are not needed here."""

    claim: str
    references: list[str]
    attribution_label: str | None = None
    label: str | None = None
    question: str = ""
    response: str = ""
    system: str = ""
    src_dataset: str = ""


def _read_claims(path: Path) -> Iterator[Label]:
    """Read the labels of claims with references (AttributionBench's layout)."""
    for line, row in read_rows(path, _ClaimRow):
        field = "label" if row.attribution_label is None else "attribution_label"
        word = row.label if row.attribution_label is None else row.attribution_label
        level = _find_level(word, CLAIMS, path, line, field)
        yield Label(
            path, line, row.system or row.src_dataset, row.question, level, text=row.claim,
            evidence=tuple(row.references), answer=row.response or row.claim,
            contradicted=_CONTRADICTED.get(plain_label(word or "")),
        )  # fmt: skip


class _AlceCitation(msgspec.Struct):
    """People's score of one citation, in ALCE's layout."""

    citation_precision_score: int


class _AlceSentence(msgspec.Struct):
    """A sentence of an ALCE answer, with people's scores."""

    sentence_recall_score: int
    citations: list[_AlceCitation] = []


class _AlceItem(msgspec.Struct):
    """An ALCE answer, with its sentences."""

    sentences: list[_AlceSentence]


_ALCE_LEVELS = {2: FULL, 1: PARTIAL, 0: NOT}


def _read_alce(path: Path) -> Iterator[Label]:
    """Read labels from ALCE's ``human_eval_citations_completed.json``."""
    content = read_json(path)
    try:
        sets = msgspec.convert(content, dict[str, dict[str, dict[str, Any]]])
        for model, items in (m for models in sets.values() for m in models.items()):
            for query, item in items.items():
                if query != "overall_results":
                    yield from _read_answer(path, model, query, item)
    except msgspec.ValidationError as error:
        raise InputError(
            f"not a file of labels ({error})",
            path=path,
            allowed="ALCE's layout: data set, model, question, sentences with "
            "sentence_recall_score and citations with citation_precision_score",
            code="schema-mismatch",
        ) from error


def _read_answer(path: Path, model: str, query: str, content: Mapping[str, Any]) -> Iterator[Label]:
    """Read the labels of all sentences and citations of one ALCE answer."""
    item = msgspec.convert(content, _AlceItem)
    for at, sentence in enumerate(item.sentences):
        level = FULL if sentence.sentence_recall_score else NOT
        n = len(item.sentences)
        yield Label(path, None, model, query, level, at, n_statements=n)
        for nth, citation in enumerate(sentence.citations):
            found = _ALCE_LEVELS.get(citation.citation_precision_score)
            yield Label(path, None, model, query, found, at, nth=nth, n_statements=n)
