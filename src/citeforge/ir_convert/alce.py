"""Read ALCE's items: questions of ASQA, QAMPARI and ELI5 with retrieved documents."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import pyarrow as pa

from citeforge.engines.files import parse_json
from citeforge.engines.jsonlines import read_all
from citeforge.engines.judge.records import JudgeFailure, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.tables import table_of
from citeforge.ir_convert.source import LocatedPassage, ReadOptions, Source, empty_text
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import GOLD, MAPPING, QUERIES
from citeforge.schemas.text import premise_of

Task = Literal["asqa", "qampari", "eli5"]
_GOLD: dict[Task, str] = {"asqa": "qa_pairs", "qampari": "answers", "eli5": "claims"}
"""Data set to the field that only its items have."""


class AlceDocument(msgspec.Struct, gc=False):
    """A retrieved passage; further fields (score, summary, extraction) are not needed here."""

    title: str
    text: str
    id: str | int | None = None


class QaPair(msgspec.Struct, gc=False):
    """A disambiguated question of ASQA with its short answers."""

    question: str
    short_answers: list[str]
    context: str | None = None
    wikipage: str | None = None


class Annotation(msgspec.Struct, gc=False):
    """A long answer of ASQA."""

    long_answer: str


class AlceItem(msgspec.Struct, gc=False):
    """A question with its documents, and the gold of its data set."""

    question: str
    docs: list[AlceDocument] = []
    answer: str | None = None
    output: str | None = None
    qa_pairs: list[QaPair] | None = None
    annotations: list[Annotation] | None = None
    answers: list[list[str]] | None = None
    claims: list[str] | None = None
    id: str | int | None = None
    sample_id: str | int | None = None

    @property
    def query_id(self) -> str:
        """Id of the item, or else a hash of its question."""
        for value in (self.sample_id, self.id):
            if value is not None:
                return str(value)
        return hashlib.sha256(self.question.encode()).hexdigest()[:16]

    @property
    def short_answers(self) -> list[str]:
        """All short answers, in order, without repetitions."""
        groups = [p.short_answers for p in self.qa_pairs or []] + list(self.answers or [])
        return list(dict.fromkeys(a for group in groups for a in group))


def passage_id(doc: AlceDocument) -> str:
    """Return a document's id, or else a hash: ``sha256(title, newline, text)[:16]``."""
    if doc.id is not None:
        return str(doc.id)
    return hashlib.sha256(f"{doc.title}\n{doc.text}".encode()).hexdigest()[:16]


def read_items(
    path: Path, allow_blank_questions: bool = False, list_name: str = ""
) -> list[AlceItem]:
    """Read the items of an ALCE JSON file: a list, or the list ``list_name`` of an object.

    Args:
        path: JSON file.
        allow_blank_questions: whether questions may have no text.
        list_name: name of the list, if the object has several, as ALCE's demonstrations have.

    Raises:
        InputError: not JSON, another layout, several lists of which none is named, or an item with
            a wrong field.
    """
    raw = parse_json(read_all(path), path)
    rows = raw if isinstance(raw, list) else _find_items(raw, path, list_name)
    items: list[AlceItem] = []
    numbers: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        try:
            item = msgspec.convert(row, AlceItem)
        except msgspec.ValidationError as error:
            raise InputError(
                str(error), path=path, field=f"item {number}", code="wrong-type"
            ) from error
        items.append(item)
        if not item.question.strip():
            if not allow_blank_questions:
                raise empty_text(path, number)
            continue
        if item.query_id in numbers:
            raise InputError(
                f"has the id {item.query_id!r} of item {numbers[item.query_id]}",
                path=path,
                field=f"item {number}",
                code="duplicate-id",
            )
        numbers[item.query_id] = number
    return items


