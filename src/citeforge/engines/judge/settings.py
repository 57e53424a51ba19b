"""Settings of judges, and judges that are LLMs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from citeforge.engines.judge.profiles import named_profile
from citeforge.engines.judge.records import Judge
from citeforge.engines.llm.addresses import base_url
from citeforge.engines.llm.replay import ReplayStore
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Judging, RunOptions

VLLM_URL = "http://localhost:8000/v1"
"""Default address of `vllm serve`."""
_FOR_LOCAL_MODELS = ("revision", "threshold", "max_tokens")
"""Options of local models only."""


def in_this_process(make: Callable[[], Judge], run: RunOptions) -> Judge:
    """Make a local judge by calling ``make`` in this process; the run options are ignored."""
    return make()


@dataclass(frozen=True)
class JudgeSettings:
    """Settings of a judge, besides its argument.

    Attributes:
        judging: how a model is asked.
        run: how a local model is run, or an endpoint reached.
        replay: store of an LLM's replies.
        factory: makes a local judge where it is to compute; see ``Runner.judge``.
    """

    judging: Judging = field(default_factory=Judging)
    run: RunOptions = field(default_factory=RunOptions)
    replay: ReplayStore | None = None
    factory: Callable[[Callable[[], Judge], RunOptions], Judge] = in_this_process


def require_no_model(judging: Judging, name: str) -> None:
    """Raise an error if judge options of models are set for a judge ``name`` without a model.

    Raises:
        UsageError: one of them is set.
    """
    _require_unset(judging, ("judge_profile", *_FOR_LOCAL_MODELS), f"{name} is not a model")


def _require_unset(judging: Judging, names: Sequence[str], reason: str) -> None:
    """Raise an error if one of the named judge options is set, for the ``reason`` given.

    Raises:
        UsageError: one of them is set.
    """
    for name in (name for name in names if getattr(judging, name) is not None):
        option = f"--{name.replace('_', '-')}"
        raise UsageError(f"{option} has no effect: {reason}", code="option-without-effect")


def llm_judge(model: str, settings: JudgeSettings) -> Judge:
    """Make the judge ``openai:MODEL``: an LLM behind an OpenAI-compatible endpoint."""
    from citeforge.engines.judge.llm import LlmJudge
    from citeforge.engines.llm.writers import OpenAiLlm

    _require_unset(settings.judging, _FOR_LOCAL_MODELS, f"{model} runs behind an endpoint")
    name = settings.judging.judge_profile
    profile = None if name is None else named_profile(name)
    return LlmJudge(OpenAiLlm(model, settings.replay, settings.run, "judge"), profile)


def vllm_judge(model: str, settings: JudgeSettings) -> Judge:
    """Make the judge ``vllm:MODEL``: ``openai:MODEL`` on this machine unless a URL is set."""
    run = settings.run
    if not base_url(run):
        run = run.model_copy(update={"base_url": VLLM_URL})
    return llm_judge(model, replace(settings, run=run))
