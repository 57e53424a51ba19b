"""Sources of ad hoc retrieval: TREC folders, MIRACL, and data sets of ir_datasets."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from citeforge.engines.extra_fields import metadata_text
from citeforge.engines.textfiles import text_lines
from citeforge.ir_convert.beir import find_file
from citeforge.ir_convert.corpus import read_passage_rows
from citeforge.ir_convert.judged import JudgedSource, Judgements, LocatedQuery
from citeforge.ir_convert.registry import read_bibliography
from citeforge.ir_convert.source import LocatedPassage, ReadOptions
from citeforge.schemas.errors import InputError, UnknownValueError, extras_named
from citeforge.schemas.sources import Declaration, SourceInfo

_MIRACL = re.compile(r"(?:topics|qrels)\.miracl-v[\d.]+-(?P<lang>\w+)-(?P<split>[\w-]+)\.tsv")
_TEXTS = ("text", "body", "abstract", "paragraph", "content")
_QUERIES = ("text", "query", "title", "description")


def open_trec(argument: str, split: str | None, options: ReadOptions) -> "TrecSource":
    """Open the source ``trec:PATH``: a folder of TREC topics, qrels and a corpus.

    Its files are ``topics.tsv``, ``qrels`` and ``corpus.jsonl``. With several splits:
    ``topics.SPLIT.tsv`` and ``qrels.SPLIT`` (``.txt``, ``.tsv``).

    Args:
        argument: path of the folder.
        split: part of the file names; None for none.
        options: whether only passages are read, and what becomes of unknown fields.

    Raises:
        InputError: a file is missing or wrong.
        UnknownValueError: no such split.
    """
    folder, middle = Path(argument), f".{split}" if split else ""
    judged = None
    if not options.passages_only:
        topics = (f"topics{middle}.tsv", f"topics{middle}.txt", f"queries{middle}.tsv")
        qrels = (f"qrels{middle}{ending}" for ending in (".txt", ".tsv", ".qrels", ""))
        judged = JudgedFiles(find_file(folder, *topics), find_file(folder, *qrels))
    info = SourceInfo(spec=f"trec:{argument}", kind="trec", split=split if judged else None)
    return TrecSource(info, judged, [find_file(folder, "corpus.jsonl")], options)


def open_miracl(argument: str, split: str | None, options: ReadOptions) -> "TrecSource":
    """Open the source ``miracl:PATH``: a folder of one language in MIRACL's layout.

    ``topics/topics.miracl-v1.0-LANG-SPLIT.tsv``, ``qrels/qrels.miracl-…``, and the corpus shards
    ``docs-*.jsonl(.gz)`` (docid, title, text).

    Args:
        argument: path of the folder.
        split: split whose topics are read; None for ``dev``.
        options: whether only passages are read, and what becomes of unknown fields.

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
    judged = None
    if not options.passages_only:
        if split not in by_split:
            raise UnknownValueError("split", split, by_split, searched=f"{folder} (--split)")
        for name in ("topics", "qrels"):
            if name not in by_split[split]:
                raise InputError(f"has no {name} of {split}", path=folder, code="missing-file")
        judged = JudgedFiles(by_split[split]["topics"], by_split[split]["qrels"])
    corpora = sorted({*folder.rglob("docs-*.jsonl"), *folder.rglob("docs-*.jsonl.gz")})
    if not corpora:
        raise InputError(
            "has no corpus", path=folder, allowed="docs-*.jsonl or docs-*.jsonl.gz",
            code="missing-file"
        )  # fmt: skip
    info = SourceInfo(spec=f"miracl:{argument}", kind="miracl", split=split)
    return TrecSource(info, judged, corpora, options)


class JudgedFiles(NamedTuple):
    """Files of the topics (queries) and their judgements."""

    topics: Path
    qrels: Path


class TrecSource(JudgedSource):
    """Topics, judgements, and passages of JSON Lines files."""

    def __init__(
        self,
        info: SourceInfo,
        judged_files: JudgedFiles | None,
        corpora: list[Path],
        options: ReadOptions,
    ) -> None:
        """Read a TREC source's topics and judgements; only its passages if there are no such files.

        Raises:
            InputError: a line of them is wrong.
        """
        pairs = (
            Judgements(str(corpora[0]))
            if judged_files is None
            else read_trec_qrels(judged_files.qrels)
        )
        files = {path.name: path for path in (*(judged_files or ()), *corpora)}
        super().__init__(info, options, pairs, files)
        self.corpora = corpora
        if judged_files is not None:
            self.query_rows = read_topics(judged_files.topics)

    def rows(self) -> Iterator[LocatedPassage]:
        """Yield the passages of the source's corpus files, each with its file and line."""
        option, counts = self.options.extra_fields, self.provenance.counts
        for path, line, row in read_passage_rows(self.corpora, option, counts):
            metadata = metadata_text(row.metadata, path, line)
            yield LocatedPassage(path, line, row.name, row.title or "", row.body, metadata)