def _find_items(content: Any, path: Path, list_name: str) -> list[Any]:
    """Find the list of items in a JSON object.

    Args:
        content: decoded JSON of a file.
        path: the file, for messages.
        list_name: name of the list; empty for ``data``.

    Raises:
        InputError: it has no list, or several of which none is named.
    """
    members = content if isinstance(content, dict) else {}
    lists: dict[str, list[Any]] = {
        k: v
        for k, v in members.items()
        if isinstance(v, list) and v and all(isinstance(x, dict) and "question" in x for x in v)
    }
    if "data" in lists or list_name in lists:
        return lists[list_name] if list_name in lists else lists["data"]
    if lists:
        raise InputError(
            f"contains the lists {', '.join(lists)}, and none is called data",
            path=path,
            allowed=f"name one of them: alce:{path}#{next(iter(lists))}",
            code="missing-option",
        )
    raise InputError(
        "is not an ALCE file",
        path=path,
        allowed="a list of items, or an object with data: []",
        code="wrong-type",
    )


def detect_task(items: list[AlceItem], path: Path) -> Task:
    """Detect the data set of a file (ASQA, QAMPARI or ELI5) from the gold of its items.

    Raises:
        InputError: no item has gold of one data set alone; plain answers occur in all three.
    """
    for item in items:
        for task, field in _GOLD.items():
            if getattr(item, field) is not None:
                return task
    has_answers = any(item.answer is not None for item in items)
    raise InputError(
        "has answers, which items and demonstrations of each data set may have"
        if has_answers
        else "has no gold answers",
        path=path,
        allowed="items with qa_pairs (ASQA), answers (QAMPARI) or claims (ELI5)"
        + (f"; or say which data set: alce:{path}#eli5" if has_answers else ""),
        code="missing-field",
    )


def open_alce(argument: str, split: str | None, options: ReadOptions) -> "AlceSource":
    """Open the source ``alce:PATH``: a file of ASQA or QAMPARI; with a judge, also of ELI5.

    ``alce:PATH#NAME`` names a list in the file, the data set, or both (``demos.json#asqa``).

    Args:
        argument: path of the file, and ``#NAME``.
        split: name recorded in the provenance; None for ``eval``.
        options: permissions, and the judge of ELI5's claims.

    Raises:
        InputError: not such a file, or ELI5 without a judge, which decides relevance.
    """
    source = load_alce(argument, split, options)
    if source.task == "eli5" and options.judge is None:
        raise InputError(
            "contains ELI5 items; which passages support their claims needs an entailment judge, "
            "and short answers decide relevance here",
            path=argument,
            allowed="ASQA or QAMPARI items, or --judge",
            code="missing-judge",
        )
    return source


def load_alce(argument: str, split: str | None, options: ReadOptions) -> "AlceSource":
    """Open a file of ASQA, QAMPARI or ELI5 items; ELI5 needs no judge here.

    Args:
        argument: path of the file, and ``#NAME``.
        split: name recorded in the provenance; None for ``eval``.
        options: permissions.

    Raises:
        InputError: not such a file.
    """
    where, _, name = (argument, "", "") if Path(argument).exists() else argument.partition("#")
    path = Path(where)
    items = read_items(path, options.skip_empty, name)
    task = next((task for task in _GOLD if task == name), None) or detect_task(items, path)
    info = SourceInfo(spec=f"alce:{argument}", kind="alce", split=split or "eval")
    return AlceSource(path, items, task, info, options)


