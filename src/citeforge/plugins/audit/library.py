"""Auditing benchmarks from Python."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from citeforge.engines.io.report_table import Displayed, Table
from citeforge.package.package import Package
from citeforge.plugins.audit.options import AuditOptions
from citeforge.plugins.audit.run import audit as look
from citeforge.plugins.audit.run import ratchet, read_known, write_known
from citeforge.publish.card import write_card
from citeforge.schemas.benchmarks.audit import Audit, Flaw, checks_made
from citeforge.schemas.errors import extras_named
from citeforge.schemas.recipes.base import RunOptions


@dataclass(frozen=True, repr=False)
class Audited(Displayed):
    """What an audit came to.

    Attributes:
        result: what ``audit.json`` holds.
        accepted: flaws written to the file of accepted ones; None where nobody asked for it.
        new: with ``strict``, flaws that are not accepted.
        stale: with ``strict``, accepted (kind, query, passage) that are gone.
    """

    result: Audit
    accepted: int | None
    new: list[Flaw]
    stale: list[tuple[str, str, str]]

    def _headline(self) -> str:
        n_flaws = sum(map(len, self.result.flaws.values()))
        return f"audit: {checks_made(self.result.checks)}, {n_flaws:,} flaws"

    def _tables(self) -> Iterator[Table]:
        rows = [(kind, len(rows), rows[0].detail) for kind, rows in self.result.flaws.items()]
        notes = [f"{check}: {how}" for check, how in self.result.checks.items()]
        yield Table(["flaw", "rows", "the first one"], rows, notes=notes)


@extras_named()
def audit(
    benchmark: str | Path, options: AuditOptions | None = None, *, run: RunOptions | None = None
) -> Audited:
    """Look for flaws in a package: what ``citeforge audit`` does.

    Writes ``audit.json`` into the package and renders its card again.

    Args:
        benchmark: folder of a package that verifies.
        options: what is looked at besides the package.
        run: where a judge and a cross-encoder run, what they may cost.

    Raises:
        InputError: not a package, or a file named in the options is at fault.
        UsageError: there is no such judge.
    """
    options = options or AuditOptions()
    path, accepted = options.known_flaws, set[tuple[str, str, str]]()
    if path is not None and options.strict and not options.accept:
        accepted = read_known(path)
    package = Package(Path(benchmark))
    result, survey = look(package, options, run)
    text = result.model_dump_json(indent=1) + "\n"
    write_card(package.folder, audit=text, checked=package, lengths=survey.lengths)
    flaws = [f for rows in result.flaws.values() for f in rows]
    if path is not None and options.accept:
        write_known(path, flaws)
        return Audited(result, len(flaws), [], [])
    return Audited(result, None, *(ratchet(flaws, accepted) if options.strict else ([], [])))
