"""Noise of published figures where the gold is hidden, so that they keep single labels.

A submission can be made so that one label moves a figure over the edge between two rounded values.
Noise blurs every edge. It is keyed by the secret of the benchmark and by what is scored: the same
answers get the same figures, whatever their file, header or order, and nobody without the secret
can subtract it.

The noise of a mean over n queries has the standard deviation R ÷ (4 √n), where R is the range of
its values. The labels of one query move the mean by R ÷ n at most, 4 ÷ √n standard deviations
(Gaussian differential privacy of that parameter, Dong, Roth and Su 2022). All labels together vary
it by R ÷ (2 √n) at most, so that a figure tells no more than ½ log2(1 + 4) bits.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import msgspec
import numpy as np
import numpy.typing as npt

from citeforge.engines.files import digest
from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.statistics.intervals import WIDEST, widest_interval
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.submission import Submission
from citeforge.package.secret import pseudonym, read_secret
from citeforge.schemas.manifest import SECRET
from citeforge.schemas.scores import Figures, MeasureScore
from citeforge.schemas.signature import without_parts

NOISE = 0.25
"""Standard deviation of the noise of a mean over n queries, in ranges of its values ÷ √n."""
MOST_BITS = math.log2(1 + 1 / (4 * NOISE**2)) / 2
"""Most that one figure, a mean, tells of labels that are independent between queries: 1.16."""
_DIGITS, _BITS = 13, 52


@dataclass(frozen=True)
class NoiseKey:
    """Key of the noise in all figures of one submission.

    Attributes:
        secret: of the benchmark.
        answers: hash of what is scored.
    """

    secret: bytes
    answers: str

    def draw(self, signature: str) -> float:
        """Draw the privacy noise of a published value from a standard normal, by its signature."""
        recipe = without_parts(signature, ("v",))
        digits = pseudonym(self.secret, "noise", recipe, self.answers)[:_DIGITS]
        return NormalDist().inv_cdf((int(digits, 16) + 0.5) / 2**_BITS)


def noise_key(submission: Submission, benchmark: Benchmark) -> NoiseKey | None:
    """Make the key of the privacy noise of a submission's scores; None without a secret file."""
    if not (benchmark.folder / SECRET).is_file():
        return None
    return NoiseKey(read_secret(benchmark.folder), hash_answers(submission))


def hash_answers(submission: Submission) -> str:
    """Hash the scored content of a submission, from which the noise of its scores is drawn.

    File name, format, header, order of lines, blanks behind answers, metadata and prompts do not
    enter; everything that may enter a value does, because two values with the same noise would tell
    their exact difference.
    """
    unread = {"meta": None, "prompt": None, "benchmark": None, "benchmark_hash": None}
    lines, *more = (
        sorted(digest({**msgspec.to_builtins(answer), **unread}) for _, answer in one.answers())
        for one in (submission, *submission.more)
    )
    return digest([repr(submission.grammar), *lines, *more])


def make_figures(
    entry: MeasureScore, measure: Measure, sample: Sample, key: NoiseKey | None,
    clusters: npt.NDArray[np.int64] | None = None,
) -> Figures | None:  # fmt: skip
    """Make the published value of a measure: with privacy noise, as it depends on hidden labels.

    The interval follows from the rounded value, so that it tells nothing more.

    Args:
        entry: the measure's entry in the score file.
        measure: its declaration.
        sample: its values.
        key: key of the noise; None if there is no secret.
        clusters: cluster of each query, if questions repeat.

    Returns:
        None if there is no secret, no value, or no bound on what one query may do to it.
    """
    low, high = measure.low * entry.scale, measure.range.high * entry.scale
    size = high - low
    if key is None or entry.value is None or not entry.n or not math.isfinite(size):
        return None
    noise = NOISE * size / math.sqrt(entry.n)
    noisy = entry.value + noise * key.draw(entry.signature)
    value = round_figure(min(max(noisy, low), high), entry)
    shares = np.full(entry.n, 1 / entry.n) if clusters is None else (
        np.bincount(clusters) / len(clusters)
    )  # fmt: skip
    # A harmonic mean of two means varies by up to √2 more than a mean of the same size.
    n_means = sample.sums.shape[-1] // 2
    ends = widest_interval((value - low) / size, n_means * float(shares @ shares), noise / size)
    lower, upper = (low + size * end for end in ends)
    return Figures(
        value=value, low=math.floor(lower), high=math.ceil(upper), interval=WIDEST, noise=noise
    )


def copy_figures(entry: MeasureScore) -> Figures | None:
    """Round a measure's value and interval for publication, no noise added; None without value.

    For measures whose values tell nothing of hidden labels.
    """
    if entry.value is None:
        return None
    return Figures(
        value=round_figure(entry.value, entry),
        low=None if entry.low is None else math.floor(entry.low),
        high=None if entry.high is None else math.ceil(entry.high),
        interval=entry.interval, noise=0.0,
    )  # fmt: skip


def round_figure(value: float, entry: MeasureScore) -> float:
    """Round a published value to a whole point, or to a tenth if the measure is a count."""
    return round(value, 1 if entry.scale == 1 else 0) + 0.0
