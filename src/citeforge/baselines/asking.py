"""Systems of one prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citeforge.baselines.options import EditedOptions, LlmOptions
from citeforge.baselines.system import MakeSteps, Reply, Setting, Steps, Task
from citeforge.builders.prompts import PromptDoc


def rage(setting: Setting[EditedOptions]) -> MakeSteps:
    """The prompt of RAGE's setting (section 4): every passage of the context, in its order."""
    return _one_prompt(setting, "rage")


def authorship(setting: Setting[LlmOptions]) -> MakeSteps:
    """The prompt of the authorship experiment: passages with the labels of the cell."""
    return _one_prompt(setting, "authorship")


def _one_prompt(setting: Setting[Any], template: str) -> MakeSteps:
    """What ``citeforge prompts`` writes, asked."""

    def steps(task: Task) -> Steps:
        def prompt(docs: Sequence[PromptDoc]) -> str:
            return setting.render(
                template,
                query=task.item.query,
                docs=docs,
                base=setting.base,
                note=setting.labelling.note,
            )

        text = setting.fitted(task, setting.docs(task.item), prompt)
        (answer,) = yield [setting.request(text, task)]
        return Reply.of(answer)

    return steps
