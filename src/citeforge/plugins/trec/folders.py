"""TREC folders and MIRACL: topics TSV, TREC qrels, corpus JSON Lines with docid, title, text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from citeforge.builders.recipes.derive import Base
from citeforge.engines.io.files import atomic_file, write_text
from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.io.textfiles import text_lines
from citeforge.ir_convert.beir import find_file
from citeforge.ir_convert.judged import JudgedSource, Judgements
from citeforge.ir_convert.passages import Place, PlacedPassage
from citeforge.ir_convert.source import ReadOptions
from citeforge.publish.export.declared import DroppedFields, Export
from citeforge.publish.export.tables import corpus_rows, json_line, judgements, lost_of
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.recipes.base import Part

_MIRACL = re.compile(r"(?:topics|qrels)\.miracl-v[\d.]+-(?P<lang>\w+)-(?P<split>[\w-]+)\.tsv")


_TOP = re.compile(r"\s*<top\b", re.IGNORECASE)
_FIELD = re.compile(r"<(num|title)>([^<]*)", re.IGNORECASE)


class CorpusRow(msgspec.Struct, gc=False):
    """A line of a corpus; further fields are not needed here."""

    text: str
    docid: str | None = None
    id: str | None = msgspec.field(default=None, name="_id")
    title: str | None = ""


def open_trec(argument: str, split: str | None, options: ReadOptions) -> JudgedSource:
    """Open ``trec:PATH``: a folder with ``topics.tsv``, ``qrels`` and ``corpus.jsonl``.

    With several splits: ``topics.SPLIT.tsv`` and ``qrels.SPLIT`` (``.txt``, ``.tsv``).

    Raises:
        InputError: a file is missing or wrong.
        UnknownValueError: no such split.
    """
    folder = Path(argument)
    if options.passages_only:
        info = SourceInfo(spec=f"trec:{argument}", kind="trec")
        return _source(info, None, None, [find_file(folder, "corpus.jsonl")], options)
    middle = f".{split}" if split else ""
    topics = find_file(folder, f"topics{middle}.tsv", f"topics{middle}.txt", f"queries{middle}.tsv")
    qrels = find_file(folder, *(f"qrels{middle}{end}" for end in (".txt", ".tsv", ".qrels", "")))
    corpora = [find_file(folder, "corpus.jsonl")]
    info = SourceInfo(spec=f"trec:{argument}", kind="trec", split=split)
    return _source(info, topics, qrels, corpora, options)


def open_miracl(argument: str, split: str | None, options: ReadOptions) -> JudgedSource:
    """Open ``miracl:PATH``: a folder in MIRACL's layout, of one language.

    ``topics/topics.miracl-v1.0-LANG-SPLIT.tsv``, ``qrels/qrels.miracl-…``, and the corpus shards
    ``docs-*.jsonl(.gz)`` (docid, title, text).

    Raises:
        InputError: a file is missing or wrong.
        UnknownValueError: no such split.
    """
    folder = Path(argument)
    split = split or "dev"
    by_split: dict[str, dict[str, Path]] = {}
    languages = set()
    for path in sorted(folder.rglob("*.tsv")):
        match = _MIRACL.fullmatch(path.name)
        if match is not None:
            by_split.setdefault(match["split"], {})[path.name.split(".")[0]] = path
            languages.add(match["lang"])
    if len(languages) > 1:
        raise InputError(
            f"holds the languages {', '.join(sorted(languages))}", path=folder,
            allowed="a folder of one language",
        )  # fmt: skip
    files: dict[str, Path] = {}
    if not options.passages_only:
        if split not in by_split:
            raise UnknownValueError(f"--split (default 'test') of {folder}", split, by_split)
        files = by_split[split]
        for name in ("topics", "qrels"):
            if name not in files:
                raise InputError(f"has no {name} of {split}", path=folder)
    corpora = sorted({*folder.rglob("docs-*.jsonl"), *folder.rglob("docs-*.jsonl.gz")})
    if not corpora:
        raise InputError("has no corpus", path=folder, allowed="docs-*.jsonl or docs-*.jsonl.gz")
    info = SourceInfo(spec=f"miracl:{argument}", kind="miracl", split=split)
    return _source(info, files.get("topics"), files.get("qrels"), corpora, options)


def _source(
    info: SourceInfo,
    topics: Path | None,
    qrels: Path | None,
    corpora: list[Path],
    options: ReadOptions,
) -> JudgedSource:
    def stream() -> Iterator[PlacedPassage]:
        for path in corpora:
            for line, row in read_rows(path, CorpusRow):
                name = row.docid or row.id or ""
                yield Place(path, line), name, row.title or "", row.text, None

    files = {path.name: path for path in (topics, qrels, *corpora) if path is not None}
    if topics is None or qrels is None:
        return JudgedSource(info, {}, Judgements(str(corpora[0])), stream, options, files)
    return JudgedSource(info, read_topics(topics), read_trec_qrels(qrels), stream, options, files)


def read_topics(path: Path) -> dict[str, tuple[int, str]]:
    """Query to (line, text) of a file of topics.

    ``qid<tab>text`` lines, or TREC's ``<top>`` blocks, of which the title is the query.

    Raises:
        InputError: a line without a tab, a topic without number or title, or an id that comes
            twice.
    """
    topics: dict[str, tuple[int, str]] = {}
    lines = list(text_lines(path))
    tagged = bool(lines) and _TOP.match(lines[0][1]) is not None
    for number, name, text in _tagged(path, lines) if tagged else _tabbed(path, lines):
        if name in topics:
            raise InputError(
                f"{name!r} stands already in line {topics[name][0]}", path=path, line=number
            )
        topics[name] = (number, text)
    if not topics:
        raise InputError("holds no topics", path=path)
    return topics


def _tabbed(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    for number, line in lines:
        name, tab, text = line.partition("\t")
        name, text = name.strip(), text.strip()
        if not tab or not name or not text:
            raise InputError("is not qid<tab>text", path=path, line=number)
        yield number, name, text


def _tagged(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Blocks of ``<top>``, whose inner tags are often not closed."""
    block: list[str] = []
    start = lines[0][0]
    for number, line in lines:
        if _TOP.match(line) and block:
            yield _topic(path, start, block)
            block, start = [], number
        block.append(line)
    yield _topic(path, start, block)


