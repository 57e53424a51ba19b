"""``citeforge score SUBMISSION…``."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from citeforge.cli.options import (
    benchmark_option,
    endpoint_options,
    model_options,
    verdicts_option,
)
from citeforge.engines.answer_models import BERTSCORE_MODEL, MAUVE_MODEL, QA_MODEL
from citeforge.evaluator.measures.declared import MOST_CITATIONS
from citeforge.schemas.choices import FORMATS, JUDGES, LLMS, SEGMENTERS, listed


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path), nargs=-1, required=True)
@benchmark_option
@click.option(
    "--gold", type=click.Path(path_type=Path), help="Gold half of publish --hide-gold, also hub:."
)
@click.option(
    "--context",
    help="Context set to score; `own` for passages in the lines, `none` for closed-book systems.",
)
@click.option(
    "--protocol",
    type=click.Choice(["strict", "reference"]),
    default="strict",
    show_default=True,
    help="Our corrected definitions, or what the paper's own code prints.",
)
@click.option(
    "--measures",
    help="Measures or families, separated by commas (default: rage, or what fits the benchmark).",
)
@click.option(
    "--format",
    "file_format",
    default="auto",
    show_default=True,
    help=f"auto, {listed(FORMATS)}.",
)
@click.option("--judge", "judge_name", help=f"{listed(JUDGES)}.")
@click.option("--llm", "llm_name", help=f"Gives marks (G-Eval): {listed(LLMS[:2])}.")
@verdicts_option
@click.option(
    "--segmenter",
    help=f"Sentence segmenter: {listed(SEGMENTERS)} (default: nupunkt for strict, punkt for "
    "reference).",
)
@click.option(
    "--rules",
    type=click.Choice(["1", "2"]),
    default="2",
    show_default=True,
    help="Version of the strict rules for marks and statements; 1 gives scores of before again.",
)
@click.option(
    "--bertscore-model", default=BERTSCORE_MODEL, show_default=True, help="MODEL[#LAYER]."
)
@click.option("--mauve-model", default=MAUVE_MODEL, show_default=True)
@click.option("--qa-model", default=QA_MODEL, show_default=True)
@click.option("--max-row", "with_max", is_flag=True, help="Add the best of several rankings.")
@click.option("--cot", is_flag=True, help="QAMPARI: answers follow the first colon.")
@click.option(
    "--at-most-citations",
    type=click.IntRange(min=1),
    default=MOST_CITATIONS,
    show_default=True,
    help="reference: citations of a statement that ALCE's measures look at.",
)
@click.option(
    "--details/--no-details",
    default=None,
    help="Keep answers in the score file, for reports (default: when sentences are split anyway).",
)
@click.option("--allow-judge-failures", is_flag=True, help="Exit with 0 in spite of failures.")
@model_options
@endpoint_options
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Score file; a folder when there are several submissions.",
)
def score(
    submissions: tuple[Path, ...],
    benchmark: Path,
    context: str | None,
    protocol: str,
    measures: str | None,
    out: Path | None,
    file_format: str,
    judge_name: str | None,
    verdicts: Path | None,
    segmenter: str | None,
    with_max: bool,
    details: bool | None,
    allow_judge_failures: bool,
    **given: Any,
) -> None:
    """Score submissions against a package.

    Prints one table with 95 % intervals, what is missing or could not be read, and the signature
    of the scores. Absent answers score the worst value.
    """
    from citeforge.cli.fetch import open_benchmark
    from citeforge.cli.tools import make_tools
    from citeforge.engines.files import write_text
    from citeforge.evaluator.measures.registry import select
    from citeforge.evaluator.score import Protocol
    from citeforge.evaluator.score import score as score_one
    from citeforge.evaluator.table import render_scores
    from citeforge.schemas.errors import FailuresError, UsageError

    names = [name.strip() for name in (measures or "").split(",") if name.strip()]
    wanted = select(names)  # a wrong name is said before anything is opened
    if out is not None and len(submissions) > 1 and out.suffix == ".json":
        raise UsageError("--out: with several submissions, name a folder for the score files")
    chosen: Protocol = "reference" if protocol == "reference" else "strict"
    if chosen == "strict" and given["at_most_citations"] != MOST_CITATIONS:
        raise UsageError(
            "--at-most-citations: strict looks at every citation; give --protocol reference"
        )
    loaded = open_benchmark(benchmark, given.pop("gold"))
    loaded.rules = int(given["rules"])
    wanted = wanted or select(loaded.kind.default_measures)
    tools = make_tools(wanted, chosen, judge_name, verdicts, segmenter, given)
    targets = _targets(out, submissions)
    results = []
    for path in submissions:
        result = score_one(
            path,
            loaded,
            wanted,
            context=context,
            protocol=chosen,
            tools=tools,
            file_format=file_format,
            details=tools.segmenter is not None if details is None else details,
        )
        results.append(result)
        if path in targets:
            write_text(targets[path], result.model_dump_json() + "\n")
    if with_max:
        from citeforge.evaluator.max_row import max_row

        results.append(max_row(results))
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    click.echo(render_scores(results, terminal))
    for result in results:
        for text in result.warnings:
            click.echo(f"warning: {result.submission}: {text}", err=True)
    session = tools.judge
    if session is not None and not session.judge.comparable:
        click.echo("judged by a baseline: not comparable with published numbers")
    if session is not None and session.n_failed and not allow_judge_failures:
        raise FailuresError(f"the judge failed on {session.n_failed:,} pairs; bounds are given")


def _targets(out: Path | None, submissions: tuple[Path, ...]) -> dict[Path, Path]:
    """Submission to its score file."""
    from citeforge.schemas.errors import UsageError

    if out is None:
        return {}
    if len(submissions) == 1 and not out.is_dir():
        found = {submissions[0]: out}
    else:
        found = {p: out / f"{_stem(p)}.scores.json" for p in submissions}
    if len(set(found.values())) < len(submissions):
        raise UsageError("--out: two submissions would be written to one file; rename one of them")
    for submission, target in found.items():
        # Not Path.resolve, which stops at a loop of links: reading the submission tells it better.
        if os.path.realpath(target) in set(map(os.path.realpath, submissions)):
            raise UsageError(f"--out {target}: is a submission; name another file for its scores")
        if out.suffix != ".json":
            _require_own(target, submission)
    return found


def _stem(submission: Path) -> str:
    """Name of a submission without the endings that a format gives it, whatever dots it holds."""
    name = submission.name.removesuffix(".gz")
    for ending in (".jsonl", ".json", ".csv", ".tsv"):
        if name.endswith(ending) and name != ending:
            return name.removesuffix(ending)
    return name


def _require_own(target: Path, submission: Path) -> None:
    """Refuse to write over what is not the score file of this submission.

    Raises:
        InputError: another submission's scores, or something else.
    """
    from citeforge.engines.files import digest_folder, sha256_file
    from citeforge.evaluator.compare import load_scores
    from citeforge.evaluator.submission import system_name
    from citeforge.schemas.errors import InputError

    if not target.exists():
        return
    there = load_scores(target)
    digest = digest_folder(submission) if submission.is_dir() else sha256_file(submission)
    if there.submission_sha256 == digest:
        return
    system = submission.name if submission.is_dir() else system_name(submission)
    if (there.submission, there.system) != (submission.name, system):
        raise InputError(
            f"holds the scores of {there.submission} ({there.system}), not of {submission}",
            path=target,
            allowed="name another --out, rename the submission, or remove the file",
        )
