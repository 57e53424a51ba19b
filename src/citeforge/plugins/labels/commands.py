"""The commands ``citeforge labels …``."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.command import HeadedOption, NamedCommands, path_argument, path_option
from citeforge.cli.json_output import present_rehearsal
from citeforge.cli.options import (
    add_options,
    endpoint_options,
    field_options,
    judging_options,
    largest_line_option,
    model_options,
    record_from,
    run_options,
    verdicts_option,
)
from citeforge.cli.short_help import ManyOptions
from citeforge.engines.shown import show_interval, show_number
from citeforge.plugins.labels.options import (
    AnnotationOptions,
    CertifyOptions,
    LabelPlanOptions,
    MetaEvalOptions,
    NuggetOptions,
)
from citeforge.schemas.errors import EvidenceError, FailuresError, UsageError
from citeforge.schemas.recipes.base import Judging
from citeforge.schemas.recipes.command_options import JudgeOptions
from citeforge.schemas.recipes.groups import ENDPOINTS


@click.command(cls=ManyOptions)
@path_argument("benchmark")
@add_options(field_options(CertifyOptions))
@add_options(field_options(JudgeOptions, ("judge",), required=("judge",)))
@judging_options
def calibrate(benchmark: Path, **parameters: Any) -> None:
    """Measure a judge's errors by people's labels, and keep them in a package.

    `score` with this judge then corrects shares of verdicts by them (Rogan–Gladen), and says so.
    """
    from citeforge.engines.files import require_writable
    from citeforge.package.manifest import STATS
    from citeforge.plugins.labels import calibration
    from citeforge.plugins.labels.judging import require_judge
    from citeforge.plugins.labels.meta_eval import labelled_pairs

    files = record_from(CertifyOptions, parameters)
    if not files.labels:
        raise UsageError("give --labels FILE", code="missing-option")
    rows = labelled_pairs(files.labels, files.scores, files.label_format)
    calibration.require_labels(rows.pairs, files.labels[0])
    session = require_judge(record_from(JudgeOptions, parameters), run_options(parameters))
    if session.only_plans:
        session.ask(row.pair for row in rows.pairs)
        present_rehearsal(session)
        return
    require_writable(benchmark / STATS)
    result = calibration.calibrate(rows.pairs, session, files.labels[0], files.certify_from)
    replaced = calibration.write_calibration(benchmark, result)
    click.echo(calibration.render_calibration(result))
    for line in rows.to_text_lines():
        click.echo(line)
    click.echo(f"{benchmark}: kept in stats.json; tables and benchmark hash are as they were")
    if replaced:
        click.echo(f"replaces the earlier calibration of this judge ({replaced})", err=True)


@click.command(cls=ManyOptions)
@path_argument("pairs")
@add_options(field_options(JudgeOptions, ("judge",), required=("judge",)))
@path_option("--out", help="Verdicts as JSON Lines.")
@verdicts_option
@click.option(
    "--allow-judge-failures",
    is_flag=True,
    help="Exit with 0 in spite of failures.",
    cls=HeadedOption,
    group=ENDPOINTS,
)
@model_options
@endpoint_options
def judge(pairs: Path, out: Path | None, allow_judge_failures: bool, **parameters: Any) -> None:
    """Judge whether premises entail hypotheses.

    PAIRS is JSON Lines of {"premise", "hypothesis"}. What is written can be read back as
    table:FILE. With --verdicts no pair is asked twice, in any command.
    """
    from citeforge.plugins.labels.judging import judge_pairs, read_pairs, require_judge

    judging, run = record_from(JudgeOptions, parameters), run_options(parameters)
    if run.dry_run:
        session = require_judge(judging, run)
        session.ask(read_pairs(pairs))
        present_rehearsal(session)
        return
    if out is None:
        raise UsageError("give --out FILE, or --dry-run", code="missing-option")
    counts = judge_pairs(pairs, judging, run, out)
    session = counts.session
    click.echo(
        f"{out}: {counts.pairs:,} pairs, {counts.entailed:,} entailed; {session.n_asked:,} asked, "
        f"{session.n_stored:,} stored, {session.n_truncated:,} premises cut, "
        f"{session.n_failed:,} failed; judge {session.judge.signature}"
    )
    if not session.judge.comparable:
        click.echo("this judge's verdicts are not comparable with published numbers")
    if session.n_failed and not allow_judge_failures:
        message = f"the judge failed on {session.n_failed:,} pairs; the first: "
        raise FailuresError(message + session.first_failure, code="judge-failed")


@click.command("meta-eval", cls=ManyOptions)
@add_options(field_options(JudgeOptions, ("judge",)))
@add_options(field_options(MetaEvalOptions))
@judging_options
def meta_eval(**parameters: Any) -> None:
    """Measure a judge against human labels.

    With --benchmark: HAGRID's attributable labels of gold sentences. With --labels: labels of
    people. Prints accuracy, balanced accuracy, macro-F1, Pearson, Cohen's kappa, and precision and
    recall of "not supported", and what is left out. With --bias: whether changes that must not
    matter change verdicts. With --certify-from: whether the judge is good enough; if it is not,
    the exit code is 4.

    With --scores, --against and --measure: judge against judge. Prints rank correlations of the two
    orders of systems, with intervals over queries; nobody is asked.

    With --preferences and --measure: agreement and Kendall's tau over comparisons of two answers,
    tau-b over the systems' win rates, and agreement between annotators.
    """
    options = record_from(MetaEvalOptions, parameters)
    if options.preferences:
        _compare_preferences(options)
        return
    if options.against:
        _compare_orders(options)
        return
    from citeforge.library.benchmarks import load
    from citeforge.plugins.labels.bias import list_all_pairs, try_biases
    from citeforge.plugins.labels.calibration import calibrate as calibrate_judge
    from citeforge.plugins.labels.calibration import render_certificate, require_labels
    from citeforge.plugins.labels.judging import require_judge
    from citeforge.plugins.labels.meta_eval import hagrid_pairs, judge_quality, labelled_pairs

    if (options.benchmark is None) == (not options.labels):
        raise UsageError(
            "give --benchmark, or --labels (with --scores, where the labels need it)",
            code="missing-option",
        )
    if options.benchmark is None:
        rows = labelled_pairs(options.labels, options.scores, options.label_format)
    else:
        rows = hagrid_pairs(load(options.benchmark))
    session = require_judge(record_from(JudgeOptions, parameters), run_options(parameters))
    family = options.judge_family or session.family
    # What cannot be computed is refused before the judge is asked, and paid.
    battery_pairs = list_all_pairs(rows.pairs, family) if options.bias else []
    if options.certify_from is not None:
        require_labels(rows.pairs, next(iter(options.labels), None))
    if session.only_plans:
        session.ask(row.pair for row in rows.pairs)
        session.ask(battery_pairs)
        present_rehearsal(session)
        return
    result = judge_quality(rows.pairs, session)
    click.echo(f"judge {session.judge.signature} against {result.n:,} human labels")
    for line in rows.to_text_lines():
        click.echo(line)
    click.echo(f"  supported, by people        {result.n_supported:,} of {result.n:,}")
    for name, value in (
        ("accuracy", result.accuracy),
        ("balanced accuracy", result.balanced_accuracy),
        ("macro-F1", result.macro_f1),
        ("Pearson", result.pearson),
        ("Cohen's kappa", result.kappa),
        ("precision of not supported", result.precision),
        ("recall of not supported", result.recall),
    ):
        click.echo(f"  {name:<28}{show_number(value, 4)}")
    for name, quality in result.classes.items():
        click.echo(
            f"  class {name:<22}{quality.n:,} by people, precision "
            f"{show_number(quality.precision, 4)}, recall {show_number(quality.recall, 4)}"
        )
    click.echo(f"  judge failures              {result.n_failed:,}")
    n_failed, is_good = result.n_failed, True
    if options.certify_from is not None:
        found = calibrate_judge(rows.pairs, session, certify_from=options.certify_from)
        click.echo(render_certificate(found, options.certify_from))
        is_good = found.is_certified
    if options.bias:
        battery = try_biases(rows.pairs, session, family)
        n_failed += battery.n_failed
        for line in battery.to_text_lines():
            click.echo(line)
    if n_failed and not options.allow_judge_failures:
        raise FailuresError(f"the judge failed on {n_failed:,} pairs", code="judge-failed")
    if not is_good:
        raise EvidenceError(
            f"--certify-from {options.certify_from}: the judge is not certified",
            code="not-certified",
        )


def _compare_orders(options: MetaEvalOptions) -> None:
    """Print rank correlations of two judges' rankings of the same systems."""
    from citeforge.evaluator.compare import load_scores
    from citeforge.plugins.labels.system_order import compare_orders

    measure = options.measure
    if measure is None or not options.scores:
        raise UsageError(
            "--against needs --scores FILE for every system, and --measure NAME",
            code="missing-option",
        )
    judged, truth = (
        [load_scores(path) for path in side] for side in (options.scores, options.against)
    )
    correlations = compare_orders(judged, truth, measure)
    click.echo(f"{len(judged)} systems ordered by {measure}")
    for one in correlations:
        click.echo(
            f"  {one.name:<18} {show_number(one.value, 3):>6}  "
            f"{show_interval(one.low, one.high, 3)}"
        )