def _topic(path: Path, line: int, block: list[str]) -> tuple[int, str, str]:
    fields = {
        tag.lower(): " ".join(html.unescape(value).split())
        for tag, value in _FIELD.findall("\n".join(block))
    }
    name = re.sub(r"^number:\s*", "", fields.get("num", ""), flags=re.IGNORECASE)
    text = re.sub(r"^topic:\s*", "", fields.get("title", ""), flags=re.IGNORECASE)
    if not name or not text:
        raise InputError(
            "is a topic without number or title", path=path, line=line,
            allowed="<top>, <num> Number: ID, <title> TEXT",
        )  # fmt: skip
    return line, name, text


def read_trec_qrels(path: Path) -> Judgements:
    """``qid iter docid rel``, separated by white space.

    Raises:
        InputError: another number of fields, or a judgement that is no integer.
    """
    judged = Judgements(str(path))
    for number, line in text_lines(path):
        fields = line.split()
        if len(fields) != 4:
            raise InputError(
                f"has {len(fields)} fields", path=path, line=number, allowed="qid iter docid rel"
            )
        try:
            score = int(fields[3])
        except ValueError as error:
            raise InputError(
                f"{fields[3]!r} is no integer", path=path, line=number, field="rel"
            ) from error
        judged.add(number, fields[0], fields[2], score)
    if not judged.scores:
        raise InputError("holds no judgements", path=path)
    return judged


def export_trec(folder: Path, out: Path, options: Part) -> DroppedFields:
    """``topics.tsv``, ``qrels.txt``, ``corpus.jsonl``, and a run file for every context set."""
    base = Base(folder)
    for row in base.queries.to_pylist():
        if any(c in row["text"] + row["_id"] for c in "\t\n\r"):
            raise InputError(
                f"the query {row['_id']!r} holds a tab or a line break", path=base.folder,
                allowed="another format: TREC's topics are one line each",
            )  # fmt: skip
    topics = "".join(f"{r['_id']}\t{r['text']}\n" for r in base.queries.to_pylist())
    write_text(out / "topics.tsv", topics)
    rows = list(judgements(base))
    for query, passage, _ in rows:
        if any(c.isspace() for c in query + passage):
            raise InputError(
                f"the id {query!r} or {passage!r} holds white space", path=base.folder,
                allowed="another format: TREC's files are separated by white space",
            )  # fmt: skip
    write_text(out / "qrels.txt", "".join(f"{q} 0 {p} {s}\n" for q, p, s in rows))
    with atomic_file(out / "corpus.jsonl") as file:
        for row in corpus_rows(base):
            line = {"docid": row["_id"], "title": row["title"], "text": row["text"]}
            file.write(json_line(line))
    for name in base.manifest.contexts:
        lines = [
            f"{q} Q0 {d['corpus-id']} {rank} {len(docs) - rank + 1} {name}\n"
            for q, docs in base.context(name).items()
            for rank, d in enumerate(docs, 1)
        ]
        write_text(out / f"{name}.run", "".join(lines))
    return lost_of(base, "contexts")


EXPORT = Export("trec", "TREC's topics, qrels, corpus and runs.", export_trec)
