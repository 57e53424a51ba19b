"""Notes below scores in every output: what was scored, and what limits the scores."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath

from citeforge.engines.shown import show_interval, show_number, show_percent, show_value
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.corrected_ranks import corrected_ranks
from citeforge.evaluator.judges import over_judges, values_by_layer
from citeforge.evaluator.lines import Lines, is_below
from citeforge.evaluator.ranks import rank_text
from citeforge.evaluator.rows import (
    OF_ANY_CITATION,
    TRIVIAL,
    count_systems,
    is_trivial,
)
from citeforge.evaluator.statistics.intervals import SKEW, STUDENT, WIDEST, WILSON, compute_shares
from citeforge.schemas.audit import BELOW
from citeforge.schemas.recipes.gate import FEWEST_QUERIES
from citeforge.schemas.scores import (
    PPI,
    UNKNOWN_BUILD,
    MeasureScore,
    ScoreFile,
    Source,
)
from citeforge.schemas.signature import differing_parts, joined_signatures

UNCITED = "{n} of {of} answers cite nothing"
"""Note on answers without a citation; ``n`` and ``of`` are counts as text."""
REFUSED = "{n} of {of} answers say that they cannot answer"
"""Note on refusals."""
FEW = "few"
SLICES_NOTE = (
    "slices: 95 % intervals that hold at once for all slices of a system (Šidák); "
    f"{FEW}: fewer than {FEWEST_QUERIES} queries, too few to rely on the value"
)
RANKS_NOTE = (
    "the ranks that a system may have: with 95 % confidence all of them hold at once (paired "
    "t-tests over queries, Holm over all pairs)"
)
"""Note on ranks with intervals."""
LINE_NOTE = (
    f"{BELOW}: at or below the line of systems that copy the sources with most words of the "
    "question, cite them, and know nothing"
)
_MOST_NAMED = 3
"""Systems that a note names."""


def end_sentence(text: str) -> str:
    """End a text with a full stop, unless it ends with a question mark or a stop already."""
    return text if text.endswith(("?", "!", ".")) else f"{text}."


def systems_text(n_systems: int, n_controls: int) -> str:
    """Write counts as ``3 systems and 2 controls``; a count of 0 is omitted unless both are 0."""
    systems = [count_text(n_systems, "system")] if n_systems or not n_controls else []
    controls = [count_text(n_controls, "control")] if n_controls else []
    return " and ".join(systems + controls)


def scored_text(files: Sequence[ScoreFile]) -> str:
    """Write what was scored: ``2 systems``, or ``2 submissions`` if two of them share a name."""
    answers: dict[tuple[str, ...], set[str]] = {}
    for f in files:
        setting = (f.system, f.benchmark_hash, f.context, f.protocol)
        answers.setdefault(setting, set()).add(f.submission_sha256)
    if all(len(several) == 1 for several in answers.values()):
        return systems_text(*count_systems(files))
    return count_text(len(set().union(*answers.values())), "submission")


def not_comparable(files: Sequence[ScoreFile]) -> list[str]:
    """Write lines on systems that cannot be compared: ``A and B: k:5 / k:10 (CiteP)``.

    Each system is compared with the first one that has the measure, by the parts of their
    signatures. Systems that differ from it in the same parts and measures share a line.
    """
    first: dict[str, tuple[str, str]] = {}
    pairs: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for file in files:
        for measure in file.measures:
            system, signature = first.setdefault(measure.name, (file.system, measure.signature))
            if parts := tuple(differing_parts(signature, measure.signature)):
                pairs.setdefault((system, file.system, parts), []).append(measure.name)
    alike: dict[tuple[str, str, tuple[str, ...]], list[list[str]]] = {}
    for (system, other, parts), names in pairs.items():
        sides = [part.partition(" / ") for part in parts]
        key = system, ", ".join(names), tuple(left for left, _, _ in sides)
        alike.setdefault(key, []).append([other, *(right for _, _, right in sides)])
    lines = []
    for (system, measures, lefts), rows in alike.items():
        others, *rights = (", ".join(dict.fromkeys(x)) for x in zip(*rows, strict=True))
        parts_text = "; ".join(map(" / ".join, zip(lefts, rights, strict=True)))
        lines.append(f"{system} and {others}: {parts_text} ({measures})")
    return lines


def missing_lines(files: Sequence[ScoreFile]) -> list[str]:
    """Write ``measures: reason`` for scores not computed; add the systems unless all lack them."""
    systems: dict[tuple[str, str], dict[str, None]] = {}
    for file in files:
        for entry in file.not_computed:
            systems.setdefault((entry.reason, entry.name), {})[file.system] = None
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (reason, name), concerned in systems.items():
        names.setdefault((reason, tuple(concerned)), []).append(name)
    everybody = {f.system for f in files}
    return [
        f"{', '.join(measures)}: {reason}"
        + ("" if set(concerned) == everybody else f" ({', '.join(concerned)})")
        for (reason, concerned), measures in names.items()
    ]


def marked_name(files: Iterable[ScoreFile], measure: str) -> str:
    """Return a measure's name, marked if in some score file any citation satisfies it."""
    return f"{measure} {TRIVIAL}" if any(is_trivial(f, measure) for f in files) else measure


