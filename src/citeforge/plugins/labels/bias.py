"""A battery for judges: changes of the texts that must not change a verdict.

Each labelled pair is judged as it is, with a placebo, and with each change. Verdicts of the same
pairs are compared, so that how hard the pairs are does not matter. A judge that is not steady
changes verdicts on the placebo, too: a change counts by what it does beyond that.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from citeforge.engines.judge.records import Decision, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.shown import show_interval, show_percent
from citeforge.evaluator.statistics.estimates import estimate_value, mean_sample
from citeforge.evaluator.statistics.intervals import ALPHA, Interval, Range
from citeforge.evaluator.statistics.significance import holm
from citeforge.plugins.labels.meta_eval import LabelledPair
from citeforge.schemas.errors import InputError

LEAST_PAIRS = 10
"""Pairs from which a change can be judged."""
TRUSTED, UNTRUSTED = "Encyclopaedia", "anonymous comment"
_FILLER = "It is worth noting that, all things considered, the following holds: "


@dataclass(frozen=True)
class ChangeInput:
    """Texts from which a changed pair is made.

    Attributes:
        pair: the labelled pair.
        unrelated: premise of another answer.
        family: family of the judge's model; empty if it is not known.
        other_family: another one.
    """

    pair: Pair
    unrelated: str
    family: str
    other_family: str

    def with_source(self, name: str) -> Pair:
        """Make the pair to judge in which the premise starts with the name of its source."""
        return Pair(f"Source: {name}\n{self.pair.premise}", self.pair.hypothesis)


Make = Callable[[ChangeInput], Pair]


@dataclass(frozen=True)
class Change:
    """A change that leaves what is said, and whether it is supported, as it was.

    Attributes:
        name: what the judge would be biased by.
        what: what is compared, in words.
        first: makes the pair to compare with.
        second: makes the changed pair.
    """

    name: str
    what: str
    first: Make
    second: Make


def _keep_pair(texts: ChangeInput) -> Pair:
    """Return the labelled (premise, hypothesis) pair unchanged."""
    return texts.pair


PLACEBO = Change(
    "placebo",
    "a line end after the premise",
    _keep_pair,
    lambda texts: Pair(f"{texts.pair.premise}\n", texts.pair.hypothesis),
)
CHANGES = (
    Change(
        "length",
        "an unrelated passage after the premise",
        _keep_pair,
        lambda texts: Pair(f"{texts.pair.premise}\n\n{texts.unrelated}", texts.pair.hypothesis),
    ),
    Change(
        "order",
        "the unrelated passage first, not last",
        lambda texts: Pair(f"{texts.pair.premise}\n\n{texts.unrelated}", texts.pair.hypothesis),
        lambda texts: Pair(f"{texts.unrelated}\n\n{texts.pair.premise}", texts.pair.hypothesis),
    ),
    Change(
        "verbosity",
        "empty words before the statement",
        _keep_pair,
        lambda texts: Pair(texts.pair.premise, _FILLER + texts.pair.hypothesis),
    ),
    Change(
        "authority",
        f"the source called {TRUSTED}, not {UNTRUSTED}",
        lambda texts: texts.with_source(UNTRUSTED),
        lambda texts: texts.with_source(TRUSTED),
    ),
    Change(
        "own family",
        "the source called a text by the judge's family, not by another",
        lambda texts: texts.with_source(f"a text by {texts.other_family}"),
        lambda texts: texts.with_source(f"a text by {texts.family}"),
    ),
)
_FAMILIES = ("llama", "gpt")


@dataclass(frozen=True)
class Effect:
    """What a change does to a judge's verdicts on the same pairs.

    Attributes:
        change: the change.
        n: pairs with both verdicts.
        to_supported: pairs that became supported.
        to_not_supported: pairs that became not supported.
        shift: share of pairs that became supported, less those that became not supported.
        interval: of the shift, 95 %, over answers.
        excess: share of changed verdicts beyond that of the placebo.
        excess_interval: of the excess, 95 %, over answers.
        p_shift: of a t-test of the shift against 0, both sides; of a battery's effects, adjusted.
        p_excess: likewise of the excess against 0 or less.
    """

    change: Change
    n: int
    to_supported: int
    to_not_supported: int
    shift: float
    interval: Interval
    excess: float
    excess_interval: Interval
    p_shift: float
    p_excess: float

    @property
    def is_bias(self) -> bool:
        """Whether a change of texts shifts a judge's verdicts, or more than a placebo does."""
        return self.change is not PLACEBO and (self.p_shift < ALPHA or self.p_excess < ALPHA)


