"""Policy of ``citeforge gate``: which measures decide, and how much worse a system may become."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from citeforge.schemas.recipes.base import Part
from citeforge.schemas.scores import Counts

POLICY_VERSION = 1
FEWEST_QUERIES = 20
"""Queries below which a mean is called "too few" and decides nothing."""
Tier = Literal["critical", "supporting", "advisory"]
_PERCENT = {"type": "string", "pattern": r"^\d+(\.\d+)?%$"}


def _read_percent(value: Any) -> Any:
    """Read a percentage such as ``5%`` as a share; other values stay as they are."""
    if not isinstance(value, str) or not value.strip().endswith("%"):
        return value
    try:
        return float(value.strip().removesuffix("%")) / 100
    except ValueError as error:
        raise ValueError("expected a percentage such as 5%") from error


def _read_share(value: Any) -> Any:
    """Read a share from 0 to 1, or a percentage; raise an error for anything else."""
    value = _read_percent(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("expected a percentage from 0% to 100%, such as 20%")
    return float(value)


def _read_bound(value: Any) -> Any:
    """Read a bound: a number of answers (int), or a share of all answers (float)."""
    read = _read_percent(value)
    is_count = isinstance(read, int) and not isinstance(read, bool) and read >= 0
    is_share = isinstance(read, float) and 0 <= read <= 1
    if value is not None and not is_count and not is_share:
        raise ValueError("expected a number of answers such as 3, or a percentage such as 5%")
    return read


Share = Annotated[float, BeforeValidator(_read_share), WithJsonSchema(_PERCENT)]
"""A share of 1, written as a percentage."""
Bound = Annotated[
    int | float | None,
    BeforeValidator(_read_bound),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, _PERCENT, {"type": "null"}]}),
]
"""Maximum answers of a kind: a number (int), or a share of all answers (float)."""
Points = Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Margin(Part):
    """Largest allowed loss of a measure."""

    margin: Points | None = None
    """Maximum drop, in points as displayed, such as 2 (default: the policy's)."""
    relative: Share | None = None
    """Maximum drop as a share of the baseline's value, such as 20%; the smaller of the two
    holds (default: the policy's)."""


class CountBounds(Part):
    """Bounds on what a score file counts; the baseline has to keep them, too."""

    missing: Bound = 0
    """Expected answers without a line: a number such as 3, or a share such as 1%."""
    judge_failed: int = Field(0, ge=0, strict=True)
    """Pairs on which the judge failed, such as 0."""
    truncated: Bound = Field("5%", validate_default=True)
    """Answers that were cut at the token limit: a number, or a share such as 5%; empty for any."""
    empty: Bound = None
    """Answers without text: a number, or a share such as 1%."""
    unparsed: Bound = None
    """Answers with a mark that could not be read: a number, or a share such as 1%."""
    uncited: Bound = None
    """Answers without a citation: a number, or a share such as 10%."""
    refused: Bound = None
    """Answers that say that they cannot answer: a number, or a share such as 20%."""
    out_of_range: Bound = None
    """Answers that cite a passage that was not shown: a number, or a share such as 1%."""
    undefined: Share = Field("10%", validate_default=True)
    """Queries that define a measure for the baseline and not for the new system, such as 10%."""

    def exceeded(self, counts: Counts) -> Iterator[tuple[str, int, int]]:
        """Yield (bound's name, count, largest allowed count) for each bound that a count exceeds.

        A bound that is a share is of answered and missing answers together.
        """
        answers = counts.n_answered + counts.n_missing
        for name in type(self).model_fields:
            bound = getattr(self, name)
            if name == "undefined" or bound is None:
                continue
            allowed = bound if isinstance(bound, int) else int(bound * answers)
            if (count := getattr(counts, f"n_{name}")) > allowed:
                yield name, count, allowed


class RequiredQuery(Part):
    """A query on which the new system must not fail."""

    query: str
    """Id of the query, such as q21."""
    measure: str
    """Name of the measure that is looked at, such as CiteR."""
    at_least: Number | None = None
    """Minimum value as displayed, such as 100 (default: the baseline's value)."""
    at_most: Number | None = None
    """Maximum value as displayed, for measures of which lower is better."""
    context: str | None = None
    """Context set (default: every one that is scored)."""

    @model_validator(mode="after")
    def _refuse_two_bounds(self) -> Self:
        """Raise an error if a required query has both ``at_least`` and ``at_most``."""
        if self.at_least is not None and self.at_most is not None:
            raise ValueError("give at_least or at_most, not both")
        return self


def _margins_by_name(value: Any) -> Any:
    """Convert a list of measure names to a dictionary of empty margins, which mean defaults."""
    if isinstance(value, list):
        if not all(isinstance(name, str) for name in value) or len(set(value)) < len(value):
            raise ValueError("expected names of measures, each once")
        return {name: {} for name in value}
    if isinstance(value, dict):
        return {name: {} if margin is None else margin for name, margin in value.items()}
    return value


def _allow_names(schema: dict[str, Any]) -> None:
    """Let a JSON schema accept a list of measure names too, as :func:`_margins_by_name` does."""
    del schema["type"]
    margin = {"anyOf": [schema.pop("additionalProperties"), {"type": "null"}]}
    names = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    schema["anyOf"] = [{"type": "object", "additionalProperties": margin}, names]


Margins = Annotated[
    dict[str, Margin], BeforeValidator(_margins_by_name), Field(json_schema_extra=_allow_names)
]


class GatePolicy(Part):
    """Policy of ``citeforge gate``: measures, margins and bounds."""

    gate: Literal[1] = 1
    """Version of the format: 1."""
    margin: Points = 3.0
    """Maximum drop, in points as displayed, such as 2."""
    relative: Share = Field("20%", validate_default=True)
    """Maximum drop as a share of the baseline's value, such as 20%; it holds where it is
    smaller than the margin, which is where the baseline is low."""
    critical: Margins = {}
    """Measures that must be shown not to fall by more than their margin, such as `CiteF1: {margin:
    2}` (default: the main measure of the score files)."""
    supporting: Margins = {}
    """Measures that must not be shown to fall, such as `[CiteP, CiteR]`."""
    advisory: Margins = {}
    """Measures that are printed and decide nothing, such as `[Length]`."""
    counts: CountBounds = CountBounds()
    """Bounds on missing answers, failures of the judge and others, such as `missing: 0`."""
    least_queries: int = Field(FEWEST_QUERIES, ge=2, strict=True)
    """Queries that a measure must be defined on to decide anything, such as 20."""
    required: tuple[RequiredQuery, ...] = ()
    """Queries on which the new system must not fail, such as `[{query: q21, measure: CiteR}]`."""

    @property
    def tiers(self) -> dict[Tier, dict[str, Margin]]:
        """Allowed losses of measures, by tier: ``critical``, ``supporting``, ``advisory``."""
        return {
            "critical": self.critical, "supporting": self.supporting, "advisory": self.advisory
        }  # fmt: skip

    def allowed_drop(self, margin: Margin, baseline: float) -> float:
        """Compute a measure's largest allowed drop in points: the lower of both limits.

        Args:
            margin: of the measure.
            baseline: the baseline's value as displayed.
        """
        points = self.margin if margin.margin is None else margin.margin
        share = self.relative if margin.relative is None else margin.relative
        return min(points, share * abs(baseline))


def _read_shares(value: Any) -> Any:
    """Read shares, or a text of several separated by commas, such as ``2%,50%``."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not parts:
        raise ValueError("expected percentages such as 2%,10%,50%")
    return tuple(_read_share(part) for part in parts)


class GatePlanOptions(Part):
    """Options of planning a gate's queries."""

    margin: Points | None = None
    """Points to plan for (default: the margins of the policy)."""
    power: Share = Field("80%", validate_default=True)
    """How often the gate is to pass if nothing was lost, such as 80%."""
    changed: Annotated[tuple[float, ...], BeforeValidator(_read_shares)] = Field(
        "2%,10%,50%", validate_default=True
    )
    """Shares of answers that a new version is assumed to change, separated by commas."""

    @model_validator(mode="after")
    def _require_reachable_power(self) -> Self:
        """Raise an error for power of 0 or 1, which no or any number of queries has."""
        if not 0 < self.power < 1:
            raise ValueError("power: expected a percentage above 0% and below 100%")
        return self
