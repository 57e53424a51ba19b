"""Read BEIR folders: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/<split>.tsv``, or ``.gz``."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import pyarrow as pa

from citeforge.engines.archives import unpack_zip
from citeforge.engines.extra_fields import metadata_text, read_known_fields
from citeforge.engines.files import digest
from citeforge.engines.jsonlines import decode_text, raw_lines
from citeforge.ir_convert.judged import JudgedSource, Judgements, LocatedQuery
from citeforge.ir_convert.source import (
    LocatedPassage,
    Location,
    ReadOptions,
    check_id,
    duplicate_id,
)
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.sources import SourceInfo

_NO_JSON = msgspec.Raw(b"")
_HEADER = ["query-id", "corpus-id", "score"]


class BeirPassage(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line of ``corpus.jsonl``; a number as id becomes its digits."""

    id: str | int = msgspec.field(name="_id")
    text: str = msgspec.field()
    title: str | None = ""
    metadata: msgspec.Raw = _NO_JSON


class BeirQuery(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A line of ``queries.jsonl``."""

    id: str | int = msgspec.field(name="_id")
    text: str = msgspec.field()
    metadata: msgspec.Raw = _NO_JSON


def open_beir(argument: str, split: str | None, options: ReadOptions) -> "BeirSource":
    """Open the source ``beir:PATH[#NAME]``: a folder or zip file, and the name of its data set.

    Args:
        argument: path of the folder or zip, and the name of one of its data sets.
        split: split of the judgements; None for ``test``.
        options: permissions, and whether only passages are read.

    Raises:
        InputError: there is no folder, the zip is unsafe, or it has several data sets.
        UnknownValueError: no such data set, or the data set has no such split.
    """
    path, _, name = (argument, "", "") if Path(argument).exists() else argument.partition("#")
    folder = Path(path)
    if folder.is_file() and folder.suffix == ".zip":
        # A build may read two archives, so each gets its own folder.
        unpacked = options.workdir / f"unpacked-{digest(str(folder.resolve()))[:12]}"
        folder = unpack_zip(folder, unpacked)
    if not folder.is_dir():
        raise InputError(
            "is not a folder",
            path=path,
            allowed="a BEIR folder with corpus.jsonl, or a .zip of it",
            code="not-a-folder",
        )
    return BeirSource(_find_data_set(folder, path, name), argument, split, options)


def _find_data_set(folder: Path, path: str, name: str) -> Path:
    """Find a data set's folder: the given one, or one below; ``path`` is for messages.

    Args:
        folder: folder, or that of an unpacked zip.
        path: path that the user gave, for messages.
        name: name of a data set below it; empty for the only one.

    Raises:
        InputError: it has several, and none is named.
        UnknownValueError: it has none of that name.
    """
    if not name and any((folder / f"corpus.jsonl{gz}").is_file() for gz in ("", ".gz")):
        return folder
    corpora = sorted({*folder.rglob("corpus.jsonl"), *folder.rglob("corpus.jsonl.gz")})
    found = {corpus.parent.relative_to(folder).as_posix(): corpus.parent for corpus in corpora}
    if name:
        if name not in found:
            raise UnknownValueError(f"data set of {path}", name, found)
        return found[name]
    if len(found) > 1:
        raise InputError(
            f"contains {len(found)} data sets: {', '.join(found)}",
            path=path,
            allowed=f"name one of them: beir:{path}#{min(found)}",
            code="missing-option",
        )
    return next(iter(found.values()), folder)


class BeirSource(JudgedSource):
    """Queries, judgements of a split, and passages of a BEIR folder.

    Attributes:
        folder: the BEIR folder.
        corpus: its ``corpus.jsonl``, plain or .gz.
    """

    id_field = "_id"

    def __init__(
        self, folder: Path, argument: str, split: str | None, options: ReadOptions
    ) -> None:
        """Find the files of a split (``test`` by default), and read its judgements, if any."""
        is_default, split = split is None, split or "test"
        self.folder, self.corpus = folder, find_file(folder, "corpus.jsonl")
        judged, paths = Judgements(""), [self.corpus]
        if not options.passages_only:
            paths.append(find_file(folder, "queries.jsonl"))
            if not (is_default and options.keeps_unjudged) or (folder / "qrels").exists():
                paths.append(find_qrels(folder, split))
                judged = read_qrels(paths[2], options.skip_contradictions)
        info = SourceInfo(spec=f"beir:{argument}", kind="beir", split=split)
        files = {path.relative_to(folder).as_posix(): path for path in paths}
        super().__init__(info, options, judged, files)

    def rows(self) -> Iterator[LocatedPassage]:
        """Yield the passages of ``corpus.jsonl``, each with its line.

        Raises:
            InputError: a malformed row.
        """
        path, option, counts = self.corpus, self.options.extra_fields, self.provenance.counts
        for line, row in read_known_fields(path, BeirPassage, option, counts, "passages"):
            metadata = metadata_text(row.metadata, path, line)
            yield LocatedPassage(path, line, str(row.id), row.title or "", row.text, metadata)

    def queries(self) -> pa.Table:
        """Read the queries that have a judgement, or all; repeated ones are merged."""
        self.query_file = path = find_file(self.folder, "queries.jsonl")
        judged = {query for query, _ in self.judged.scores}
        keeps_all = self.options.keeps_unjudged
        texts: dict[str, LocatedQuery] = {}
        n_repeats = 0
        for line, row in read_known_fields(
            path, BeirQuery, self.options.extra_fields, self.provenance.counts, "queries"
        ):
            name = str(row.id)
            check_id(name, path, line)
            first = texts.setdefault(name, LocatedQuery(line, row.text))
            if first.text != row.text:
                raise duplicate_id(name, Location(path, first.line), Location(path, line))
            n_repeats += first.line != line
            if (keeps_all or name in judged) and first.line == line:
                metadata = metadata_text(row.metadata, path, line)
                self.query_rows[name] = LocatedQuery(line, row.text, metadata)
        if n_repeats:
            self.provenance.counts[count_key("repeated_rows", "queries")] = n_repeats
        return super().queries()


def find_file(folder: Path, *names: str) -> Path:
    """Find a file in a folder by some names, tried in order, plain or ``.gz``.

    Raises:
        InputError: there is none.
    """
    for name in names:
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                return path
    raise InputError(
        "is missing",
        path=folder / names[0],
        allowed=f"{', '.join(names)}, or .gz",
        code="missing-file",
    )


def find_qrels(folder: Path, split: str) -> Path:
    """Find the file with a split's judgements.

    Raises:
        UnknownValueError: no such split; lists the splits.
    """
    files: dict[str, Path] = {}
    for path in sorted((folder / "qrels").glob("*.tsv*")):
        name = path.name.removesuffix(".gz").removesuffix(".tsv")
        if path.name in (f"{name}.tsv", f"{name}.tsv.gz"):
            files.setdefault(name, path)
    if not files:
        raise InputError(
            "contains no judgements",
            path=folder / "qrels",
            allowed="qrels/SPLIT.tsv, or --judge-pool MODEL to have them made",
            code="missing-file",
        )
    if split not in files:
        raise UnknownValueError("split", split, files, searched=f"{folder / 'qrels'} (--split)")
    return files[split]


def read_qrels(path: Path, skip_contradictions: bool = False) -> Judgements:
    """Read ``qrels/<split>.tsv[.gz]``; two scores of a pair: keep the higher, or raise an error.

    Args:
        path: file of a header row, then tab-separated query-id, corpus-id, integer score.
        skip_contradictions: whether to keep the higher of two scores of a pair.

    Raises:
        InputError: header, columns, score or encoding are wrong, or a pair has two scores.
    """
    judged = Judgements(str(path), skip_contradictions=skip_contradictions)
    wrong = partial(InputError, path=path, code="wrong-type")
    for number, raw in raw_lines(path):
        if not raw.strip():
            continue
        fields = decode_text(path, number, raw).split("\t")
        if len(fields) != 3 or not all(fields):
            raise wrong(
                f"has {len(fields)} tab-separated columns or an empty one",
                line=number,
                allowed="query-id, corpus-id, score",
            )
        if number == 1:
            if fields != _HEADER:
                allowed = "the header query-id, corpus-id, score"
                raise wrong(f"the first row is {fields}", line=1, allowed=allowed)
            continue
        query, passage, score = fields
        try:
            judged.add(number, query, passage, int(score.removesuffix(".0")))
        except ValueError as error:
            message = f"{score!r} is not a whole number"
            raise wrong(message, line=number, field="score") from error
    return judged
