"""A folder in which several processes, or machines, do the shares of one build.

corpus/, corpus.json        passages of all sources, written by whoever comes first
embed.json                  what the vectors depend on; another build is refused
embeddings/                 vectors, as in any build
mine.json                   what mining depends on besides
mined-I-of-N/, ….json       seemingly relevant passages of the queries of one share
"""

import json
import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa

from citeforge.builders.rage.mining import Mined, SeeminglyRelevant
from citeforge.builders.recipes.changes import differences_text, unlike
from citeforge.builders.stages.build import Workspace
from citeforge.builders.stages.embedding import Embedded, pieces_of
from citeforge.engines.embedding.embedder import Kind
from citeforge.engines.embedding.vectors import PLURALS, VectorShard, require_shards, unit_vectors
from citeforge.engines.io.corpus import embedding_texts
from citeforge.engines.io.files import atomic_file, read_json, storage_errors
from citeforge.engines.io.folders import file_lock, is_temporary, refuse_strangers
from citeforge.engines.io.progress import progress
from citeforge.engines.io.tables import (
    iter_batches,
    read_table,
    rows_of,
    shard_paths,
    table_of,
    write_table,
)
from citeforge.engines.search.two_stage import ExactSearch
from citeforge.schemas.command_options import Shard
from citeforge.schemas.errors import InputError

EMBEDDINGS = "embeddings"
EMBED, MINE = "embed.json", "mine.json"
MINED_WITHOUT = frozenset(
    "recipe mixtures corpus base hidden drop_suspects decided decided_sha256".split()
)
"""Fields of the recipe that mining does not depend on."""
VECTORS_WITHOUT = MINED_WITHOUT | {"mining", "remine", "candidates", "candidates_sha256"}
"""Likewise vectors."""
_OWN_NAMES = re.compile(
    r"(corpus|embeddings|embed\.json|mine\.json|(mined|archives)-\d+-of-\d+)(\.json|\.lock)?"
)
_SHARE = re.compile(r"mined-(\d+)-of-(\d+)\.json")
_MINED = pa.schema(
    [("row", pa.int64()), ("position", pa.int64()), ("score", pa.float64()), ("rank", pa.int64())]
)

WHOLE = Shard(number=1, of=1)
NonNegative = Annotated[int, msgspec.Meta(ge=0)]


class VectorFacts(msgspec.Struct):
    """What the vectors of a folder depend on, as ``embed.json`` says it.

    Attributes:
        embedder: fingerprint of what made them.
        shard_rows: passages an embedding shard.
        config: choices of the recipe.
    """

    embedder: dict[str, Any]
    shard_rows: int
    config: dict[str, Any] = {}

    @property
    def compute(self) -> str:
        """What the vectors were computed in."""
        return str(self.config.get("compute", "auto"))


class MinedCounts(msgspec.Struct):
    """What a share says of the candidates that it passed over.

    Attributes:
        dropped: verdict on their texts to their number.
        above: option whose limit they were above to their number.
    """

    dropped: dict[int, NonNegative]
    above: dict[str, NonNegative]


class ShardFolder(Workspace):
    """The folder, as a place for stages."""

    def __init__(self, folder: Path, shard: Shard = WHOLE) -> None:
        """Look at it, or make it.

        Raises:
            InputError: it holds what is not ours, or cannot be made.
        """
        super().__init__(folder, "resume")
        self.root = folder
        self._archives = f"archives-{shard.number}-of-{shard.of}"
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            strange = [
                p.name for p in folder.iterdir()
                if not _OWN_NAMES.fullmatch(p.name) and not is_temporary(p)
            ]  # fmt: skip
        if strange:
            refuse_strangers(folder, sorted(strange))

    def stage(self, name: str) -> Path:
        """Folder of a stage; what a process unpacks is its own."""
        return self.root / (self._archives if name == "archives" else name)

    def alone(self, name: str) -> AbstractContextManager[bool]:
        """While a stage is looked for and, if need be, made; others wait."""
        return file_lock(self.root / f"{name}.lock", self.root, wait=True)


def claim(folder: Path, name: str, facts: dict[str, Any]) -> None:
    """Say what the shards of a folder depend on, or find that another process has said the same.

    Raises:
        InputError: it has said something else; names what differs.
    """
    path = folder / name
    if not path.exists():
        with atomic_file(path, exclusive=True) as file:
            # Not sorted: cards tell of the embedder in the order of its fingerprint.
            file.write(f"{json.dumps(facts, ensure_ascii=False)}\n".encode())
    _compare(path, facts)


def require_facts(folder: Path, facts: dict[str, Any]) -> None:
    """Refuse a folder whose vectors are of another build.

    Raises:
        InputError: it holds none, or others; names what differs.
    """
    vector_facts(folder)
    _compare(folder / EMBED, facts)


def _compare(path: Path, facts: dict[str, Any]) -> None:
    begun = read_json(path)
    same = {name: begun.get(name) for name in facts} if isinstance(begun, dict) else {}
    if differences := differences_text(unlike("", same, facts)):
        raise InputError(
            f"contains shards of another build ({differences})",
            path=path.parent,
            allowed="the options it began with, on the same kind of processor, or another folder",
            code="recipe-changed",
        )


