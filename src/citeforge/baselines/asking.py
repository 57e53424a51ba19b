"""Systems of one prompt."""

from __future__ import annotations

from collections.abc import Sequence

from citeforge.baselines.options import LlmOptions
from citeforge.baselines.system import MakeSteps, Reply, Setting, Steps, Task
from citeforge.builders.prompts import PromptDoc


class RageOptions(LlmOptions):
    """Of ``rage``."""


def rage(setting: Setting[RageOptions]) -> MakeSteps:
    """The prompt of RAGE's setting (section 4): every passage of the context, in its order."""

    def steps(task: Task) -> Steps:
        def prompt(docs: Sequence[PromptDoc]) -> str:
            return setting.render(
                "rage",
                query=task.item.query,
                docs=docs,
                base=setting.base,
                note=setting.labelling.note,
            )

        text = setting.fitted(task, setting.docs(task.item), prompt)
        (answer,) = yield [setting.request(text, task)]
        return Reply.of(answer)

    return steps
