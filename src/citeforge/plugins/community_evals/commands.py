"""``citeforge publish results SCORES``."""

from pathlib import Path
from typing import Any

import click

from citeforge.cli.command import path_argument, path_option
from citeforge.cli.options import add_options, field_options, record_from
from citeforge.plugins.community_evals.options import ResultsOptions


@click.command("results")
@path_argument("scores", nargs=-1, required=True)
@add_options(field_options(ResultsOptions))
@path_option("--out", help="Also write the files below here.")
@click.option("--dry-run", is_flag=True, help="Print the files; open no pull request.")
def publish_results(
    scores: tuple[Path, ...], out: Path | None, dry_run: bool, **given: Any
) -> None:
    """Show a model's scores on its page of the Hugging Face Hub.

    SCORES are score files of one system, one a context set, against a published benchmark. Their
    values go into .eval_results/ of the model's repository, by a pull request; the Hub's
    leaderboard of the benchmark takes them from there. Run again, it opens no second one.
    """
    from citeforge.cli.terminal import write_data
    from citeforge.engines.io.files import write_text
    from citeforge.evaluator.statistics.compare import load_scores
    from citeforge.plugins.community_evals.results import open_pull_request, results_of, target_of

    options = record_from(ResultsOptions, given)
    files = [(path, load_scores(path)) for path in scores]
    results = results_of(files, target_of(options), options)
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
        "merged": f"{options.model} holds these values already",
    }
    for name in sent.replaced:
        click.echo(
            f"note: {options.model} has another {name}, which this pull request replaces: look at "
            "the difference before it is merged",
            err=True,
        )
    click.echo(f"{results.n_values} values on {options.repo_id}; {what[sent.state]}")