def vector_facts(folder: Path) -> VectorFacts:
    """What the vectors of a folder depend on.

    Raises:
        InputError: it holds no shards.
    """
    path = folder / EMBED
    if not path.is_file():
        raise InputError(
            "contains no shards",
            path=folder,
            allowed="the --out of `citeforge shard embed --shard I/N`",
            code="missing-file",
        )
    try:
        return msgspec.convert(read_json(path), VectorFacts)
    except msgspec.ValidationError as error:
        raise InputError(
            f"is damaged ({error})",
            path=path,
            allowed="embed again into another folder",
            code="wrong-value",
        ) from error


def from_shards(folder: Path, corpus: list[Path], queries: pa.ChunkedArray) -> Embedded:
    """The vectors of all shares.

    Args:
        folder: of the shards.
        corpus: Parquet files of the passages.
        queries: their texts.

    Raises:
        InputError: a shard is missing, is damaged, or is of other texts or another model.
    """
    facts = vector_facts(folder)
    rows = facts.shard_rows
    total = sum(b.num_rows for b in iter_batches(corpus, ["_id"]))
    texts = {
        "passage": embedding_texts(corpus, rows),
        "query": pieces_of(pa.concat_arrays(queries.chunks), rows),
    }
    vectors: dict[Kind, list[VectorShard]] = {}
    for side, plural in PLURALS.items():
        with progress(f"checking vectors of {plural}", total, plural) as advance:
            vectors[side] = require_shards(
                folder / EMBEDDINGS, plural, texts[side], facts.embedder, side, advance
            )
    queries_as_rows = unit_vectors(vectors["query"])
    passages = vectors["passage"]
    return Embedded([s.key for s in passages], lambda: ExactSearch(queries_as_rows, passages))


def keep(place: ShardFolder, shard: Shard, key: Any, rows: range, miner: SeeminglyRelevant) -> None:
    """Mine for the queries of one share, and write what was found.

    Args:
        place: the folder.
        shard: the share.
        key: everything that mining depends on.
        rows: its queries.
        miner: for these alone.
    """
    name = mined(shard)
    flat = [
        (row, m.position, m.score, m.rank)
        for row, mine in zip(rows, miner.mine(), strict=True)
        for m in mine
    ]
    files = write_table(place.start(name), name, table_of(flat, _MINED))
    dropped = {str(verdict): count for verdict, count in miner.dropped.items()}
    place.finish(name, key, files, {"dropped": dropped, "above": dict(miner.above)})


def mined(shard: Shard) -> str:
    """Name of the stage of a share."""
    return f"mined-{shard.number}-of-{shard.of}"


def merged(folder: Path, key: Any, miner: SeeminglyRelevant) -> list[list[Mined]] | None:
    """What all shares mined together.

    Args:
        folder: of the shards.
        key: everything that mining depends on.
        miner: for all queries; is told what the shares passed over.

    Returns:
        Passages of each query; None when nothing was mined there.

    Raises:
        InputError: a share is missing, is damaged, or is of another build.
    """
    shares = _shares(folder)
    if not shares:
        return None
    passages_of: list[list[Mined]] = [[] for _ in range(miner.n_queries)]
    place = ShardFolder(folder)
    passages = sum(b.num_rows for b in iter_batches(miner.exclusions.corpus, ["_id"]))
    for shard in shares:
        name = mined(shard)
        record = place.finished(name, key)
        files = shard_paths(place.stage(name), name)
        table = None if record is None else read_table(files, _MINED)
        try:
            counts = msgspec.convert(record, MinedCounts, str_keys=True)
        except msgspec.ValidationError:
            table = None
        if table is None or not _is_sound(table, miner.n_queries, passages):
            raise InputError(
                "is damaged, or of another build",
                path=folder / name,
                allowed=f"`shard mine --shard {shard}` again, with the options of this build",
                code="hash-mismatch",
            )
        for row, position, score, rank in rows_of(table, *_MINED.names):
            passages_of[row].append(Mined(position, score, rank))
        miner.dropped.update(counts.dropped)
        miner.above.update(counts.above)
    return passages_of


def _is_sound(table: pa.Table, queries: int, passages: int) -> bool:
    """Whether what a share mined is of these queries and passages, each pair once.

    Its hash says only that it is what somebody wrote there.
    """
    if any(column.null_count for column in table.columns):
        return False
    row, position, score, rank = (column.to_numpy() for column in table.columns)
    return bool(
        np.all((row >= 0) & (row < queries))
        and np.all((position >= 0) & (position < passages))
        and np.all(np.isfinite(score))
        and np.all(rank >= 1)
        and len(set(zip(row.tolist(), position.tolist(), strict=True))) == len(row)
    )


def _shares(folder: Path) -> list[Shard]:
    """The shares of one complete set; none where nobody began.

    Raises:
        InputError: there are shares, and of each set one is missing.
    """
    sets: dict[int, set[int]] = {}
    for path in sorted(folder.iterdir()):
        if match := _SHARE.fullmatch(path.name):
            sets.setdefault(int(match[2]), set()).add(int(match[1]))
    for of, numbers in sorted(sets.items()):
        if len(numbers) == of:
            return [Shard(number=number, of=of) for number in range(1, of + 1)]
    if sets:
        of, numbers = max(sets.items(), key=lambda item: (len(item[1]) / item[0], item[0]))
        missing = next(n for n in range(1, of + 1) if n not in numbers)
        raise InputError(
            f"negatives of share {missing}/{of} are missing", path=folder,
            allowed=f"`shard mine --shard {missing}/{of}` first", code="missing-file"
        )  # fmt: skip
    return []