def _compare_preferences(options: MetaEvalOptions) -> None:
    """Print how often a measure and annotators prefer the same one of two answers."""
    from citeforge.evaluator.compare import load_scores
    from citeforge.plugins.labels.preferences import (
        add_scores,
        annotator_agreement,
        read_preferences,
        render_preferences,
        select_agreed,
    )

    measure, files = options.measure, options.preferences
    if measure is None:
        raise UsageError("--preferences needs --measure NAME", code="missing-option")
    field = None if options.scores else measure
    read = {path.stem: read_preferences(path, options.people, field) for path in files}
    annotators = {name: comparisons for name, (comparisons, _) in read.items()}
    if len(annotators) < len(files):
        raise UsageError(
            "--preferences: two files have the same name, which is the annotator's name",
            code="duplicate-id",
        )
    if options.scores:
        loaded = [load_scores(path) for path in options.scores]
        annotators = {n: add_scores(rows, loaded, measure) for n, rows in annotators.items()}
    among = annotator_agreement(list(annotators.values()))
    if options.agreed:
        annotators = {"agreed": select_agreed(list(annotators.values()))}
    n_repeats = sum(n for _, n in read.values())
    click.echo(render_preferences(measure, annotators, among, options.tie_threshold, n_repeats))


@click.group(cls=NamedCommands, commands=[calibrate, meta_eval, judge])
def labels() -> None:
    """Plan, collect and use labels of people, and measure judges by them."""


