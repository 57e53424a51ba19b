"""``citeforge export prompts DIR``."""

from pathlib import Path

import click

from citeforge.cli.path_options import path_argument, path_option
from citeforge.cli.terminal import write_data


@click.command()
@path_argument("folder")
@click.option("--context", help="Context set, or `all` (default: the only one; authorship: all).")
@click.option(
    "--template",
    help="`rage`, `authorship`, `kalma`, or a Jinja file (default: by kind of benchmark).",
)
@click.option(
    "--show", help="`summary` or `snippet`: what stands for passages that have one (build alce)."
)
@path_option("--out", help="JSON Lines file (default: stdout).")
def prompts(
    folder: Path, context: str | None, template: str | None, show: str | None, out: Path | None
) -> None:
    """Write one prompt a query.

    Each line is {"query_id", "context", "prompt", "benchmark", "benchmark_hash"}; `llm run` hands
    the last two on to the submission, so that it is never scored against another build. Citation
    marks inside passages are put into round brackets, so that a passage's own [3] is not mistaken
    for passage 3.
    """
    from citeforge.builders.packaging.prompts import contexts_for, prompt_lines
    from citeforge.engines.io.files import atomic_file
    from citeforge.library.benchmarks import package_folder
    from citeforge.package.package import Package

    package = Package(package_folder(folder))
    contexts = contexts_for(package, context)
    lines = prompt_lines(package, contexts, template, show)
    if out is None:
        for line in lines:
            write_data(line)
        return
    count = 0
    with atomic_file(out) as file:
        for line in lines:
            file.write(line.encode())
            count += 1
    what = f"context {contexts[0]}" if len(contexts) == 1 else f"{len(contexts)} contexts"
    click.echo(f"{out}: {count:,} prompts of {what}")