@dataclass(frozen=True)
class Battery:
    """Effects of all changes on a judge.

    Attributes:
        effects: the placebo's first.
        not_tried: name of a change to the reason why it was not tried.
        n_failed: changed pairs that the judge failed on; those as they are do not count.
    """

    effects: Sequence[Effect]
    not_tried: dict[str, str]
    n_failed: int

    def to_text_lines(self) -> list[str]:
        """Format the effects of all changes on a judge's verdicts as lines for the terminal."""
        lines = ["changes that must not change a verdict (the same pairs, 95 % intervals):"]
        for effect in self.effects:
            shift = _percent(effect.shift, effect.interval)
            beyond = _percent(effect.excess, effect.excess_interval)
            found = "  biased" if effect.is_bias else ""
            lines.append(f"  {effect.change.name}: {effect.change.what}")
            lines.append(
                f"    {effect.n:,} pairs, {effect.to_supported:,} became supported, "
                f"{effect.to_not_supported:,} not supported"
            )
            beyond_text = "" if effect.change is PLACEBO else f"; changed beyond placebo {beyond}"
            lines.append(f"    shift {shift}{beyond_text}{found}")
        lines += [f"  {name}: not tried: {why}" for name, why in self.not_tried.items()]
        return lines


def _percent(share: float, interval: Interval) -> str:
    """Format a share and its interval in percent."""
    return f"{show_percent(share, 1)} {show_interval(100 * interval[0], 100 * interval[1], 1)}"


def list_battery_pairs(
    labelled: Sequence[LabelledPair], model_family: str
) -> dict[str, list[tuple[Pair, Pair]]]:
    """Map each bias test to pairs to judge: (baseline, changed) of each labelled pair.

    Args:
        labelled: labelled pairs, sorted; the unrelated passage is that of the next other answer.
        model_family: family of the judge's model; empty if it is not known.

    Raises:
        InputError: there are fewer than ten pairs, or all are of one answer.
    """
    if len(labelled) < LEAST_PAIRS:
        raise InputError(
            f"there are {len(labelled)} labelled pairs", allowed=f"at least {LEAST_PAIRS}",
            code="too-few",
        )  # fmt: skip
    other_family = next(name for name in _FAMILIES if name != model_family.casefold())
    asked = [
        ChangeInput(row.pair, _find_unrelated(labelled, position), model_family, other_family)
        for position, row in enumerate(labelled)
    ]
    changes = [c for c in (PLACEBO, *CHANGES) if model_family or c.name != "own family"]
    return {c.name: [(c.first(one), c.second(one)) for one in asked] for c in changes}


def list_all_pairs(labelled: Sequence[LabelledPair], model_family: str) -> list[Pair]:
    """List all pairs that tests of a judge (of a model family) for biases ask about.

    Raises:
        InputError: as :func:`list_battery_pairs`.
    """
    pairs = list_battery_pairs(labelled, model_family)
    return [pair for both in pairs.values() for one in both for pair in one]


def _find_unrelated(labelled: Sequence[LabelledPair], position: int) -> str:
    """Find the premise of the next pair of another answer, after the pair at a position.

    Raises:
        InputError: all labels are of one answer.
    """
    row = labelled[position]
    for step in range(1, len(labelled)):
        other = labelled[(position + step) % len(labelled)]
        if other.answer != row.answer and other.pair.premise != row.pair.premise:
            return other.pair.premise
    raise InputError(
        "all labels are of one answer", allowed="labels of several answers", code="too-few"
    )


