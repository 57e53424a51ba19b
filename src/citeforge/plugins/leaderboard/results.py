"""``citeforge publish results``: scores of a model in its repository, by a pull request.

Files are ``.eval_results/*.yaml``. Format: https://huggingface.co/docs/hub/eval-results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import yaml
from pydantic import AfterValidator, Field

from citeforge.cli.command import path_argument, path_option
from citeforge.cli.options import add_options, field_options, record_from
from citeforge.cli.terminal import write_data
from citeforge.engines.files import write_text
from citeforge.engines.shown import show_interval, show_number
from citeforge.engines.textfiles import read_yaml
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.statistics.values import value_fault
from citeforge.evaluator.withhold import require_publishable
from citeforge.package.manifest import MANIFEST, load_manifest
from citeforge.publishing.card import EVALS, task_id
from citeforge.publishing.hub import Publisher
from citeforge.publishing.hub_changes import git_blob_id
from citeforge.publishing.hub_errors import hub_errors
from citeforge.reports.notes import missing_text
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Option, Part
from citeforge.schemas.recipes.groups import JUDGE
from citeforge.schemas.scores import MeasureScore, ScoreFile

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FOLDER = ".eval_results"
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_ALLOWED = "what `citeforge export card` writes for a benchmark with a leaderboard"


def _check_repository(name: str) -> str:
    """Check that a Hub repository's name is written ``ORG/NAME``."""
    if not _REPOSITORY.fullmatch(name):
        raise ValueError("expected ORG/NAME")
    return name


RepositoryName = Annotated[str, AfterValidator(_check_repository)]
"""Name of a repository on the Hub, ``ORG/NAME``."""


class ResultsOptions(Part):
    """Options of ``publish results``."""

    repo_id: Annotated[RepositoryName, Option(metavar="ORG/NAME")] = Field(
        description="Dataset repository of the benchmark."
    )
    """Repository of the benchmark."""
    model: Annotated[RepositoryName, Option(metavar="ORG/NAME")] = Field(
        description="Model repository, which gets a pull request."
    )
    """Repository of the model."""
    revision: Annotated[str, JUDGE] = "main"
    """Revision of the benchmark's repository."""


@dataclass(frozen=True)
class Target:
    """A published benchmark, with the ids of its leaderboards.

    Attributes:
        manifest: its manifest.
        commit: commit of its revision.
        tasks: ids of its leaderboards.
    """

    manifest: Manifest
    commit: str
    tasks: frozenset[str]


@dataclass(frozen=True)
class Results:
    """Files of results for a model's repository, and the measures that are left out.

    Attributes:
        files: path in the repository to text.
        n_values: number of values in all files.
        left_out: measures without a leaderboard or without a value.
    """

    files: dict[str, str]
    n_values: int
    left_out: list[str]


@dataclass(frozen=True)
class PullRequest:
    """Outcome of a pull request: its state, its address, and the files it replaces.

    Attributes:
        state: ``opened``, ``updated``, ``there`` (a pull request has the results already), or
            ``merged`` (the model has them).
        url: address of the pull request; empty where none is needed.
        replaced: files that the model has with other content.
    """

    state: str
    url: str
    replaced: tuple[str, ...] = ()


def read_target(options: ResultsOptions, publisher: Publisher | None = None) -> Target:
    """Download a published benchmark's manifest and the ids of its leaderboards on the Hub.

    Raises:
        InputError: no such benchmark, it has no leaderboards, or the Hub cannot be reached.
    """
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    api = (publisher or Publisher()).api
    name = f"{options.repo_id}@{options.revision}"
    with hub_errors(options.repo_id):
        commit = api.repo_info(options.repo_id, repo_type="dataset", revision=options.revision).sha
        folder = Path()
        for file in (MANIFEST, EVALS):
            try:
                path = api.hf_hub_download(
                    options.repo_id, file, repo_type="dataset", revision=commit
                )
            except LocalEntryNotFoundError:
                raise  # the Hub did not answer
            except EntryNotFoundError as error:
                raise InputError(
                    f"has no {file}", path=name,
                    allowed="a benchmark that `citeforge export card` and `publish` made; "
                    "experiments have no leaderboards", code="missing-file"
                ) from error  # fmt: skip
            folder = Path(path).parent
    tasks = read_tasks(folder / EVALS, f"{name} {EVALS}")
    return Target(load_manifest(folder), str(commit), frozenset(tasks))


