"""Digests of the rows of tables, by which tables of two packages are compared.

Tables are read batch by batch; an id and 8 bytes per compared part are kept of each row.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from citeforge.schemas.package_changes import TableChanges

_BYTES = 8
_JOINT = "\x1f"
"""Joins the ids of a key of several columns; no id has it."""


@dataclass(frozen=True)
class RowDigests:
    """Keys of the rows of a table, and digests of their parts.

    Attributes:
        keys: distinct keys, in the order of the table.
        parts: names of the parts that are compared, such as ``text``.
        digests: a row per key, a column per part.
    """

    keys: pa.Array
    parts: tuple[str, ...]
    digests: npt.NDArray[np.uint64]

    def filter(self, keys: pa.Array, is_inside: bool) -> "RowDigests":
        """Select the rows whose key is among the given ones, or (``is_inside`` false) the others.

        Args:
            keys: keys to look for.
            is_inside: whether rows with these keys are selected, or all others.
        """
        mask = pc.is_in(self.keys, value_set=keys)
        mask = mask if is_inside else pc.invert(mask)
        return RowDigests(
            self.keys.filter(mask), self.parts, self.digests[mask.to_numpy(zero_copy_only=False)]
        )


def digest_value(value: object) -> bytes:
    """Compute the 8-byte digest of a table cell's value: text, number, list or None."""
    content = value.encode() if isinstance(value, str) else b"\0" + repr(value).encode()
    return hashlib.blake2b(content, digest_size=_BYTES).digest()


def digest_rows(
    batches: Iterable[pa.RecordBatch], keys: Sequence[str], parts: Mapping[str, Sequence[str]]
) -> RowDigests:
    """Compute a digest of each part (some columns) of a table's rows, by their key columns.

    Args:
        batches: the table.
        keys: columns of text that make up the key of a row.
        parts: name of a part to its columns.
    """
    names, digests = [pa.array([], pa.large_string())], [np.empty((0, len(parts)), np.uint64)]
    for batch in batches:
        columns = [batch[name].cast(pa.large_string()) for name in keys]
        joint = pa.scalar(_JOINT, pa.large_string())
        names.append(pc.binary_join_element_wise(*columns, joint))
        part_digests = [_digest_columns(batch, columns) for columns in parts.values()]
        digests.append(np.stack(part_digests, axis=1) if batch.num_rows else digests[0])
    return _merge_repeated(pa.concat_arrays(names), tuple(parts), np.concatenate(digests))


def _digest_columns(batch: pa.RecordBatch, columns: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Compute one digest per row of a batch over some of its columns."""
    values = (
        batch[columns[0]].to_pylist()
        if len(columns) == 1
        else zip(*(batch[name].to_pylist() for name in columns), strict=True)
    )
    return np.frombuffer(b"".join(map(digest_value, values)), np.uint64)


def _merge_repeated(
    keys: pa.Array, parts: tuple[str, ...], digests: npt.NDArray[np.uint64]
) -> RowDigests:
    """Merge rows of equal keys into one, whose digests of each part cover all of them in order."""
    encoded = keys.dictionary_encode()
    if len(encoded.dictionary) == len(keys):
        return RowDigests(keys, parts, digests)
    rows: list[list[bytes]] = [[] for _ in encoded.dictionary]
    for at, row in zip(encoded.indices.to_pylist(), digests, strict=True):
        rows[at].append(row.tobytes())
    merged = [
        digest_value(b"".join(row[n * _BYTES : (n + 1) * _BYTES] for row in group))
        for group in rows
        for n in range(len(parts))
    ]
    table = np.frombuffer(b"".join(merged), np.uint64).reshape(-1, len(parts))
    return RowDigests(encoded.dictionary, parts, table)


def compare_rows(name: str, old: RowDigests, new: RowDigests) -> TableChanges:
    """Compare two tables by the digests of their rows: added, removed and changed keys.

    Args:
        name: what the rows are.
        old: rows of the old package.
        new: rows of the new package; the same parts.
    """
    at = pc.index_in(new.keys, value_set=old.keys)
    is_shared = at.is_valid().to_numpy(zero_copy_only=False)
    places = at.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
    differs = new.digests[is_shared] != old.digests[places]
    shared = new.keys.filter(pa.array(is_shared))
    is_gone = np.ones(len(old.keys), np.bool_)
    is_gone[places] = False
    return TableChanges(
        name=name,
        n_old=len(old.keys),
        n_new=len(new.keys),
        n_same=int((~differs.any(axis=1)).sum()),
        added=_name_keys(new.keys, ~is_shared),
        removed=_name_keys(old.keys, is_gone),
        changed={
            part: _name_keys(shared, differs[:, n])
            for n, part in enumerate(new.parts)
            if differs[:, n].any()
        },
        is_reordered=bool((np.diff(places) < 0).any()),
    )


def _name_keys(keys: pa.Array, mask: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """List the keys that a mask selects; the ids within a key are joined by arrows."""
    return tuple(" → ".join(key.split(_JOINT)) for key in keys.filter(pa.array(mask)).to_pylist())
