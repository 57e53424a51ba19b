"""Read HAGRID: questions with judged quotes, and answers with citations and labels."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from citeforge.engines.extra_fields import metadata_text, read_known_fields
from citeforge.engines.tables import table_of
from citeforge.ir_convert.source import (
    FileSource,
    LocatedPassage,
    Location,
    ReadOptions,
    check_id,
    duplicate_id,
    empty_text,
    located_passages,
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


def open_hagrid(argument: str, split: str | None, options: ReadOptions) -> "HagridSource":
    """Open the source ``hagrid:PATH``: a JSON Lines file in HAGRID's layout.

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


def open_hagrid_hub(argument: str, split: str | None, options: ReadOptions) -> "HagridSource":
    """Open the source ``hagrid-hub:SPLIT``: the file of that split in HAGRID's Hub repository.

    ``datasets`` 4 and later refuse the repository, which has a loading script; so its file is read.
    """
    from citeforge.ir_convert.hub import download, split_revision

    name, revision = split_revision(argument)
    path, commit = download(HUB_REPO, HUB_FILE.format(split=name), revision)
    info = SourceInfo(spec=f"hagrid-hub:{argument}", kind="hagrid-hub", split=name, revision=commit)
    return HagridSource(path, info, options)


class HagridSource(FileSource):
    """Records of a HAGRID file; a :class:`~citeforge.ir_convert.source.Source`.

    Quotes are the relevant passages; all gold answers are kept, and their citations, positions in
    the quotes from 1, become passage ids.
    """

    def __init__(self, path: Path, info: SourceInfo, options: ReadOptions) -> None:
        """Keep the path and options, and record the rule of relevance in the provenance."""
        self.path = path
        self.options = options
        self.provenance, self.files = info, {path.name: path}
        info.rules["relevant"] = "the quotes of each question, judged relevant by annotators"

    @cached_property
    def _rows(self) -> dict[str, tuple[int, HagridQuestion]]:
        """Line and question by query id; includes blank questions if they are allowed."""
        rows: dict[str, tuple[int, HagridQuestion]] = {}
        n_repeats = 0
        counts, extra_fields = self.provenance.counts, self.options.extra_fields
        for line, row in read_known_fields(
            self.path, HagridQuestion, extra_fields, counts, "questions"
        ):
            name = str(row.query_id)
            check_id(name, self.path, line, "query_id")
            first, other = rows.setdefault(name, (line, row))
            if other != row:
                raise duplicate_id(name, Location(self.path, first), Location(self.path, line))
            if first != line:
                n_repeats += 1
                continue
            if not row.query.strip() and not self.options.skip_empty:
                raise empty_text(self.path, line)
        if n_repeats:
            counts[count_key("repeated_rows", "queries")] = n_repeats
        if blank := sum(not row.query.strip() for _, row in rows.values()):
            counts[count_key("rows_without_text", "queries")] = blank
        return rows

    def _questions(self) -> list[tuple[int, str, HagridQuestion]]:
        """List (line, id, question) of the questions with text."""
        return [(line, name, row) for name, (line, row) in self._rows.items() if row.query.strip()]

    def passages(self) -> Iterator[pa.RecordBatch]:
        """Yield the quotes (passages) of all questions in batches, each id once."""
        return located_passages(self._quotes, self.provenance.counts, self.options.skip_empty)

    def _quotes(self) -> Iterator[LocatedPassage]:
        """Yield the quotes (passages) of all questions, each with the file and line it is from."""
        for line, row in self._rows.values():
            for quote in row.quotes:
                yield Location(self.path, line), quote.passage_id, "", quote.text, None

    def queries(self) -> pa.Table:
        """Return the questions with text."""
        rows = [
            (name, row.query, metadata_text(row.metadata, self.path, line))
            for line, name, row in self._questions()
        ]
        return table_of(rows, QUERIES)

    def relevant(self) -> pa.Table:
        """Return the (query, passage) pairs of all quotes with text."""
        pairs = dict.fromkeys(
            (name, quote.passage_id)
            for _, name, row in self._questions()
            for quote in row.quotes
            if quote.text.strip()
        )
        rows = [(query, passage, None, 1.0, None) for query, passage in pairs]
        return table_of(rows, MAPPING)

    def gold(self) -> pa.Table:
        """Return the gold answers, with cited passages; count citations without a quote."""
        unresolved = 0
        rows: list[dict[str, Any]] = []
        for _, name, row in self._questions():
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
        row = self._rows.get(query_id)
        return str(self.path), None if row is None else row[0]


def resolve_citations(text: str, ids: list[str]) -> tuple[list[str], int]:
    """Get the ids of passages that a text cites by position; count positions that do not exist."""
    inside, outside, _ = Grammar(base=1).cited(text, len(ids))
    return list(dict.fromkeys(ids[i] for i in sorted(inside))), outside


def _convert_sentence(sentence: HagridSentence, ids: list[str]) -> dict[str, Any]:
    """Convert a sentence of an answer to a dictionary for the gold table, with cited ids."""
    cited, _ = resolve_citations(sentence.text, ids)
    return msgspec.structs.asdict(sentence) | {"citations": cited}
