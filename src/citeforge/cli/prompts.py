"""``citeforge prompts DIR``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--context", help="Context set (needed when there are several).")
@click.option("--template", default="rage", show_default=True, help="`rage`, or a Jinja file.")
@click.option("--out", type=click.Path(path_type=Path), help="JSON Lines file (default: stdout).")
def prompts(folder: Path, context: str | None, template: str, out: Path | None) -> None:
    """Write one prompt a query.

    Each line is {"query_id", "context", "prompt"}. Citation marks inside passages are put into
    round brackets, so that a passage's own [3] is not mistaken for passage 3.
    """
    import json

    from citeforge.builders.prompts import load_template, render_prompts
    from citeforge.builders.verify import load_intact
    from citeforge.engines.files import atomic_file
    from citeforge.schemas.errors import UnknownValueError, UsageError

    manifest = load_intact(folder)
    names = list(manifest.contexts)
    if context is not None and context not in names:
        raise UnknownValueError("context", context, names)
    if context is None and len(names) > 1:
        raise UsageError(
            f"the benchmark has several context sets; give --context {'|'.join(names)}"
        )
    name = context or names[0]
    lines = (
        json.dumps({"query_id": query, "context": name, "prompt": text}, ensure_ascii=False) + "\n"
        for query, text in render_prompts(folder, manifest, name, load_template(template))
    )
    if out is None:
        for line in lines:
            click.echo(line, nl=False)
        return
    count = 0
    with atomic_file(out) as file:
        for line in lines:
            file.write(line.encode())
            count += 1
    click.echo(f"{out}: {count:,} prompts of context {name}")
