"""Reading and checks of gate policies; errors name the line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import ValidationError

from citeforge.engines.pipes import readable_path
from citeforge.engines.textfiles import line_of_path, read_yaml, record_error
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.registry import families, find_measure, parse
from citeforge.schemas.errors import InputError, UsageError, suggestion
from citeforge.schemas.recipes.gate import GatePolicy, Margin


@dataclass(frozen=True)
class PolicySource:
    """A policy with the places of its fields.

    Attributes:
        policy: the policy.
        path: its file; None for a policy made in Python, or the default one.
        root: YAML node of the file.
    """

    policy: GatePolicy
    path: Path | None = None
    root: yaml.Node | None = None

    def error(
        self, json_path: Sequence[str | int], message: str, allowed: str, code: str
    ) -> InputError:
        """Make an error about a field of the policy, with the field's line in the file."""
        line = None if self.root is None else line_of_path(self.root, json_path)
        field = ".".join(map(str, json_path))
        return InputError(
            message, path=self.path or "policy", line=line, field=field, allowed=allowed, code=code
        )


def read_policy(path: Path) -> PolicySource:
    """Read a gate's policy (margins and bounds by measure) from a YAML file.

    Raises:
        InputError: it cannot be read, or a field is unknown or wrong; names the line, the field and
            what would be right.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(
            "is not a policy", path=path, line=1, code="wrong-type",
            allowed="fields with values, such as `critical: {CiteF1: {margin: 2}}`",
        )  # fmt: skip
    root = yaml.compose(readable_path(path).read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    try:
        policy = GatePolicy.model_validate(content)
    except ValidationError as error:
        raise record_error(GatePolicy, error, path, root, "a policy") from error
    return checked_policy(PolicySource(policy, path, root))


def checked_policy(policy_source: PolicySource) -> PolicySource:
    """Check the measures and margins of a policy; return the policy unchanged.

    Raises:
        InputError: a measure is unknown, in two tiers, or cannot decide; or a margin allows any
            drop.
    """
    seen: dict[str, str] = {}
    for tier, margins in policy_source.policy.tiers.items():
        for name, margin in margins.items():
            _check_measure(policy_source, (tier, name), name)
            if name in seen:
                raise policy_source.error(
                    (tier, name), f"{name} is in {seen[name]}, too", "one tier for each measure",
                    "duplicate-key",
                )  # fmt: skip
            seen[name] = tier
            measure = find_measure(name.partition("[")[0])
            if measure is None or tier == "advisory":
                continue
            if measure.higher_is_better is None:
                raise policy_source.error(
                    (tier, name), "neither more nor less of it is better", "advisory", "wrong-value"
                )
            if _allows_any_drop(policy_source.policy, margin, measure):
                json_path = (tier, name, "margin") if margin.margin is not None else ("margin",)
                raise policy_source.error(
                    json_path, f"allows any drop of {name}",
                    f"points as displayed, less than {_largest_drop(measure):g}", "out-of-range",
                )  # fmt: skip
    for n, required in enumerate(policy_source.policy.required):
        _check_measure(policy_source, ("required", n, "measure"), required.measure)
    return policy_source


def _largest_drop(measure: Measure) -> float:
    """Compute the largest possible drop of a measure, in points as displayed."""
    return measure.scale * (math.inf if measure.high is None else measure.high - measure.low)


def _allows_any_drop(policy: GatePolicy, margin: Margin, measure: Measure) -> bool:
    """Whether the policy allows any drop of a measure, however large."""
    points = policy.margin if margin.margin is None else margin.margin
    share = policy.relative if margin.relative is None else margin.relative
    return points >= _largest_drop(measure) and (margin.margin is not None or share >= 1)


def _check_measure(policy_source: PolicySource, json_path: Sequence[str | int], name: str) -> None:
    """Raise an error if a name in a policy is no measure.

    Args:
        policy_source: the policy and its file.
        json_path: keys and indices that lead to the name in the file.
        name: the name.
    """
    try:
        parse(name.partition("[")[0])
    except UsageError as error:
        is_family = name in families()
        hint = suggestion(name, getattr(error, "known", ()))
        message = f"{name} is a family of measures" if is_family else f"unknown measure{hint}"
        raise policy_source.error(
            json_path, message, "the name of a measure: citeforge list measures", "unknown-name"
        ) from error