def make_results(
    scores: Sequence[tuple[Path, ScoreFile]], target: Target, options: ResultsOptions
) -> Results:
    """Make evaluation result files for a model's Hub repository: one per context set.

    Args:
        scores: score files of one system, one per context set.
        target: the published benchmark.
        options: repositories of benchmark and model.

    Raises:
        InputError: a file is of another build, of the protocol ``reference``, of a part of the
            queries, was changed by hand, or contains no value with a leaderboard.
        UsageError: two files of one context set, or files of two systems.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    files: dict[str, str] = {}
    left_out: list[str] = []
    n_values = 0
    require_publishable(file for _, file in scores)
    if len(systems := sorted({file.system for _, file in scores})) > 1:
        raise UsageError(
            f"files of {len(systems)} systems ({', '.join(map(repr, systems))}); a model has one "
            "value per leaderboard: give the scores of one system",
            code="not-comparable",
        )
    for path, file in scores:
        _require_comparable(path, file, target)
        name = f"{FOLDER}/{task_id(options.repo_id.partition('/')[2], file.context)}.yaml"
        if name in files:
            raise UsageError(
                f"{path}: the second file of context {file.context!r}; a model has one value per "
                "leaderboard: give the scores of one system",
                code="duplicate-id",
            )
        entries, others = _make_entries(path, file, target, options)
        left_out += [f"{path}: {other}" for other in others]
        if not entries:
            raise InputError(
                "contains no value that has a leaderboard", path=path,
                allowed=f"one of {', '.join(sorted(target.tasks))}", code="no-scores"
            )  # fmt: skip
        files[name] = yaml.safe_dump(
            eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True, width=100
        )
        n_values += len(entries)
    return Results(files, n_values, left_out)


def _require_comparable(path: Path, file: ScoreFile, target: Target) -> None:
    """Raise an error for scores that a leaderboard on the Hub cannot compare with others.

    These are scores of another benchmark, of protocol ``reference``, or of only some queries.

    Args:
        path: the score file, for errors.
        file: its content.
        target: the published benchmark.
    """
    published = target.manifest
    expected = published.answer_hash
    if file.benchmark_hash != expected:
        raise InputError(
            f"scored on {file.benchmark}@{file.benchmark_hash[:8]}; the published benchmark is "
            f"{published.name}@{expected[:8]}",
            path=path, field="benchmark_hash", code="wrong-benchmark",
            allowed="scores against the published one",
        )  # fmt: skip
    if file.protocol != "strict":
        raise InputError(
            f"scored with the protocol {file.protocol!r}, which drops missing answers", path=path,
            field="protocol", allowed="scores with --protocol strict", code="not-comparable"
        )  # fmt: skip
    if any("|asked:" in measure.signature for measure in file.measures):
        raise InputError(
            "covers a part of the queries (--only-asked)",
            path=path,
            allowed="scores over all",
            code="not-comparable",
        )


def _make_entries(
    path: Path, file: ScoreFile, target: Target, options: ResultsOptions
) -> tuple[list[EvalResultEntry], list[str]]:
    """Make result entries for the Hub from a score file: (entries, measures left out).

    Returns:
        (entries, names of the measures without a leaderboard or value).
    """
    from huggingface_hub import EvalResultEntry

    entries, others = [], []
    date = file.about.date if file.about is not None else None
    for measure in file.measures:
        task = task_id(file.context, measure.name)
        if task not in target.tasks or measure.value is None:
            others.append(measure.name)
            continue
        fault = value_fault(measure, file)
        if not 0 <= measure.value <= measure.scale:
            fault = f"{measure.name}: {measure.value} is not from 0 to {measure.scale}"
        if fault:
            raise InputError(
                fault,
                path=path,
                allowed="the file as `citeforge score` writes it",
                code="wrong-value",
            )
        entries.append(
            EvalResultEntry(
                dataset_id=options.repo_id,
                task_id=task,
                value=measure.value,
                dataset_revision=target.commit,
                date=date,
                notes=_write_notes(measure, file),
            )
        )
    return entries, others


def _write_notes(measure: MeasureScore, file: ScoreFile) -> str:
    """Describe a measure's value: score signature, interval, number of queries, judge failures."""
    parts = [measure.signature]
    if measure.low is not None:
        interval = show_interval(measure.low, measure.high, measure.n_digits)
        parts.append(f"95 % interval {interval}")
    counts = file.counts
    parts.append(f"{counts.n_queries:,} queries")
    if missing := missing_text(file):
        parts.append(f"{missing}, with the worst value each")
    if measure.lower_bound is not None and measure.upper_bound is not None:
        parts.append(
            f"the judge failed on {counts.n_judge_failed:,} pairs: between "
            f"{show_number(measure.lower_bound)} and {show_number(measure.upper_bound)}"
        )
    return "; ".join(parts)


