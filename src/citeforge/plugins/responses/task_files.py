"""Files of an exported task: ``task.json`` with its settings, its prompts and its benchmark."""

from pathlib import Path

from citeforge.engines.files import read_json
from citeforge.engines.textfiles import validated
from citeforge.schemas.recipes.command_options import Protocol
from citeforge.schemas.record import FrozenRecord

TASK, PROMPTS, PACKAGE = "task.json", "data/prompts.jsonl", "package"


class TaskFile(FrozenRecord):
    """``task.json`` of an exported task.

    Attributes:
        name: name of the task: letters, digits, ``_`` and ``-``.
        benchmark: name of the benchmark.
        benchmark_hash: hash that its answers name.
        contexts: context sets that are asked.
        measures: measures or families; none for those that fit the benchmark.
        protocol: ``strict`` or ``reference``.
        judge: decides entailment; None without.
    """

    name: str
    benchmark: str
    benchmark_hash: str
    contexts: list[str]
    measures: list[str] = []
    protocol: Protocol = "strict"
    judge: str | None = None


def read_task(folder: Path) -> TaskFile:
    """Read the settings (``task.json``) of a task exported for inspect_ai or lighteval.

    Raises:
        InputError: it is missing or damaged.
    """
    path = folder / TASK
    return validated(TaskFile, read_json(path), path)