def scope_lines(files: Iterable[ScoreFile]) -> list[str]:
    """Write a line per benchmark, context set and protocol, with its number of queries."""
    systems: dict[str, dict[str, None]] = {}
    for f in files:
        context = "all cells" if f.design is not None else f"context {f.context}"
        queries = f"{f.counts.n_queries:,} {'query' if f.counts.n_queries == 1 else 'queries'}"
        label = f"{f.benchmark}@{f.benchmark_hash[:8]}"
        scope = f"{label}, {context}, protocol {f.protocol}: {queries}"
        systems.setdefault(scope, {})[f.system] = None
    if len(systems) == 1:
        return list(systems)
    return [f"{scope} ({', '.join(names)})" for scope, names in systems.items()]


def count_lines(files: Iterable[ScoreFile]) -> list[str]:
    """Describe how many answers are missing, uncited or refused, and verdicts failed: lines.

    What a system's own warnings say is left out.
    """
    lines = []
    for f in files:
        if (missing := missing_text(f)) and not any(" missing" in text for text in f.warnings):
            how = "with the worst value each" if f.protocol == "strict" else "which are left out"
            lines.append(f"{f.system}: {missing}, {how}")
        answers = f"{f.counts.n_answered:,}"
        for count, text in ((f.counts.n_uncited, UNCITED), (f.counts.n_refused, REFUSED)):
            if count:
                lines.append(f"{f.system}: {text.format(n=f'{count:,}', of=answers)}")
        if f.counts.n_judge_failed:
            pairs = count_text(f.counts.n_judge_failed, "pair")
            lines.append(
                f"{f.system}: the judge failed on {pairs}; bounds say what that leaves open"
            )
    return lines


def missing_text(file: ScoreFile) -> str:
    """Write how many answers of a system are missing; empty if there are none."""
    n = file.counts.n_missing
    return f"{count_text(n, 'answer')} missing" if n else ""


def build_lines(files: Iterable[ScoreFile]) -> list[str]:
    """Write a note on systems whose score files do not record the benchmark build; may be empty."""
    names = list(dict.fromkeys(f.system for f in files if not f.is_build_known))
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return [f"{', '.join(names[:_MOST_NAMED])}{more}: {UNKNOWN_BUILD}"] if names else []


def judge_lines(files: Iterable[ScoreFile], measures: Collection[str] | None = None) -> list[str]:
    """Write a note per judge whose scores are not comparable with published ones.

    Args:
        files: score files.
        measures: names of the measures shown; None for all.
    """
    judges = dict.fromkeys(
        f.unpublished_judge for f in files
        if f.unpublished_judge and any(
            f"|judge:{f.unpublished_judge}" in m.signature
            for m in f.measures if measures is None or m.name in measures
        )
    )  # fmt: skip
    return [f"judged by {judge}: not comparable with published numbers" for judge in judges]


def rounding_lines(files: Iterable[ScoreFile]) -> list[str]:
    """Write a note that values are noisy because the gold is hidden; empty if it is not."""
    hidden = [f for f in files if f.gold == "withheld"]
    if not hidden:
        return []
    sizes = [m.noise for f in hidden for m in f.measures if m.noise and m.scale == 100]
    noise = (
        f", with noise of {show_number(max(sizes), 1)} points (standard deviation)" if sizes else ""
    )
    return [f"the gold is hidden: values are in whole points (counts in tenths){noise}"]


_OF_THESE_RUNS = (
    "intervals also cover new runs and verdicts where several were scored; p-values, ranks and "
    "detectable differences hold for these runs and verdicts only"
)


def _run_lines(files: Sequence[ScoreFile], measures: Collection[str]) -> list[str]:
    """Write notes on which intervals cover variance between runs; empty if no system has any.

    Args:
        files: score files.
        measures: names of the measures shown.
    """
    several = [
        any(m.variance is not None for m in file.measures if m.name in measures) for file in files
    ]
    if len(files) < 2 or not any(several):
        return []
    once = (file.system for file, has in zip(files, several, strict=True) if not has)
    single = ", ".join(dict.fromkeys(once))
    text = f"{single}: one run, judged once, so that no interval covers its new runs"
    return [_OF_THESE_RUNS, text] if single else [_OF_THESE_RUNS]