def open_pull_request(
    results: Results, options: ResultsOptions, publisher: Publisher | None = None
) -> PullRequest:
    """Open a pull request with evaluation results on a model's repository, or update it.

    It can be called again after any failure: results that the model or an open pull request has
    already are not sent again.

    Raises:
        InputError: no token, no such model, or the connection was lost.
    """
    from huggingface_hub import CommitOperationAdd

    publisher = publisher or Publisher()
    api = publisher.api
    model, title = options.model, f"Evaluation results on {options.repo_id}"

    contents = {name: text.encode() for name, text in results.files.items()}
    ours = {name: git_blob_id(content) for name, content in contents.items()}

    def blob_ids(revision: str) -> dict[str, str | None]:
        """Map the result files in a revision of the model's repository to their git blob ids."""
        entries = api.get_paths_info(model, list(ours), revision=revision)
        return {entry.path: getattr(entry, "blob_id", None) for entry in entries}

    with hub_errors(model):
        me = publisher.get_account(model)["name"]
        published = blob_ids("main")
        if published == ours:
            return PullRequest("merged", "")
        replaced = tuple(name for name, blob in published.items() if blob != ours[name])
        open_requests = api.get_repo_discussions(
            model, author=me, discussion_type="pull_request", discussion_status="open"
        )
        number = min((d.num for d in open_requests if d.title == title), default=None)
        revision = None if number is None else f"refs/pr/{number}"
        url = f"{api.endpoint}/{model}/discussions/{number}"
        if revision is not None and blob_ids(revision) == ours:
            return PullRequest("there", url, replaced)
        done = api.create_commit(
            model,
            [CommitOperationAdd(name, content) for name, content in contents.items()],
            commit_message=title,
            commit_description=f"{results.n_values} values of "
            f"https://huggingface.co/datasets/{options.repo_id}",
            revision=revision,
            create_pr=revision is None,
        )
    if revision is not None:
        return PullRequest("updated", url, replaced)
    return PullRequest("opened", str(done.pr_url), replaced)


def read_tasks(path: Path, shown_name: object = None) -> set[str]:
    """Read the ids of a Hub benchmark's tasks (leaderboards) from its ``eval.yaml``.

    Args:
        path: the file.
        shown_name: its name in messages; None for its path.

    Raises:
        InputError: the file is not a list of tasks.
    """
    try:
        content: Any = read_yaml(path)
        return {str(task["id"]) for task in content["tasks"]}
    except (InputError, KeyError, TypeError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise InputError(
            f"not a list of tasks ({reason})",
            path=shown_name or path,
            allowed=_ALLOWED,
            code="schema-mismatch",
        ) from error


@click.command("results")
@path_argument("scores", nargs=-1, required=True)
@add_options(field_options(ResultsOptions))
@path_option("--out", help="Folder to which the files are written, too.")
@click.option("--dry-run", is_flag=True, help="Print the files; open no pull request.")
def publish_results(
    scores: tuple[Path, ...], out: Path | None, dry_run: bool, **parameters: Any
) -> None:
    """Show a model's scores on its page of the Hugging Face Hub.

    SCORES are score files of one system, one per context set, against a published benchmark. Their
    values go into .eval_results/ of the model's repository, by a pull request; the Hub's
    leaderboard of the benchmark takes them from there. Run again, it opens no second one.
    """
    options = record_from(ResultsOptions, parameters)
    files = [(path, load_scores(path)) for path in scores]
    results = make_results(files, read_target(options), options)
    for name, text in results.files.items():
        if out is not None:
            write_text(out / name, text)
        if dry_run:
            write_data(f"# {name}\n{text}")
    for line in results.left_out:
        click.echo(f"no leaderboard, or no value: {line}", err=True)
    if dry_run:
        return
    sent = open_pull_request(results, options)
    what = {
        "opened": f"pull request opened: {sent.url}",
        "updated": f"pull request brought up to date: {sent.url}",
        "there": f"the pull request is open already: {sent.url}",
        "merged": f"{options.model} contains these values already",
    }
    for name in sent.replaced:
        click.echo(
            f"note: {options.model} has another {name}, which this pull request replaces: look at "
            "the difference before it is merged",
            err=True,
        )
    click.echo(f"{results.n_values} values on {options.repo_id}; {what[sent.state]}")
