"""Systems of one prompt, which ``citeforge export prompts`` writes, too."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from citeforge.builders.packaging.prompts import PromptDoc
from citeforge.schemas.errors import InputError, UsageError
from citeforge.systems.llm.system import MakeSteps, Reply, Setting, Steps, Task
from citeforge.systems.llm.writing import read_prompts
from citeforge.systems.options import CellOptions, RageOptions


def rage(setting: Setting[RageOptions]) -> MakeSteps:
    """The prompt of RAGE's setting (section 4): every passage of the context, in its order."""
    return _one_prompt(setting, "rage")


def authorship(setting: Setting[CellOptions]) -> MakeSteps:
    """The prompt of the authorship experiment: passages with the labels of the cell."""
    return _one_prompt(setting, "authorship")


def _one_prompt(setting: Setting[Any], template: str) -> MakeSteps:
    prompts = _written(setting) if setting.options.prompts is not None else None

    def steps(task: Task) -> Steps:
        def prompt(docs: Sequence[PromptDoc]) -> str:
            return setting.render(
                template,
                query=task.item.query,
                docs=docs,
                base=setting.base,
                note=setting.labelling.note,
            )

        if prompts is None:
            text = setting.fitted(task, setting.docs(task.item), prompt)
        else:
            text = setting.fitted(task, (), lambda _: prompts[task.item.query_id])
        (answer,) = yield [setting.request(text, task)]
        return Reply.of(answer)

    return steps


def _written(setting: Setting[Any]) -> dict[str, str]:
    """Prompts of ``--prompts`` by query.

    Raises:
        UsageError: ``--template`` beside it.
        InputError: they are of another benchmark, or lack a query.
    """
    path, manifest = setting.options.prompts, setting.benchmark.manifest
    if setting.options.template is not None:
        raise UsageError("--prompts and --template exclude each other: the prompts are written")
    rows = read_prompts(path)
    theirs = rows[0].benchmark_hash
    if theirs != manifest.benchmark_hash:
        text = "no hash of a benchmark" if theirs is None else f"the hash {theirs[:16]}…"
        raise InputError(
            f"its prompts have {text}, and {manifest.name} has {manifest.benchmark_hash[:16]}…",
            path=path,
            field="benchmark_hash",
            allowed="prompts that `citeforge export prompts` wrote for this benchmark",
        )
    only = len(setting.benchmark.contexts) == 1
    prompts = {
        row.query_id: row.prompt
        for row in rows
        if row.context == setting.context or (row.context is None and only)
    }
    lacking = [q for q in setting.benchmark.query_ids if q not in prompts]
    if lacking:
        raise InputError(
            f"lacks {len(lacking):,} of {len(setting.benchmark):,} queries in context "
            f"{setting.context!r} (first: {lacking[0]!r})",
            path=path,
            allowed="a prompt a query",
        )
    setting.prompts.hashes["--prompts"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return prompts