def limit_lines(files: Sequence[ScoreFile], measures: Collection[str] | None = None) -> list[str]:
    """List the limits of scores: missing answers, rounding, cautions, judges, runs and warnings.

    Args:
        files: score files with distinct names.
        measures: names of the measures shown; None for all.
    """
    shown = {m.name for f in files for m in f.measures} if measures is None else measures
    return [
        *count_lines(files), *rounding_lines(files), *caution_lines(files, shown),
        *(variance_lines(files) if measures is None else ()), *judge_lines(files, shown),
        *_run_lines(files, shown), *(f"{f.system}: {text}" for f in files for text in f.warnings),
    ]  # fmt: skip


def report_lines(
    files: Sequence[ScoreFile],
    compared_files: Sequence[ScoreFile],
    measures: Collection[str] | None = None,
) -> list[str]:
    """List notes below scores: scope, limits, which of ``compared_files`` are not comparable.

    Args:
        files: score files with distinct names.
        compared_files: the same files without signature parts in which they may differ, if any.
        measures: names of the measures shown; None for all.
    """
    if measures is not None:
        compared_files = [
            f.model_copy(update={"measures": [m for m in f.measures if m.name in measures]})
            for f in compared_files
        ]
    return [
        *scope_lines(files),
        *(f"not computed: {line}" for line in missing_lines(files) if measures is None),
        *limit_lines(files, measures),
        *(f"not comparable: {line}" for line in not_comparable(compared_files)),
    ]


def trivial_lines(
    files: Iterable[ScoreFile], measures: Collection[str] = (OF_ANY_CITATION,)
) -> list[str]:
    """List the measures that any citation satisfies, with the reason, by context set.

    Args:
        files: score files.
        measures: names of the measures that are printed.
    """
    sentences = {
        f"{m.name} is trivial on {file.benchmark}, {file.context}": None
        for file in files
        for m in file.measures
        if m.name in measures and is_trivial(file, m.name)
    }
    reason = "every passage shown is relevant, so that any citation of one is right"
    return [f"{sentence}: {reason}" for sentence in sentences]


def caution_lines(
    files: Sequence[ScoreFile], measures: Collection[str] = (OF_ANY_CITATION,)
) -> list[str]:
    """Write cautions on trivial measures, and on systems of their judge's model family."""
    families: dict[str, dict[str, None]] = {}
    for file in files:
        if file.same_family is not None:
            family = PurePath(file.same_family.rstrip("/")).name or file.same_family
            families.setdefault(family, {})[file.system] = None
    return trivial_lines(files, measures) + [
        f"the judge is of the family of {', '.join(systems)} ({family}), and judges tend to prefer "
        "their own family's texts: score with another judge, too"
        for family, systems in families.items()
    ]


def variance_lines(files: Sequence[ScoreFile]) -> list[str]:
    """List each system's shares of uncertainty from queries, runs, verdicts and judges."""
    lines = []
    for file in files:
        parts = [
            f"{m.name} {_format_shares(m.variance.shares)}"
            for m in file.measures
            if m.variance is not None and m.variance.shares
        ]
        if parts:
            lines.append(
                f"uncertainty of {file.system} (squared standard error): {'; '.join(parts)}"
            )
    return lines + _judge_lines(files)


def _format_shares(shares: Mapping[Source, float] | Mapping[str, float]) -> str:
    """Format shares of uncertainty as ``source percent`` pairs: ``queries 80 %, runs 20 %``."""
    return ", ".join(f"{source} {show_percent(share)}" for source, share in shares.items())