def try_biases(
    labelled: Sequence[LabelledPair], judge: JudgeSession, model_family: str = ""
) -> Battery:
    """Test a judge (of a model family) for biases: how changes of texts shift its verdicts.

    Args:
        labelled: pairs that people labelled.
        judge: the judge.
        model_family: family of its model; empty if it is not known, which leaves one change out.

    Raises:
        InputError: as :func:`list_battery_pairs`.
    """
    pairs, everything = (
        list_battery_pairs(labelled, model_family),
        list_all_pairs(labelled, model_family),
    )
    decisions = judge.ask(everything)
    answers = [f"{row.system}\t{row.answer}" for row in labelled]
    changed = {
        name: np.array([_difference(decisions[a], decisions[b]) for a, b in both], np.float64)
        for name, both in pairs.items()
    }
    placebo = np.abs(changed[PLACEBO.name])
    effects = [
        _measure(change, changed[change.name], placebo, answers)
        for change in (PLACEBO, *CHANGES)
        if change.name in changed
    ]
    tested = [effect for effect in effects if effect.change is not PLACEBO]
    adjusted = iter(holm([p for effect in tested for p in (effect.p_shift, effect.p_excess)]))
    tested = [replace(e, p_shift=next(adjusted), p_excess=next(adjusted)) for e in tested]
    not_tried = (
        {} if model_family else {"own family": "the judge's family is not known (--judge-family)"}
    )
    changed_alone = set(everything) - {row.pair for row in labelled}
    n_failed = sum(not isinstance(decisions[pair], Verdict) for pair in changed_alone)
    return Battery([effects[0], *tested], not_tried, n_failed)


def _difference(first: Decision, second: Decision) -> float:
    """Compare two verdicts: 1 became supported, -1 not supported, 0 the same; NaN if one failed."""
    if not (isinstance(first, Verdict) and isinstance(second, Verdict)):
        return math.nan
    return float(second.entailed) - float(first.entailed)


def _measure(
    change: Change, changed: np.ndarray, placebo: np.ndarray, answer_ids: Sequence[str]
) -> Effect:
    """Measure how a change of texts shifts a judge's verdicts, also beyond a placebo's shifts."""
    moved = changed[~np.isnan(changed)]
    shift, interval, p_above = _mean_over_answers(changed, answer_ids)
    excess, excess_interval, p_excess = _mean_over_answers(np.abs(changed) - placebo, answer_ids)
    return Effect(
        change, len(moved), int((moved > 0).sum()), int((moved < 0).sum()), shift, interval,
        excess, excess_interval, 2 * min(p_above, 1 - p_above), p_excess,
    )  # fmt: skip


def _mean_over_answers(
    values: np.ndarray, answer_ids: Sequence[str]
) -> tuple[float, Interval, float]:
    """Compute (mean, its interval, p of a t-test against 0 or less), clustered by answer.

    Args:
        values: differences between −1 and 1; NaN ones are left out.
        answer_ids: answer of each value.
    """
    from scipy import stats

    known = ~np.isnan(values)
    names, clusters = np.unique(np.array(answer_ids)[known], return_inverse=True)
    if not len(names):
        return math.nan, (math.nan, math.nan), math.nan
    sample = replace(mean_sample(values[known][None]), within=Range(-1, 1))
    found = estimate_value(sample, clusters)
    mean, stderr = found.value, found.stderr
    if stderr == 0 and mean:  # a t-test would be certain: the level at which the interval ends at 0
        above = (1 + abs(mean)) ** -len(names)
        p_above = above if mean > 0 else 1 - above
    else:
        p_above = float(stats.t.sf(mean / stderr if mean else 0.0, len(names) - 1))
    return mean, (found.low, found.high), p_above
