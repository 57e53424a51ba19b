"""A child process that runs commands as the shell would, one after another, in one interpreter.

Reads ``{"args": [...], "cwd": ...}`` lines, answers each with ``{"exit", "stdout", "stderr",
"trace", "where"}``. What no command may do (let an exception out) is told as ``trace``.
"""

import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stand_ins import RuleEmbedder

DIMENSION = 16
_KEPT = 10_000


def count_letters(text: str) -> list[int]:
    """Letters of each of so many kinds: the fuzzer is about files, not about models."""
    kinds = [ord(letter) % DIMENSION for letter in text]
    return [1 + kinds.count(kind) for kind in range(DIMENSION)]


def prepare() -> None:
    """Put the small embedder where builds make theirs."""
    from citeforge.builders.rage import sources as rage_sources
    from citeforge.engines.models import embed

    for module in (rage_sources, embed):
        vars(module)["make_embedder"] = lambda *_, **__: RuleEmbedder(
            count_letters, dimension=DIMENSION
        )


def call(args: Sequence[str]) -> dict[str, Any]:
    """Run one command.

    Returns:
        exit: exit code, None when an exception came out; stdout, stderr: text; trace: the
        traceback of that exception; where: its type and the last place in citeforge.
    """
    from citeforge.cli.main import main

    prepare()
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace")
    kept = sys.stdout, sys.stderr
    result: dict[str, Any] = {"exit": None, "trace": "", "where": ""}
    sys.stdout, sys.stderr = out, err
    try:
        main(list(args))
        result["exit"] = 0
    except SystemExit as stop:
        result["exit"] = stop.code if isinstance(stop.code, int) else 0
    except BaseException as error:
        result["trace"] = traceback.format_exc()[-6000:]
        result["where"] = _where(error)
    finally:
        sys.stdout, sys.stderr = kept
    for name, stream in (("stdout", out), ("stderr", err)):
        if not stream.closed:
            stream.flush()
            data = stream.buffer.getvalue()  # type: ignore[attr-defined]
            text = data.decode("utf-8", "replace")
            result[name] = text if len(text) < 2 * _KEPT else text[:_KEPT] + text[-_KEPT:]
        else:
            result[name] = ""
    return result


def _where(error: BaseException) -> str:
    """The type of an exception and the innermost place in citeforge that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "citeforge" in Path(f.filename).parts] or list(frames)
    last = ours[-1]
    parts = Path(last.filename).parts
    start = len(parts) - parts[::-1].index("citeforge") if "citeforge" in parts else len(parts) - 1
    return f"{type(error).__name__} in {'/'.join(parts[start:])}:{last.name}"


def main() -> None:
    """Answer requests until there are none."""
    # What libraries print goes nowhere; answers have a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["cwd"])
        answers.write(json.dumps(call(request["args"])) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