@labels.command("export")
@path_argument("scores", nargs=-1)
@add_options(field_options(AnnotationOptions))
def export(scores: tuple[Path, ...], **parameters: Any) -> None:
    """Write a blind, shuffled sample of answers, passages or questions for annotators.

    SCORES are score files made with --details. Beside OUT stands OUT.key.json, which tells whose
    each item is; keep it from the annotators.
    """
    from citeforge.plugins.labels.sheets import export_sheet

    options = record_from(AnnotationOptions, parameters)
    sheet = export_sheet(options, scores)
    task = sheet.task
    click.echo(
        f"{options.out}: {sheet.n_items:,} items. {task.instruction} ({', '.join(task.labels)})"
    )
    if sheet.n_uncited:
        click.echo(
            f"left out: {sheet.n_uncited:,} statements without a citation, which no passage can "
            "support"
        )


_PLAN = [n for n in LabelPlanOptions.model_fields if n == "judge" or n not in Judging.model_fields]


@labels.command("plan", cls=ManyOptions)
@path_argument("answers")
@add_options(field_options(LabelPlanOptions, _PLAN))
@judging_options
def plan(answers: Path, **parameters: Any) -> None:
    """Say how many answers people must label, and sample them.

    ANSWERS is a score file by the judge; or a submission, with --benchmark and --judge. With
    corrected values in the file (score --labels), or with --labels here, these labels are the
    pilot; else the spread is taken from the judge's values.
    """
    from citeforge.plugins.labels.planning import (
        plan_labelling,
        rehearse_labelling,
        render_label_plan,
        write_plan,
    )

    options = record_from(LabelPlanOptions, parameters)
    run = run_options(parameters)
    if run.dry_run:
        present_rehearsal(rehearse_labelling(answers, options, run))
        return
    result = plan_labelling(answers, options, run)
    click.echo(render_label_plan(result, options.half_width))
    if options.out is not None:
        write_plan(options.out, result, options)
        click.echo(f"{options.out}: {len(result.queries):,} queries, for labels export --queries")


