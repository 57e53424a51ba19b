"""``citeforge kg …``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from citeforge.cli.kg_options import kg_options, open_kg


@click.group()
def kg() -> None:
    """Ask a knowledge graph: snapshot, link."""


@kg.command("snapshot")
@kg_options
@click.option(
    "--entities",
    type=click.Path(path_type=Path),
    required=True,
    help="File with one id a line.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="FILE.nt or FILE.nt.gz."
)
def snapshot(entities: Path, out: Path, **given: Any) -> None:
    """Freeze the sub-graphs of entities as N-Triples.

    A benchmark built from the file stays the same for ever.
    """
    from citeforge.engines.textfiles import text_lines
    from citeforge.kg.snapshot import write_snapshot
    from citeforge.kg.terms import iri
    from citeforge.schemas.errors import InputError, UsageError

    if not out.name.endswith((".nt", ".nt.gz")):
        raise UsageError(f"--out {out}: expected a name that ends in .nt or .nt.gz")
    lines = list(text_lines(entities))
    graph = open_kg(given)
    ids = []
    for number, line in lines:
        name = line.split("#")[0].strip()
        try:
            ids += [name] if name and iri(graph.domain.entity_iri + name) else []
        except InputError as error:
            raise InputError(
                f"{name!r} is no id", path=entities, line=number, allowed=error.allowed
            ) from error
    if not ids:
        raise InputError("holds no ids", path=entities, allowed="one a line, such as Q42")
    n_entities, n_lines = write_snapshot(graph, ids, out)
    click.echo(f"{out}: {n_entities:,} of {len(set(ids)):,} entities, {n_lines:,} triples")
    for what, count in graph.counts.items():
        click.echo(f"  {count:,} {what}")


@kg.command("link")
@kg_options
@click.option(
    "--questions",
    type=click.Path(path_type=Path),
    required=True,
    help='JSON Lines with "_id" and "text", or BioKaLMA\'s JSON.',
)
@click.option("--ner", help="Installed spaCy model (default: the graph's own labels).")
@click.option("--out", type=click.Path(path_type=Path), help="JSON Lines file of links.")
def link(questions: Path, ner: str | None, out: Path | None, **given: Any) -> None:
    """Find the entities that questions name (KaLMA's retrieval).

    With BioKaLMA's JSON, reports recall and precision against the sub-graphs it was published with.
    """
    from citeforge.engines.files import write_text
    from citeforge.kg.link import Linker, quality

    names, texts, expected = _questions(questions)
    linker = Linker(open_kg(given), ner)
    links, _ = linker.link(texts)
    if out is not None:
        rows = [
            {
                "_id": name,
                "links": [
                    {"name": x.name, "candidates": [c.__dict__ for c in x.candidates]} for x in mine
                ],
            }
            for name, mine in zip(names, links, strict=True)
        ]
        write_text(out, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    n_names = sum(len(x) for x in links)
    n_linked = sum(bool(x.candidates) for mine in links for x in mine)
    several = sum(len(x.candidates) > 1 for mine in links for x in mine)
    click.echo(
        f"{len(texts):,} questions, {n_names:,} names, {n_linked:,} linked, "
        f"{several:,} of them chosen among namesakes"
    )
    if expected is not None:
        found = quality(links, expected)
        click.echo(
            f"against the published sub-graphs: recall {100 * found.recall:.1f}, precision "
            f"{100 * found.precision:.1f} ({found.expected:,} entities expected, "
            f"{found.linked:,} linked)"
        )


def _questions(path: Path) -> tuple[list[str], list[str], list[set[str]] | None]:
    """Ids, texts, and the entities expected where the file says."""
    from citeforge.engines.jsonlines import read_rows
    from citeforge.ir_convert.beir import BeirQuery
    from citeforge.ir_convert.kalma import read_items

    if path.suffix == ".json":
        items = read_items(path)
        ids = [str(i) for i in range(1, len(items) + 1)]
        return ids, [i.question for i in items], [{g.qid for g in i.graphs} for i in items]
    rows = [row for _, row in read_rows(path, BeirQuery)]
    return [r.id for r in rows], [r.text for r in rows], None
