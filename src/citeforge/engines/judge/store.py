"""Verdicts on disk: no pair is judged twice by the same judge."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from citeforge.engines.io.files import canonical_json
from citeforge.engines.io.sqlite import open_store, store_errors
from citeforge.engines.judge.records import Verdict

APPLICATION_ID = 0x43464A56  # "CFJV"
VERSION = 1
_MANY = 500

_SCHEMA = """
CREATE TABLE IF NOT EXISTS verdicts (
    key TEXT PRIMARY KEY, entailed INTEGER NOT NULL, margin REAL, truncated INTEGER NOT NULL,
    created REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS levels (key TEXT PRIMARY KEY, support REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS undecided (key TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS judges (
    identity TEXT PRIMARY KEY, pairs INTEGER NOT NULL, seconds REAL NOT NULL
) WITHOUT ROWID
"""


class VerdictStore:
    """SQLite file (WAL) with verdicts; failures are not kept. Several processes may share it."""

    def __init__(self, path: Path) -> None:
        """Open or create a store.

        Raises:
            InputError: damaged, another database, newer, locked, read-only; the file is untouched.
        """
        self.path = path
        self._db = open_store(path, APPLICATION_ID, VERSION, _SCHEMA, readonly=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def get(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """Stored verdicts of the keys that have one."""
        found: dict[str, Verdict] = {}
        with store_errors(self.path):
            for start in range(0, len(keys), _MANY):
                part = keys[start : start + _MANY]
                marks = ",".join("?" * len(part))
                rows = self._db.execute(
                    "SELECT key, entailed, margin, truncated, support, "
                    "key IN (SELECT key FROM undecided) FROM verdicts "
                    f"LEFT JOIN levels USING (key) WHERE key IN ({marks})",
                    part,
                )
                for key, entailed, margin, truncated, support, undecided in rows:
                    found[key] = Verdict(
                        bool(entailed), margin, bool(truncated), support, bool(undecided)
                    )
        return found

    def put(self, verdicts: Iterable[tuple[str, Verdict]]) -> None:
        """Store verdicts in one transaction; those that are there stand."""
        now = time.time()
        verdicts = list(verdicts)
        open_ones = [(k,) for k, v in verdicts if v.undecided]
        rows = [(k, int(v.entailed), v.margin, int(v.truncated), now) for k, v in verdicts]
        levels = [(k, v.support) for k, v in verdicts if v.support is not None]
        with store_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR IGNORE INTO verdicts VALUES (?, ?, ?, ?, ?)", rows)
                self._db.executemany("INSERT OR IGNORE INTO levels VALUES (?, ?)", levels)
                self._db.executemany("INSERT OR IGNORE INTO undecided VALUES (?)", open_ones)
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def note_speed(self, identity: dict[str, Any], pairs: int, seconds: float) -> None:
        """Remember how long a judge took, for estimates."""
        with store_errors(self.path):
            self._db.execute(
                "INSERT INTO judges VALUES (?, ?, ?) ON CONFLICT (identity) DO UPDATE SET "
                "pairs = pairs + excluded.pairs, seconds = seconds + excluded.seconds",
                (canonical_json(identity), pairs, seconds),
            )

    def seconds_per_pair(self, identity: dict[str, Any]) -> float | None:
        """What a pair took this judge in earlier runs; None before the first."""
        with store_errors(self.path):
            row = self._db.execute(
                "SELECT pairs, seconds FROM judges WHERE identity = ?", (canonical_json(identity),)
            ).fetchone()
        return None if row is None or not row[0] else row[1] / row[0]