class AlceSource(Source):
    """Questions, gold answers and documents (passages) of an ALCE file.

    A passage is relevant if its text contains a short answer of the question, both normalised as
    ALCE does; for ELI5, if it entails a claim according to the judge.

    Attributes:
        items: items with a question.
    """

    def __init__(
        self, path: Path, items: list[AlceItem], task: Task, info: SourceInfo, options: ReadOptions
    ) -> None:
        """Store the items with a question; record in the provenance which passages are relevant."""
        super().__init__(info, options, {path.name: path})
        self.path = path
        self.task = task
        self.items = [item for item in items if item.question.strip()]
        self._all = items
        if len(self.items) < len(items):
            blank = count_key("rows_without_text", "queries")
            info.counts[blank] = len(items) - len(self.items)
        info.rules["data set"] = task
        info.rules["relevant"] = (
            "the passage text contains a short answer, both normalised as ALCE does"
            if task != "eli5" or options.judge is None
            else f"the passage entails a claim by {options.judge.judge.signature}"
        )

    def rows(self) -> Iterator[LocatedPassage]:
        """Yield the documents of all items, each with the number of its item."""
        for number, item in enumerate(self._all, 1):
            for doc in item.docs:
                yield LocatedPassage(self.path, number, passage_id(doc), doc.title, doc.text)

    def queries(self) -> pa.Table:
        """Return the questions (schema QUERIES)."""
        rows = [(item.query_id, item.question, None) for item in self.items]
        return table_of(rows, QUERIES)

    def relevant(self) -> pa.Table:
        """Return the relevant (query, passage) pairs, with the answers that each contains."""
        if self.task == "eli5" and self.options.judge is not None:
            return self._find_entailing(self.options.judge)
        rows: dict[tuple[str, str], str] = {}
        for item in self.items:
            for doc in item.docs:
                answers = list(filter(AnswerText(doc.text).contains, item.short_answers))
                if answers:
                    pair = (item.query_id, passage_id(doc))
                    rows[pair] = json.dumps(answers, ensure_ascii=False)
        columns = [(q, p, answers, 1.0, None) for (q, p), answers in rows.items()]
        return table_of(columns, MAPPING)

    def _find_entailing(self, judge: JudgeSession) -> pa.Table:
        """Ask a judge which documents entail claims; return relevant (query, document) pairs.

        Returns:
            Pairs of query and document (schema MAPPING); the score is the number of claims.
        """
        pairs = [
            (item.query_id, passage_id(doc), Pair(premise_of(doc.title, doc.text), claim))
            for item in self.items
            for doc in item.docs
            for claim in item.claims or []
        ]
        decisions = judge.ask(pair for _, _, pair in pairs)
        failed = sum(isinstance(d, JudgeFailure) for d in decisions.values())
        if failed:
            self.provenance.counts["pairs_that_the_judge_failed_on"] = failed
        claims_of: dict[tuple[str, str], set[str]] = {}
        for query, passage, pair in pairs:
            decision = decisions[pair]
            if isinstance(decision, Verdict) and decision.entailed:
                claims_of.setdefault((query, passage), set()).add(pair.hypothesis)
        rows = [(q, p, None, float(len(claims)), None) for (q, p), claims in claims_of.items()]
        return table_of(rows, MAPPING)

    def gold(self) -> pa.Table:
        """Return the gold answers and claims of all items (schema GOLD)."""
        rows = [
            {"query_id": item.query_id, "position": position, **piece}
            for item in self.items
            for position, piece in enumerate(_gold_rows(item))
        ]
        return pa.Table.from_pylist(rows, schema=GOLD)

    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return (file, None) as the source of a judgement, for error messages."""
        return str(self.path), None


def _gold_rows(item: AlceItem) -> Iterator[dict[str, Any]]:
    """Yield the gold rows of an item: short answers, long answers, lists and claims.

    A row is a dictionary of fields of the schema GOLD.
    """
    for pair in item.qa_pairs or []:
        extra = {"context": pair.context, "wikipage": pair.wikipage}
        yield {
            "kind": "qa_pair",
            "text": pair.question,
            "aliases": pair.short_answers,
            "metadata": json.dumps(extra, ensure_ascii=False),
        }
    for annotation in item.annotations or []:
        yield {"kind": "long_answer", "text": annotation.long_answer}
    for aliases in item.answers or []:
        yield {"kind": "answer_list", "aliases": aliases}
    for claim in item.claims or []:
        yield {"kind": "claim", "text": claim}
    if item.answer is not None:
        yield {"kind": "answer", "text": item.answer}