@labels.command("propose", cls=ManyOptions)
@click.argument("what", type=click.Choice(["nuggets"]))
@path_argument("benchmark")
@add_options(field_options(NuggetOptions))
@path_option("--out", help="FILE.csv for people to edit.")
@endpoint_options
def propose(what: str, benchmark: Path, out: Path | None, **parameters: Any) -> None:
    """Let an LLM list the facts that good answers have, for people to edit.

    Reads the relevant passages of each query. The sheet has a row per nugget: change its text or
    importance (vital, okay), write no in the column keep, or add rows. `score --assessments
    SHEET.csv --measures nuggets` reads it. Nuggets by a model favour systems of its family.
    """
    from citeforge.library.benchmarks import package_folder
    from citeforge.plugins.labels.nuggets import plan_nuggets, propose_nuggets

    folder, options = package_folder(benchmark), record_from(NuggetOptions, parameters)
    run = run_options(parameters, out=out)
    if run.dry_run:
        click.echo("\n".join(plan_nuggets(folder, options, run).to_text_lines()))
        return
    if out is None:
        raise UsageError("give --out FILE, or --dry-run", code="missing-option")
    done = propose_nuggets(folder, options, run)
    click.echo(f"{out}: {done.n_nuggets:,} nuggets of {done.n_queries:,} queries")
    if done.failures:
        raise FailuresError(done.describe_failures(), code="counted-failures")


@labels.command("import")
@path_argument("files", metavar="LABELS...", nargs=-1, required=True)
@path_option("--key", required=True, help="The OUT.key.json of the export.")
@path_option("--out", help="JSON Lines file.")
@path_option(
    "--benchmark", help="Keep the labels beside this benchmark, in NAME.labels/TASK.jsonl."
)
@largest_line_option
def import_(files: tuple[Path, ...], key: Path, out: Path | None, benchmark: Path | None) -> None:
    """Read annotators' labels, one file per annotator, and report their agreement."""
    import math

    from citeforge.engines.textfiles import count_text
    from citeforge.plugins.labels.returned import import_sheets

    done = import_sheets(files, key, out=out, benchmark=benchmark)
    agreement = done.agreement
    people = count_text(agreement.annotators, "annotator")
    click.echo(f"{done.out}: {count_text(done.items, 'item')} of {done.task.name}, {people}")
    if not agreement.items:
        click.echo("no agreement: no item has labels of two annotators")
        return
    figures = {
        "raw": agreement.raw,
        "Cohen's kappa": agreement.kappa,
        "Krippendorff's alpha": agreement.alpha,
    }
    known = ", ".join(
        f"{n} {show_number(value, 3)}" for n, value in figures.items() if not math.isnan(value)
    )
    several = count_text(agreement.items, "item")
    click.echo(f"agreement on {several} with several labels: {known}")
    if done.undecided:
        undecided = count_text(done.undecided, "item")
        click.echo(f"no label has a majority on {undecided}: adjudicate them")
