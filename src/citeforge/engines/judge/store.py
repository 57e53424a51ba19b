"""Verdicts on disk: no pair is judged twice by the same judge."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from citeforge.engines.io.files import canonical_json
from citeforge.engines.io.sqlite import Store
from citeforge.engines.judge.records import Verdict


class VerdictStore(Store):
    """Verdicts by the hash of judge and pair, and how fast judges were; failures are not kept."""

    APPLICATION = 0x43464A56  # "CFJV"
    SCHEMA = """
    CREATE TABLE verdicts (key TEXT PRIMARY KEY, verdict TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE judges (
        identity TEXT PRIMARY KEY, pairs INTEGER NOT NULL, seconds REAL NOT NULL
    ) WITHOUT ROWID
    """

    def get(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """Stored verdicts of the keys that have one."""
        rows = self.rows(
            "SELECT key, verdict FROM verdicts WHERE key IN (SELECT value FROM json_each(?))",
            canonical_json(keys),
        )
        return {key: msgspec.json.decode(verdict, type=Verdict) for key, verdict in rows}

    def put(self, verdicts: Iterable[tuple[str, Verdict]]) -> None:
        """Store verdicts in one transaction; those that are there stand."""
        rows = [(key, msgspec.json.encode(verdict).decode()) for key, verdict in verdicts]
        with self.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO verdicts VALUES (?, ?)", rows)

    def note_speed(self, identity: dict[str, Any], pairs: int, seconds: float) -> None:
        """Remember how long a judge took, for estimates."""
        self.rows(
            "INSERT INTO judges VALUES (?, ?, ?) ON CONFLICT (identity) DO UPDATE SET "
            "pairs = pairs + excluded.pairs, seconds = seconds + excluded.seconds",
            canonical_json(identity), pairs, seconds,
        )  # fmt: skip

    def seconds_per_pair(self, identity: dict[str, Any]) -> float | None:
        """What a pair took this judge in earlier runs; None before the first."""
        rows = self.rows(
            "SELECT seconds / pairs FROM judges WHERE identity = ? AND pairs",
            canonical_json(identity),
        )
        return rows[0][0] if rows else None
