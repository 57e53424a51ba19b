"""Judge profiles: found by name or by model, or read from a file."""

import re
from functools import cache
from pathlib import Path

from citeforge.engines.files import digest
from citeforge.engines.text.quoting import Quotes
from citeforge.engines.text.special_tokens import break_special_tokens
from citeforge.engines.textfiles import read_yaml, validated
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.judge_profile import JudgeProfile

_DATA = Path(__file__).parent / "data"
_PLACEHOLDER = re.compile(r"\{(premise|hypothesis|eos|note)\}")
PLAIN = "mnli"
"""Profile of classifiers that name an entailment label in their configuration."""


@cache
def built_in_profiles() -> dict[str, JudgeProfile]:
    """Read citeforge's built-in judge profiles, by name."""
    profiles = (read_profile(path) for path in sorted(_DATA.glob("*.yaml")))
    return {profile.name: profile for profile in profiles}


def read_profile(path: Path) -> JudgeProfile:
    """Read a judge profile from a YAML file.

    Raises:
        InputError: not YAML, an unknown or missing field, or verdicts that overlap.
    """
    return validated(
        JudgeProfile,
        read_yaml(path),
        path,
        allowed="a judge profile: name, architecture, prompt or messages, supported, unsupported, "
        "threshold, max_tokens, chunks",
    )


def named_profile(name: str) -> JudgeProfile:
    """Find a built-in judge profile by name, or read one from a ``.yaml`` file.

    Raises:
        InputError: as :func:`read_profile`.
        UnknownValueError: there is none of that name.
    """
    if name.endswith((".yaml", ".yml")):
        return read_profile(Path(name))
    if name not in built_in_profiles():
        raise UnknownValueError("judge profile", name, [*built_in_profiles(), "FILE.yaml"])
    return built_in_profiles()[name]


def profile_of_model(model: str) -> JudgeProfile | None:
    """Find the built-in judge profile for a Hub model; None if there is none."""
    profiles = (p for p in built_in_profiles().values() if model in p.models)
    return next(profiles, None)


def is_built_in(profile: JudgeProfile) -> bool:
    """Whether a judge profile equals a built-in one."""
    return built_in_profiles().get(profile.name) == profile


def profile_version(profile: JudgeProfile) -> str:
    """Get ``NAME@HASH`` of a judge profile; the hash covers all fields that verdicts depend on."""
    content = profile.model_dump(
        mode="json", exclude={"name", "models", "comparable_with", "family", "source"}
    )
    return f"{profile.name}@{digest(content)[:8]}"


@cache
def question_version(name: str) -> str:
    """Get ``NAME@HASH`` of the built-in judge profile for a question other than entailment."""
    return profile_version(built_in_profiles()[name])


def fill_prompt(text: str, premise: str, hypothesis: str, eos: str = "", note: str = "") -> str:
    """Replace ``{premise}``, ``{hypothesis}``, ``{eos}``, ``{note}`` in a prompt, in one pass."""
    texts = {"premise": premise, "hypothesis": hypothesis, "eos": eos, "note": note}
    return _PLACEHOLDER.sub(lambda found: texts[found[1]], text)


def fill_messages(
    profile: JudgeProfile, premise: str, hypothesis: str, model: str = ""
) -> tuple[tuple[str, str], ...]:
    """Write the chat messages, as (role, text), that ask an LLM about a pair.

    Args:
        profile: profile of a chat model.
        premise: text that supports, or does not.
        hypothesis: text that is to be supported.
        model: name of the model that reads them.
    """
    note = ""
    if profile.quotes:
        quotes = Quotes(premise, hypothesis, model=model)
        premise, hypothesis, note = quotes.quote(premise), quotes.quote(hypothesis), quotes.note
    else:
        premise, hypothesis = break_special_tokens(premise), break_special_tokens(hypothesis)
    return tuple(
        (m.role, fill_prompt(m.text, premise, hypothesis, note=note)) for m in profile.messages
    )