def read_topics(path: Path) -> dict[str, LocatedQuery]:
    """Read TREC topics (``qid<tab>text`` lines): map query ids to text and line.

    Raises:
        InputError: a line without a tab, or an id that comes twice.
    """
    topics: dict[str, LocatedQuery] = {}
    for number, line in text_lines(path):
        name, text = (part.strip() for part in (*line.split("\t", 1), "")[:2])
        if not name or not text:
            raise InputError("is not qid<tab>text", path=path, line=number, code="wrong-type")
        if name in topics:
            raise InputError(
                f"duplicate id {name!r} (first at line {topics[name].line})", path=path,
                line=number, code="duplicate-id"
            )  # fmt: skip
        topics[name] = LocatedQuery(number, text)
    if not topics:
        raise InputError("contains no topics", path=path, code="no-queries")
    return topics


def read_trec_qrels(path: Path) -> Judgements:
    """Read TREC relevance judgements (qrels): ``qid iter docid rel`` per line.

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


class IrDatasetsSource(JudgedSource):
    """The source ``ir-datasets:ID``; the library ir_datasets downloads missing files."""

    def __init__(self, argument: str, split: str | None, options: ReadOptions) -> None:
        """Load an ir_datasets data set, and read its queries and judgements.

        Args:
            argument: id of the data set.
            split: recorded in the provenance; the id names the split.
            options: whether only passages are read.

        Raises:
            MissingExtraError: ir_datasets is not installed.
            InputError: no such data set, or it has no documents, queries or judgements.
        """
        with extras_named():
            import ir_datasets
        try:
            data: Any = ir_datasets.load(argument)
        except KeyError as error:
            raise InputError(
                "is not a data set of ir_datasets", path=argument,
                allowed="an id of its catalogue", code="unknown-name"
            ) from error  # fmt: skip
        parts = ("docs",) if options.passages_only else ("docs", "queries", "qrels")
        for part in parts:
            if not getattr(data, f"has_{part}")():
                raise InputError(
                    f"has no {part}", path=argument, allowed="a data set with all three",
                    code="unsupported"
                )  # fmt: skip
        spec = f"ir-datasets:{argument}"
        info = SourceInfo(spec=spec, kind="ir-datasets", split=split)
        super().__init__(info, options, Judgements(f"{spec} qrels"))
        self.data, self.argument, self.query_file = data, argument, f"{spec} queries"
        if options.passages_only:
            return
        for number, query in enumerate(data.queries_iter(), 1):
            text = _get_text(query, _QUERIES, argument)
            self.query_rows[str(query.query_id)] = LocatedQuery(number, text)
        for number, row in enumerate(data.qrels_iter(), 1):
            self.judged.add(number, str(row.query_id), str(row.doc_id), int(row.relevance))

    def rows(self) -> Iterator[LocatedPassage]:
        """Yield the documents of the ir_datasets data set as passages, each with its number."""
        for number, doc in enumerate(self.data.docs_iter(), 1):
            title, text = getattr(doc, "title", "") or "", _get_text(doc, _TEXTS, self.argument)
            name = f"{self.provenance.spec} docs"
            yield LocatedPassage(name, number, str(doc.doc_id), str(title), text)


def _get_text(row: Any, field_names: tuple[str, ...], source_name: str) -> str:
    """Get an ir_datasets record's text from the first field it has, else ``default_text()``.

    Args:
        row: record of ir_datasets, of any type.
        field_names: fields that may have the text, the first of which is taken.
        source_name: source of the record, for the error.
    """
    for name in field_names:
        value = getattr(row, name, None)
        if isinstance(value, str):
            return value
    text = getattr(row, "default_text", None)
    if callable(text):
        return str(text())
    raise InputError(
        f"has no field for the text ({', '.join(type(row)._fields)})", path=source_name,
        code="missing-field"
    )  # fmt: skip


_PAPERS = read_bibliography(Path(__file__).parent / "data" / "sources.bib")
TREC = Declaration(
    name="trec",
    title="TREC topics, qrels and a corpus",
    factory=open_trec,
    argument="folder with topics.tsv, qrels.txt and corpus.jsonl (docid, title, text)",
    splits="topics.SPLIT.tsv and qrels.SPLIT.txt, where there are several",
    becomes="corpus, queries; judgements above zero become `mapping/relevant`",
    licence="that of each data set; give it with --licence",
    keeps_fields=True,
    citation=_PAPERS["voorhees2005trec"],
)
MIRACL = Declaration(
    name="miracl",
    title="MIRACL, any language",
    factory=open_miracl,
    argument="folder of one language: topics, qrels, docs-*.jsonl.gz",
    splits="those of its topics and qrels (default dev)",
    becomes="corpus, queries; judgements above zero become `mapping/relevant`",
    licence="Apache-2.0; passages from Wikipedia, CC BY-SA",
    licence_id="cc-by-sa-3.0",
    keeps_fields=True,
    citation=_PAPERS["zhang2023miracl"],
)
IR_DATASETS = Declaration(
    name="ir-datasets",
    title="ir_datasets",
    factory=IrDatasetsSource,
    argument="an id of the library's catalogue, with documents, queries and judgements",
    splits="part of the id",
    becomes="corpus, queries; judgements above zero become `mapping/relevant`",
    licence="that of each data set; give it with --licence",
    citation=_PAPERS["macavaney2021simplified"],
)