def _judge_lines(files: Sequence[ScoreFile]) -> list[str]:
    """Write a line per submission that several judges scored: mean, interval, uncertainty."""
    answers: dict[tuple[str, ...], list[ScoreFile]] = {}
    for file in files:
        setting = (file.benchmark_hash, file.context, file.protocol)
        answers.setdefault((file.submission_sha256, *setting), []).append(file)
    lines = []
    for by_judge in answers.values():
        texts, by_name = [], [{m.name: m for m in f.measures} for f in by_judge]
        for name, first in by_name[0].items():
            entries, scale = [of_file[name] for of_file in by_name if name in of_file], first.scale
            if len(entries) < len(by_judge) or not _are_of_judges(entries):
                continue
            values = [values_by_layer(f, e) for f, e in zip(by_judge, entries, strict=True)]
            if len({v.shape[2] for v in values}) > 1 or values[0].shape[2] < 2:
                continue  # values by judges on different queries have no common mean
            value, low, high, levels, components = over_judges(name, values)
            if shares := compute_shares(components, levels):
                mean, ends = show_number(scale * value), show_interval(scale * low, scale * high)
                texts.append(f"{name} {mean} {ends} {_format_shares(shares)}")
        if texts:
            lines.append(
                f"uncertainty of {by_judge[0].system} over {len(by_judge)} judges (mean, interval, "
                f"shares of the squared standard error): {'; '.join(texts)}"
            )
    return lines


def _are_of_judges(entries: Sequence[MeasureScore]) -> bool:
    """Whether scores of a measure are from several judges, one score from each."""
    recipes = {e.signature for e in entries}
    judged = all("|judge:" in recipe for recipe in recipes)
    return judged and 1 < len(recipes) == len(entries)


def line_notes(files: Sequence[ScoreFile], lines_to_beat: Lines) -> list[str]:
    """Write notes on systems no better than those that copy passages (trivial); may be empty.

    Args:
        files: score files.
        lines_to_beat: value to beat by signature of the measure.
    """
    notes = []
    for file in files:
        below = [
            f"{m.name} {show_value(m)} (line {show_number(lines_to_beat[m.signature], m.n_digits)})"
            for m in file.measures
            if is_below(file, m, lines_to_beat)
        ]
        if below:
            notes.append(f"{file.system} does not beat copying: {', '.join(below)}")
    return [*notes, LINE_NOTE] if notes else []


def correction_notes(results: Iterable[ScoreFile]) -> list[str]:
    """Write a note per score corrected by human labels: method, labels, weight of the judge."""
    lines = []
    for r in results:
        for m in r.measures:
            if (c := m.corrected) is None:
                continue
            if c.method == PPI:
                lines.append(
                    f"corrected: {r.system}, {m.name}: PPI++ with {c.n_labels:,} labelled answers, "
                    f"weight of the judge {show_number(c.tuning or 0)}; labels alone "
                    f"{show_number(c.labels_value or 0)} "
                    f"{show_interval(c.labels_low or 0, c.labels_high or 0)}"
                )
            else:
                lines.append(
                    f"corrected: {r.system}, {m.name}: Rogan–Gladen, with error rates of the judge "
                    "on other answers; it holds where the judge errs here as it did there"
                )
    return lines


def order_notes(results: Sequence[ScoreFile]) -> list[str]:
    """Write a note per measure with the possible ranks of systems by label-corrected scores."""
    return [
        f"ranks by {order.measure} corrected (at once, 95 %"
        + ("" if order.paired else "; unpaired: pairing needs labels on the same queries")
        + "): "
        + ", ".join(f"{system} {rank_text(ranks)}" for system, ranks in order.ranks.items())
        for order in corrected_ranks(results)
    ]


def signature_notes(results: Sequence[ScoreFile]) -> list[str]:
    """List score signatures (settings), joined if only measures differ; and interval methods."""
    signatures, intervals = list[str](), set[str]()
    for measure in (m for result in results for m in result.measures):
        signatures.append(measure.signature)
        if measure.corrected is not None:
            name = measure.signature.partition("|")[0]
            recipe = measure.corrected.signature.partition("|")[2]
            signatures.append(f"{name} corrected|{recipe}")
        intervals.add(measure.interval)
    lines = [f"signature: {line}" for line in joined_signatures(signatures)]
    return lines + interval_note(intervals)


def interval_note(methods: Iterable[str]) -> list[str]:
    """Write the note on how a table's intervals were computed; empty without intervals.

    Args:
        methods: values of ``interval`` of the scores shown.
    """
    words = {
        WILSON: "Wilson's with the effective number of queries for shares",
        SKEW: "Student's t corrected for skewness for counts",
        STUDENT: "Student's t for differences",
        WIDEST: "as wide as any values could make them, noise included, for hidden gold",
    }
    notes = [words[name] for name in words if name in set(methods)]
    return [f"intervals: 95 %, {'; '.join(notes)}; ± is the sd between runs"] if notes else []


def small_slice_lines(slices: Mapping[str, int]) -> list[str]:
    """Write a caution per slice that has few queries.

    Args:
        slices: number of queries by name of the slice, such as ``language=de``.
    """
    return [
        f"{label}: {n:,} queries are few: see how wide its intervals are"
        for label, n in slices.items()
    ]
