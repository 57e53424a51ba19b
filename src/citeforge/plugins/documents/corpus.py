"""The stage in which documents become a corpus: read once, and taken again by a resumed build."""

from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from citeforge.builders.stages.build import Workspace
from citeforge.builders.stages.corpus import write_corpus
from citeforge.engines.io.tables import read_table, shard_paths, write_table
from citeforge.ir_convert.registry import info_of, open_corpus
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.plugins.documents.reading.source import DocumentFolder
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.tables import DOCUMENTS, REPEATS
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.version import __version__

STAGE = "corpus"


def open_documents(recipe: DocumentsRecipe, workdir: Path) -> Source:
    """The source of a recipe.

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
    """Provenance with its counts, the corpus, and what became of each file (DOCUMENTS, REPEATS).

    Raises:
        InputError: the source is at fault, or there is no text in it.
    """
    info = info_of(source, recipe.licence)
    key = [info.spec, info.files, info.revision, recipe.passage_size, __version__]
    record = workspace.finished(STAGE, key)
    if record is None:
        folder = workspace.start(STAGE)
        files = write_corpus(source, None, folder)
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
