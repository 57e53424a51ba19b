"""Sources in TREC's and MIRACL's layout: topics as TSV, TREC qrels, corpus as JSON Lines."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from citeforge.engines.io.jsonlines import read_rows
from citeforge.engines.io.textfiles import text_lines
from citeforge.ir_convert.beir import find_file
from citeforge.ir_convert.corpus import PassageRow
from citeforge.ir_convert.source import JudgedSource, Judgements, Place, PlacedPassage, ReadOptions
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import InputError, UnknownValueError

_MIRACL = re.compile(r"(?:topics|qrels)\.miracl-v[\d.]+-(?P<lang>\w+)-(?P<split>[\w-]+)\.tsv")


def open_trec(argument: str, split: str | None, options: ReadOptions) -> JudgedSource:
    """Open the source ``trec:PATH``: a folder with ``topics.tsv``, ``qrels`` and ``corpus.jsonl``.

    With several splits: ``topics.SPLIT.tsv`` and ``qrels.SPLIT`` (``.txt``, ``.tsv``).

    Raises:
        InputError: a file is missing or wrong.
        UnknownValueError: no such split.
    """
    folder, middle = Path(argument), f".{split}" if split else ""
    judged: tuple[Path, ...] = ()
    if not options.passages_only:
        topics = (f"topics{middle}.tsv", f"topics{middle}.txt", f"queries{middle}.tsv")
        qrels = (f"qrels{middle}{ending}" for ending in (".txt", ".tsv", ".qrels", ""))
        judged = find_file(folder, *topics), find_file(folder, *qrels)
    info = SourceInfo(spec=f"trec:{argument}", kind="trec", split=split if judged else None)
    return _make_source(info, judged, [find_file(folder, "corpus.jsonl")], options)


def open_miracl(argument: str, split: str | None, options: ReadOptions) -> JudgedSource:
    """Open the source ``miracl:PATH``: a folder of one language in MIRACL's layout.

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
            f"contains the languages {', '.join(sorted(languages))}", path=folder,
            allowed="a folder of one language", code="unsupported"
        )  # fmt: skip
    judged: tuple[Path, ...] = ()
    if not options.passages_only:
        if split not in by_split:
            raise UnknownValueError("split", split, by_split, place=f"{folder} (--split)")
        for name in ("topics", "qrels"):
            if name not in by_split[split]:
                raise InputError(f"has no {name} of {split}", path=folder, code="missing-file")
        judged = by_split[split]["topics"], by_split[split]["qrels"]
    corpora = sorted({*folder.rglob("docs-*.jsonl"), *folder.rglob("docs-*.jsonl.gz")})
    if not corpora:
        raise InputError(
            "has no corpus", path=folder, allowed="docs-*.jsonl or docs-*.jsonl.gz",
            code="missing-file"
        )  # fmt: skip
    info = SourceInfo(spec=f"miracl:{argument}", kind="miracl", split=split)
    return _make_source(info, judged, corpora, options)


def _make_source(
    info: SourceInfo, judged: Sequence[Path], corpora: list[Path], options: ReadOptions
) -> JudgedSource:
    """Make a source from corpus files, and from (topics, qrels) if ``judged`` names them."""

    def stream() -> Iterator[PlacedPassage]:
        """Yield the passages of all corpus files, with their places for errors."""
        for path in corpora:
            for line, row in read_rows(path, PassageRow):
                yield Place(path, line), row.name, row.title or "", row.body, None

    files = {path.name: path for path in (*judged, *corpora)}
    texts, pairs = {}, Judgements(str(corpora[0]))
    if judged:
        texts, pairs = read_topics(judged[0]), read_trec_qrels(judged[1])
    return JudgedSource(info, texts, pairs, stream, options, files)


def read_topics(path: Path) -> dict[str, tuple[int, str]]:
    """Read topics from ``qid<tab>text`` lines: query id to (line number, text).

    Raises:
        InputError: a line without a tab, or an id that comes twice.
    """
    topics: dict[str, tuple[int, str]] = {}
    for number, line in text_lines(path):
        name, text = (part.strip() for part in (*line.split("\t", 1), "")[:2])
        if not name or not text:
            raise InputError("is not qid<tab>text", path=path, line=number, code="wrong-type")
        if name in topics:
            raise InputError(
                f"duplicate id {name!r} (first at line {topics[name][0]})", path=path, line=number,
                code="duplicate-id"
            )  # fmt: skip
        topics[name] = (number, text)
    if not topics:
        raise InputError("contains no topics", path=path, code="no-queries")
    return topics


def read_trec_qrels(path: Path) -> Judgements:
    """Read relevance judgements (qrels): ``qid iter docid rel`` per line, separated by white space.

    Raises:
        InputError: another number of fields, or a judgement that is no integer.
    """
    judged = Judgements(str(path))
    for number, line in text_lines(path):
        fields = line.split()
        if len(fields) != 4:
            raise InputError(
                f"has {len(fields)} fields", path=path, line=number, allowed="qid iter docid rel",
                code="wrong-type"
            )  # fmt: skip
        try:
            score = int(fields[3])
        except ValueError as error:
            raise InputError(
                f"{fields[3]!r} is not an integer", path=path, line=number, field="rel",
                code="wrong-type"
            ) from error  # fmt: skip
        judged.add(number, fields[0], fields[2], score)
    if not judged.scores:
        raise InputError("contains no judgements", path=path, code="empty-file")
    return judged
