"""Read HAGRID: questions with judged quotes, and answers with citations and labels."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import pyarrow as pa

from citeforge.engines.extra_fields import metadata_text, read_known_fields
from citeforge.engines.tables import table_of
from citeforge.ir_convert.source import (
    LocatedPassage,
    Location,
    ReadOptions,
    Source,
    check_id,
    duplicate_id,
    empty_text,
)
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import GOLD, MAPPING, QUERIES

HUB_REPO = "miracl/hagrid"
HUB_FILE = "hagrid-v1.0-en/{split}.jsonl"


Label = Annotated[int, msgspec.Meta(ge=-128, le=127)]
"""Label that fits into its 8-bit column."""
SentenceIndex = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]


class Quote(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A passage judged relevant; ``idx`` is ignored, since answers cite positions in the list."""

    idx: int
    docid: str | int
    text: str

    @property
    def passage_id(self) -> str:
        """Id of the passage as text."""
        return str(self.docid)


class HagridSentence(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A sentence of an answer with its labels (0, 1 or null)."""

    text: str
    index: SentenceIndex | None = None
    answer_type: str | None = None
    informative: Label | None = None
    attributable: Label | None = None


class HagridAnswer(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A gold answer with its labels."""

    answer: str
    answer_type: str | None = None
    informative: Label | None = None
    attributable: Label | None = None
    sentences: list[HagridSentence] | None = None


class HagridQuestion(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line of a HAGRID file: a question with quotes and answers."""

    query_id: int | str
    query: str
    quotes: list[Quote]
    answers: list[HagridAnswer]
    metadata: msgspec.Raw = msgspec.Raw(b"")


class LocatedQuestion(NamedTuple):
    """A line of a HAGRID file, and its number from 1."""

    line: int
    row: HagridQuestion


def open_hagrid(argument: str, split: str | None, options: ReadOptions) -> "HagridSource":
    """Open the source ``hagrid:PATH``: a JSON Lines file in HAGRID's layout.

    Args:
        argument: path of the file.
        split: name recorded in the provenance; None for the file's name.
        options: permissions.

    Raises:
        InputError: there is no such file.
    """
    path = Path(argument)
    if not path.is_file():
        raise InputError(
            "is not a file", path=path, allowed="a HAGRID .jsonl file", code="not-a-file"
        )
    info = SourceInfo(
        spec=f"hagrid:{argument}", kind="hagrid", split=split or path.name.split(".")[0]
    )
    return HagridSource(path, info, options)


def open_hagrid_hub(argument: str, options: ReadOptions) -> "HagridSource":
    """Open the source ``hagrid-hub:SPLIT``: the file of that split in HAGRID's Hub repository.

    ``datasets`` 4 and later refuse the repository, which has a loading script; so its file is read.
    """
    from citeforge.ir_convert.hub import download, split_revision

    name, revision = split_revision(argument)
    path, commit = download(HUB_REPO, HUB_FILE.format(split=name), revision)
    info = SourceInfo(spec=f"hagrid-hub:{argument}", kind="hagrid-hub", split=name, revision=commit)
    return HagridSource(path, info, options)


class HagridSource(Source):
    """Questions, gold answers and quotes (passages) of a HAGRID file.

    Quotes are the relevant passages; all gold answers are kept, and their citations, positions in
    the quotes from 1, become passage ids.
    """

    def __init__(self, path: Path, info: SourceInfo, options: ReadOptions) -> None:
        """Keep the path and options, and record the rule of relevance in the provenance."""
        super().__init__(info, options, {path.name: path})
        self.path = path
        info.rules["relevant"] = "the quotes of each question, judged relevant by annotators"

    @cached_property
    def _lines(self) -> dict[str, LocatedQuestion]:
        """Lines of the file by query id; includes blank questions if they are allowed."""
        rows: dict[str, LocatedQuestion] = {}
        n_repeats = 0
        counts, extra_fields = self.provenance.counts, self.options.extra_fields
        for line, row in read_known_fields(
            self.path, HagridQuestion, extra_fields, counts, "questions"
        ):
            name = str(row.query_id)
            check_id(name, self.path, line, "query_id")
            first = rows.setdefault(name, LocatedQuestion(line, row))
            if first.row != row:
                raise duplicate_id(name, Location(self.path, first.line), Location(self.path, line))
            if first.line != line:
                n_repeats += 1
                continue
            if not row.query.strip() and not self.options.skip_empty:
                raise empty_text(self.path, line)
        if n_repeats:
            counts[count_key("repeated_rows", "queries")] = n_repeats
        if blank := sum(not one.row.query.strip() for one in rows.values()):
            counts[count_key("rows_without_text", "queries")] = blank
        return rows

    def _questions(self) -> dict[str, LocatedQuestion]:
        """Return the questions with text by query id."""
        return {name: one for name, one in self._lines.items() if one.row.query.strip()}

    def rows(self) -> Iterator[LocatedPassage]:
        """Yield the quotes (passages) of all questions, each with the line of its question."""
        for line, row in self._lines.values():
            for quote in row.quotes:
                yield LocatedPassage(self.path, line, quote.passage_id, "", quote.text)

    def queries(self) -> pa.Table:
        """Return the questions with text."""
        rows = [
            (name, row.query, metadata_text(row.metadata, self.path, line))
            for name, (line, row) in self._questions().items()
        ]
        return table_of(rows, QUERIES)

    def relevant(self) -> pa.Table:
        """Return the (query, passage) pairs of all quotes with text."""
        pairs = dict.fromkeys(
            (name, quote.passage_id)
            for name, (_, row) in self._questions().items()
            for quote in row.quotes
            if quote.text.strip()
        )
        rows = [(query, passage, None, 1.0, None) for query, passage in pairs]
        return table_of(rows, MAPPING)

    def gold(self) -> pa.Table:
        """Return the gold answers, with cited passages; count citations without a quote."""
        unresolved = 0
        rows: list[dict[str, Any]] = []
        for name, (_, row) in self._questions().items():
            ids = [quote.passage_id for quote in row.quotes]
            for position, answer in enumerate(row.answers):
                citations, missed = resolve_citations(answer.answer, ids)
                unresolved += missed
                rows.append(
                    {
                        **msgspec.structs.asdict(answer),
                        "query_id": name,
                        "kind": "answer",
                        "position": position,
                        "text": answer.answer,
                        "citations": citations,
                        "sentences": [_convert_sentence(s, ids) for s in answer.sentences or []],
                    }
                )
        if unresolved:
            self.provenance.counts["answer_citations_outside_quotes"] = unresolved
        return pa.Table.from_pylist(rows, schema=GOLD)

    def locate_judgement(self, query_id: str, corpus_id: str) -> tuple[str, int | None]:
        """Return (file, line of the query) as the source of a judgement, for error messages."""
        question = self._lines.get(query_id)
        return str(self.path), None if question is None else question.line


def resolve_citations(text: str, ids: list[str]) -> tuple[list[str], int]:
    """Get the ids of passages that a text cites by position; count positions that do not exist.

    Args:
        text: answer with marks such as ``[2]``.
        ids: ids of the passages at positions 1, 2, …
    """
    inside, outside, _ = Grammar(base=1).cited(text, len(ids))
    return list(dict.fromkeys(ids[i] for i in sorted(inside))), outside


def _convert_sentence(sentence: HagridSentence, ids: list[str]) -> dict[str, Any]:
    """Convert a sentence of an answer to a dictionary for the gold table, with cited ids."""
    cited, _ = resolve_citations(sentence.text, ids)
    return msgspec.structs.asdict(sentence) | {"citations": cited}
