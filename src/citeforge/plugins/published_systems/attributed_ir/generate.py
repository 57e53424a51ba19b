"""``g``: an answer from what the model knows, without citations (Attributed-IR, section 2.3)."""

from __future__ import annotations

from dataclasses import replace

from citeforge.plugins.published_systems.attributed_ir.answers import closed
from citeforge.plugins.published_systems.attributed_ir.options import GenerateOptions
from citeforge.systems.llm.system import MakeSteps, Reply, Setting, Steps, Task


def generate(setting: Setting[GenerateOptions]) -> MakeSteps:
    """Closed book: no passages are shown, and none are brought."""

    def steps(task: Task) -> Steps:
        (answer,) = yield [closed(setting, task)]
        return replace(Reply.of(answer), passages=())

    return steps
