"""Options of scoring that no selected measure reads."""

from collections.abc import Sequence

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.command_options import ScoreOptions

_READ_BY_SOME = (
    "embedder", "bertscore_model", "mauve_model", "qa_model", "tokenizer", "at_most_citations",
    "wordings",
)  # fmt: skip
"""Options that some measures read, which then have them in their signatures."""


def require_effects(measures: Sequence[Measure], tools: ScoringTools) -> None:
    """Raise an error if an option was passed that affects none of the selected measures.

    Args:
        measures: what is computed.
        tools: has the options, and the LLM that they name.

    Raises:
        UsageError: names the option.
        InputError: a file that an option names is at fault.
    """
    for name in _READ_BY_SOME:
        default = ScoreOptions.model_fields[name].default
        if getattr(tools.options, name) == default:
            continue
        without = tools.with_options(**{name: default})
        if not any(_is_read(measure, tools, without) for measure in measures):
            raise UsageError(
                f"--{name.replace('_', '-')}: no measure asked for reads it under --protocol "
                f"{tools.options.protocol}; leave it out, or name one in --measures",
                code="option-without-effect",
            )


def _is_read(measure: Measure, tools: ScoringTools, default_tools: ScoringTools) -> bool:
    """Whether an option affects a measure: its signature depends on it, or cannot be made yet."""
    if measure.options is None:
        return False
    if tools.llm is None and Need.LLM in measure.group.needs:
        return True
    protocol = tools.options.protocol
    try:
        return measure.options(tools, protocol) != measure.options(default_tools, protocol)
    except CannotError:
        return True
