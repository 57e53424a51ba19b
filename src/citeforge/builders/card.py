"""The README of a package: metadata for ``datasets`` and the Hub, and text for readers.

Rendered from the manifest, the statistics, ``audit.json``, ``reference_scores.json`` and the
hand-written ``card.md``.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined, Template

from citeforge.builders.audit_sentences import exploit_findings, form_findings
from citeforge.builders.changes import make_build_command
from citeforge.builders.licences import licence_words, licences_of, most_restrictive
from citeforge.engines.files import read_json
from citeforge.engines.markdown import markdown_block, markdown_code, markdown_text
from citeforge.engines.report_table import MarkedCell, Table
from citeforge.engines.shown import DASH, show_amount, show_number, show_rounded
from citeforge.engines.textfiles import validated
from citeforge.ir_convert.registry import citation_of
from citeforge.package.kinds import Kind, kind_of
from citeforge.package.manifest import AUDIT, BY_HAND, FORM, SCORES
from citeforge.schemas.audit import BELOW, LINE, Audit, Exploits, checks_made, is_up_to
from citeforge.schemas.counts import (
    SENSITIVE,
    SENSITIVE_GOLD,
    describe_count,
    describe_entry,
)
from citeforge.schemas.form import FormAudit
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.signature import joined_signatures

_TEMPLATE = Path(__file__).parent / "templates" / "card.md.j2"
_BARS = "▁▂▃▄▅▆▇█"
_SIZES = ((1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"),
          (10_000_000, "1M<n<10M"), (100_000_000, "10M<n<100M"))  # fmt: skip


@dataclass(frozen=True)
class SidecarFiles:
    """Files of a package that are not tables: audit, reference scores and ``card.md``.

    Attributes:
        audit: record of ``audit.json``.
        scores: content of ``reference_scores.json``.
        by_hand: text of ``card.md``.
        form: record of ``form.json``.
    """

    audit: Audit | None = None
    scores: list[dict[str, Any]] = field(default_factory=list)
    by_hand: str = ""
    form: FormAudit | None = None

    @staticmethod
    def read(folder: Path, new_texts: Mapping[str, str] | None = None) -> "SidecarFiles":
        """Read a package's audit, scores and card text; ``new_texts`` has files not written yet.

        Args:
            folder: package.
            new_texts: texts of files that are about to be replaced.

        Raises:
            InputError: a file cannot be read, or ``audit.json`` or ``form.json`` is no audit.
        """

        def read_sidecar(name: str, default: Any) -> Any:
            """Parse a JSON file of the package, or its new text if that is not written yet.

            Args:
                name: name of the file.
                default: result if there is neither.
            """
            if new_texts is not None and name in new_texts:
                return json.loads(new_texts[name])
            return read_json(folder / name) if (folder / name).is_file() else default

        found = read_sidecar(AUDIT, None)
        audit = None if found is None else validated(Audit, found, folder / AUDIT)
        path = folder / BY_HAND
        by_hand = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
        found = read_sidecar(FORM, None)
        form = None if found is None else validated(FormAudit, found, folder / FORM)
        return SidecarFiles(audit, read_sidecar(SCORES, []), by_hand, form)


def render_card(
    manifest: Manifest,
    splits: dict[str, list[str]],
    stats: dict[str, object],
    sidecar: SidecarFiles | None = None,
    query_fields: Mapping[str, str] | None = None,
) -> str:
    """Write a package's card (``README.md``), with its audit and scores (``sidecar``), if any.

    Args:
        manifest: provenance, without the hashes of stats and card.
        splits: config to splits that were written.
        stats: content of ``stats.json``.
        sidecar: audit, reference scores and hand-written text.
        query_fields: fields of the queries, with descriptions of their values.
    """
    sidecar, kind = sidecar or SidecarFiles(), kind_of(manifest)
    header = _make_header(manifest, kind, splits, stats, sidecar)
    front = yaml.safe_dump(header, sort_keys=False, allow_unicode=True)
    audit = sidecar.audit
    rows = [
        (describe_count(key), _with_bars(value))
        for key, value in stats.items()
        if isinstance(value, int | float | str | dict)
    ]
    body = _card_template().render(
        manifest=manifest,
        kind=kind,
        is_hidden=bool(manifest.config.get("hidden_gold")),
        by_hand=sidecar.by_hand,
        command=make_build_command(manifest),
        seed=manifest.config.get("seed", manifest.config.get("selection", {}).get("seed")),
        contexts=[
            (name, context.description, len(context.short))
            for name, context in manifest.contexts.items()
        ],
        statistics=rows,
        fields=list((query_fields or {}).items()),
        counts=[(describe_count(k), format_statistic(n)) for k, n in manifest.counts.items()],
        audit=audit,
        form=sidecar.form,
        checks_made=checks_made,
        flaws=[] if audit is None else _list_flaws(audit),
        exploits_table=exploits_table,
        exploit_findings=exploit_findings,
        form_findings=form_findings,
        show_amount=show_amount,
        licences=[
            (what, licence or "not stated", licence_words(licence))
            for what, licence in licences_of(manifest)
        ],
        binding=most_restrictive(manifest),
        scores=_score_table(sidecar.scores, audit),
        citations=list_citations(manifest),
        sensitive=describe_sensitive(stats),
        table=lambda heads, rows: Table(tuple(heads), list(rows)).markdown(),
    )
    return f"---\n{front}---\n\n{body}"


def describe_sensitive(stats: Mapping[str, object]) -> str:
    """Describe which legally protected facts (such as religion) a graph benchmark states."""
    shown, asked = (stats.get(key) for key in (SENSITIVE, SENSITIVE_GOLD))
    if not isinstance(shown, dict) or not shown:
        return ""
    parts = [f"{relation} of {n:,}" for relation, n in shown.items()]
    gold = asked if isinstance(asked, dict) else {}
    questions = ", ".join(f"{relation} of {n:,}" for relation, n in gold.items())
    return (
        f"Facts of named entities, people among them, that laws protect: {', '.join(parts)}. "
        f"Questions ask for: {questions or 'none of them'}."
    )


def _make_header(
    manifest: Manifest,
    kind: Kind,
    splits: dict[str, list[str]],
    stats: dict[str, object],
    sidecar: SidecarFiles,
) -> dict[str, object]:
    """Make the YAML metadata of a card: licence, languages, size, tags and data files.

    Args:
        manifest: manifest of the package.
        kind: its kind.
        splits: config to splits that have rows.
        stats: content of ``stats.json``.
        sidecar: audit, which knows the languages.
    """
    header: dict[str, object] = {"pretty_name": manifest.name}
    if manifest.licence:
        header["license"] = manifest.licence.lower()
    by_language = {} if sidecar.audit is None else sidecar.audit.languages
    total = sum(by_language.values())
    languages = [n for n, c in by_language.items() if n != "not clear" and c >= 0.05 * total]
    if languages:
        header["language"] = languages
    n = stats.get("queries")
    if isinstance(n, int):
        header["size_categories"] = [next((w for top, w in _SIZES if n < top), "n>100M")]
    header["task_categories"] = list(kind.facts.task_categories)
    header["tags"] = [
        *("citation", "attribution", "retrieval-augmented-generation", "citeforge"), manifest.kind
    ]  # fmt: skip
    header["configs"] = data_configs(splits)
    return header


def data_configs(
    splits: Mapping[str, Iterable[str]], ending: str = "-*.parquet"
) -> list[dict[str, Any]]:
    """List the data files of each split of each table, as ``configs`` of a card.

    Args:
        splits: config to its splits.
        ending: end of the files' names, after that of the split.
    """
    return [
        {
            "config_name": config,
            "data_files": [{"split": n, "path": f"{config}/{n}{ending}"} for n in names],
        }
        for config, names in splits.items()
    ]


def bars(counts: Iterable[float]) -> str:
    """Draw counts as a bar chart in one line, one block per count; a dash if all are 0."""
    values = list(counts)
    top = max(values, default=0)
    if not top:
        return DASH
    return "".join(_BARS[min(7, int(8 * v / top))] if v else "·" for v in values)


@cache
def _card_template() -> Template:
    """Compile the Jinja template of cards, once, with filters for texts and numbers."""
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    environment.filters |= {
        "plain": markdown_text,
        "code": markdown_code,
        "block": markdown_block,
        "percent": lambda share: show_number(100 * share, 1),
        "thousands": lambda number: f"{number:,}",
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))


def format_statistic(value: object) -> str:
    """Format a statistic: at most 4 decimals; a dictionary is cut to its first 8 entries."""
    if isinstance(value, dict):
        parts = [
            f"{describe_entry(key)}: {format_statistic(entry)}"
            for key, entry in list(value.items())[:8]
        ]
        return ", ".join(parts) + ", …" * (len(value) > 8)
    return show_rounded(value, 4) if isinstance(value, int | float) else str(value)


def _with_bars(value: object) -> str:
    """Write a statistic as text; a dictionary of counts gets a bar chart before it."""
    text = format_statistic(value)
    if isinstance(value, dict) and all(isinstance(v, int) for v in value.values()):
        return f"{bars(value.values())} {text}"
    return text


def _list_flaws(audit: Audit) -> list[tuple[str, int]]:
    """List (kind of flaw, count) of an audit; ``[("nothing", 0)]`` if there are none."""
    rows = [(kind, len(flaws)) for kind, flaws in audit.flaws.items()]
    rows += [(f"personal data: {k} (passages)", n) for k, n in audit.personal_data.items()]
    return rows or [("nothing", 0)]


def exploits_table(exploits: Exploits) -> Table:
    """Make the table of degenerate systems' scores; ``≥`` marks those that reach an honest one.

    Args:
        exploits: scores of degenerate and honest systems, by measure.
    """
    measures = list(dict.fromkeys(name for row in exploits.rows for name in row.values))
    rows = [
        [
            f"{row.system} (honest)" if row.is_honest else row.system,
            *(
                MarkedCell(show_number(row.values[m]), mark="≥" * (m in row.reached))
                if m in row.values
                else DASH
                for m in measures
            ),
        ]
        for row in exploits.rows
    ]
    return Table(["system", *measures], rows, notes=exploit_findings(exploits))


def _score_table(scores: list[dict[str, Any]], audit: Audit | None) -> dict[str, Any]:
    """Collect the card's reference scores (a row per measure), notes and signatures.

    The first column is the line to beat, where the audit has one; systems at or below it are
    marked. Empty without scores; only the first measures have room.

    Args:
        scores: score records of systems, content of ``reference_scores.json``.
        audit: audit with the scores of degenerate systems; None without one.

    Returns:
        Values of the card's template: systems, rows, notes, signatures.
    """
    lines = {} if audit is None or audit.exploits is None else audit.exploits.lines
    entries = [{m["name"]: m for m in s["measures"]} for s in scores]
    names = list(dict.fromkeys(name for of_system in entries for name in of_system))[:12]
    systems = [
        f"{s['system']}{' (control)' * s.get('is_control', False)}, {s['context']}" for s in scores
    ]
    of_measure = {
        n: show_number(line, of_system[n]["digits"])
        for n in names
        for of_system in entries
        if n in of_system and (line := lines.get(of_system[n]["signature"])) is not None
    }
    rows = [
        [
            n,
            *([of_measure.get(n, DASH)] if of_measure else []),
            *(
                _format_measure(of_system.get(n), None if s.get("is_control") else lines)
                for s, of_system in zip(scores, entries, strict=True)
            ),
        ]
        for n in names
    ]
    return {
        "systems": [LINE] * bool(of_measure) + systems,
        "has_line": bool(of_measure),
        "rows": rows,
        "notes": list(dict.fromkeys(note for s in scores for note in s["notes"])),
        "signatures": joined_signatures(
            of_system[n]["signature"] for of_system in entries for n in names if n in of_system
        ),
    } if scores else {}  # fmt: skip


def _format_measure(
    measure: dict[str, Any] | None, lines_to_beat: Mapping[str, float] | None
) -> str:
    """Format a score; mark it if it is not above its line to beat (a trivial system's score).

    Args:
        measure: record of a measure in a file of scores; None if the system lacks it.
        lines_to_beat: signature of a measure to its line to beat; None to mark nothing.
    """
    if measure is None or measure["value"] is None:
        return DASH
    is_below = lines_to_beat and is_up_to(measure["value"], lines_to_beat.get(measure["signature"]))
    return str(MarkedCell(measure["text"], mark=BELOW * bool(is_below)))


def list_citations(manifest: Manifest) -> str:
    """Join the BibTeX entries of a package's paper and of its sources."""
    names = [kind_of(manifest).facts.paper, *(s.kind for s in manifest.sources)]
    return "\n".join(dict.fromkeys(c for n in names if (c := citation_of(n))))
