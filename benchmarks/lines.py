"""JSON Lines: our blocks, decoded at once, against a plain loop of msgspec over lines.

Processor seconds, alternating in one process; both give (line number, row).
"""

from __future__ import annotations

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


def in_blocks(path: Path, row_type: Any) -> Iterator[tuple[int, Any]]:
    from citeforge.engines.jsonlines import read_blocks

    for block in read_blocks(path, row_type):
        yield from zip(block.lines, block.rows, strict=True)


def in_lines(path: Path, row_type: Any) -> Iterator[tuple[int, Any]]:
    from citeforge.engines.jsonlines import LONGEST_LINE, open_bytes

    decode = msgspec.json.Decoder(row_type).decode
    with open_bytes(path) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            yield number, decode(line)


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
                (seconds(in_blocks, path, row_type), seconds(in_lines, path, row_type))
                for _ in range(TIMES)
            ]
            blocks, lines = (min(column) for column in zip(*found, strict=True))
            print(f"{name}: blocks {blocks:.2f} s, lines {lines:.2f} s, ratio {lines / blocks:.2f}")


if __name__ == "__main__":
    main()
