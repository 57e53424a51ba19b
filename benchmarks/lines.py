"""JSON Lines: our rows with line numbers and checks, against `json.loads` and bare msgspec.

Processor seconds, alternating in one process.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from benchmarks.convert import make_corpus
from benchmarks.measure import machine

PASSAGES, ANSWERS, TIMES = 100_000, 300_000, 5


def ours(path: Path, row_type: Any) -> Iterator[tuple[int, Any]]:
    from citeforge.engines.jsonlines import read_rows

    return read_rows(path, row_type)


def bare(path: Path, row_type: Any) -> Iterator[Any]:
    with path.open("rb") as file:
        yield from map(msgspec.json.Decoder(row_type).decode, file)


def plain_json(path: Path, row_type: Any) -> Iterator[Any]:
    with path.open("rb") as file:
        yield from map(json.loads, file)


def seconds(read: Callable[..., Any], path: Path, row_type: Any) -> float:
    start = time.process_time()
    rows = sum(1 for _ in read(path, row_type))
    assert rows
    return time.process_time() - start


def main() -> None:
    from citeforge.ir_convert.beir import BeirPassage
    from citeforge.schemas.submission import SubmissionLine

    print(machine("msgspec"))
    with TemporaryDirectory() as folder:
        passages, answers = Path(folder, "corpus.jsonl"), Path(folder, "answers.jsonl")
        make_corpus(passages, PASSAGES)
        with answers.open("w") as file:
            for i in range(ANSWERS):
                text = f"The answer number {i} is this one [1][{i % 9}]. And so on [3]."
                file.write(json.dumps({"query_id": f"q{i}", "output": text}) + "\n")
        for name, path, row_type in (
            ("passages", passages, BeirPassage),
            ("answers", answers, SubmissionLine),
        ):
            found = [
                [seconds(read, path, row_type) for read in (ours, bare, plain_json)]
                for _ in range(TIMES)
            ]
            mine, msg, std = (min(column) for column in zip(*found, strict=True))
            print(
                f"{name}: ours {mine:.2f} s, {mine / msg:.2f} x bare msgspec, "
                f"{mine / std:.2f} x json.loads"
            )


if __name__ == "__main__":
    main()
