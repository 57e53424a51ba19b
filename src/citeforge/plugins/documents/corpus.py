"""Read documents to a corpus, and draw the passages that questions are written about.

The corpus is a stage of the build: a resumed build uses it again.
"""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from citeforge.builders.build import Workspace
from citeforge.builders.package import write_corpus
from citeforge.engines.draws import generator
from citeforge.engines.tables import iter_batches, read_table, rows_of, shard_paths, write_table
from citeforge.ir_convert.registry import info_of, open_corpus
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.package import read_texts
from citeforge.plugins.documents.questions import Evidence
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.source import DocumentFolder
from citeforge.plugins.documents.tables import DOCUMENTS, REPEATS
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.version import __version__

STAGE = "corpus"
SHORTEST = 120
"""Least characters of a passage that questions are written about."""


def open_documents(recipe: DocumentsRecipe, workdir: Path) -> Source:
    """Open the source of a recipe: a folder of documents, or other passages.

    Raises:
        InputError: it cannot be opened.
        UsageError: no such source.
    """
    name, _, argument = recipe.source.partition(":")
    if name == "folder" and argument:
        return DocumentFolder(Path(argument), recipe.passage_size, recipe.largest_file)
    return open_corpus(recipe.source, None, ReadOptions(workdir=workdir), "--source")


def read_documents(
    recipe: DocumentsRecipe, source: Source, workspace: Workspace
) -> tuple[SourceInfo, list[Path], dict[str, pa.Table]]:
    """Cut documents into a corpus: (provenance, corpus files, document and repeat tables).

    Raises:
        InputError: the source is at fault, or there is no text in it.
    """
    info = info_of(source, recipe.licence)
    key = [info.spec, info.files, info.revision, recipe.passage_size, __version__]
    record = workspace.read_finished(STAGE, key)
    if record is None:
        folder = workspace.start(STAGE)
        files = write_corpus(folder, source.passages(), source)
        if isinstance(source, DocumentFolder):
            rows = [asdict(d) for d in source.documents]
            files |= write_table(folder, "documents", pa.Table.from_pylist(rows, schema=DOCUMENTS))
            repeats = pa.Table.from_pylist(source.repeats, schema=REPEATS)
            files |= write_table(folder, "repeats", repeats)
        info = info_of(source, recipe.licence)
        record = {"counts": info.counts}
        workspace.finish(STAGE, key, files, record)
    info.counts = dict(record["counts"])
    folder = workspace.stage(STAGE)
    schemas = {"documents": DOCUMENTS, "repeats": REPEATS}
    beside = {n: read_table(shard_paths(folder, n), schema) for n, schema in schemas.items()}
    return info, shard_paths(folder, STAGE), beside


class PassagePool:
    """Passages of a corpus, with a random order in which questions are written about them.

    Attributes:
        order: ids of passages that are long enough. Files take turns, and so do the sections of a
            file, so that long files and sections do not supply most passages.
        n_short: number of passages that are too short.
    """

    def __init__(self, corpus: list[Path], seed: int) -> None:
        """Read a corpus, and draw the order of passages in which questions are written.

        Files take turns, and so do the sections of a file, so that questions are spread over all of
        them.

        Args:
            corpus: Parquet files of schema CORPUS.
            seed: seed of the order.
        """
        self.corpus = corpus
        self.n_short = 0
        files: dict[str, dict[str, list[str]]] = {}
        self._file_and_title: dict[str, tuple[str, str]] = {}
        for batch in iter_batches(corpus, ["_id", "title", "text", "metadata"]):
            for name, title, text, about in rows_of(batch):
                file, _ = self._file_and_title[name] = passage_file(name, about), title
                if len(text) < SHORTEST:
                    self.n_short += 1
                else:
                    files.setdefault(file, {}).setdefault(title, []).append(name)
        by_file = [
            list(_interleave(_shuffle(sections, seed, file), generator(seed, "draw", file)))
            for file, sections in files.items()
        ]
        self.order = list(_interleave(by_file, generator(seed, "draw files")))

    def texts(self, ids: Sequence[str]) -> dict[str, Evidence]:
        """Read passages by id: id to passage."""
        texts = read_texts(self.corpus, ids) if ids else {}
        return {name: Evidence(name, title, text) for name, (title, text) in texts.items()}

    def file_of(self, passage_id: str) -> str:
        """Get the name of the document file that a passage is from."""
        return self._file_and_title[passage_id][0]

    @property
    def ids(self) -> list[str]:
        """Ids of all passages of the corpus, in its order."""
        return list(self._file_and_title)

    def titles_by_file(self) -> dict[str, list[str]]:
        """Map each document file to the titles of its passages, in corpus order."""
        titles: dict[str, list[str]] = {}
        for file, title in self._file_and_title.values():
            titles.setdefault(file, []).append(title)
        return titles

    def are_together(self, first_id: str, second_id: str) -> bool:
        """Whether two passages have the same title and are from one file."""
        return self._file_and_title[first_id] == self._file_and_title[second_id]


def _shuffle(sections: dict[str, list[str]], seed: int, file: str) -> Iterator[list[str]]:
    """Yield the passage ids of each section of a file, shuffled within the section."""
    for title, names in sections.items():
        generator(seed, "draw", file, title).shuffle(names)
        yield names


def passage_file(passage_id: str, metadata_json: str | None) -> str:
    """Get the file name of a passage from its metadata, else from its id (before ``#``)."""
    if metadata_json is not None:
        metadata = json.loads(metadata_json)
        if isinstance(metadata, dict) and isinstance(metadata.get("file"), str):
            return str(metadata["file"])
    return passage_id.partition("#")[0]


def _interleave(groups: Iterable[Sequence[str]], rng: random.Random) -> Iterator[str]:
    """Interleave groups of passage ids, in random order: all first ids, then all second ids, …."""
    turns = [iter(group) for group in groups]
    rng.shuffle(turns)
    while turns:
        left = []
        for turn in turns:
            if (name := next(turn, None)) is not None:
                yield name
                left.append(turn)
        turns = left
