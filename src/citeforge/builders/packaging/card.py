"""The README of a package: YAML for ``datasets`` and the Hub, and what a reader needs to know.

Rendered from the manifest, the statistics, and what lies beside them: ``audit.json``,
``reference_scores.json`` and the hand-written ``card.md``. Nothing in it is kept by hand but that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from citeforge.builders.audit.records import Audit, checks_made
from citeforge.builders.packaging.licences import licence_words, licences_of, most_restrictive
from citeforge.builders.recipes.command import command_of
from citeforge.engines.io.files import read_json
from citeforge.engines.io.report_table import Table
from citeforge.engines.io.textfiles import validated
from citeforge.ir_convert.registry import citation_of
from citeforge.package.kinds import kind_of
from citeforge.package.manifest import AUDIT, BY_HAND, SCORES
from citeforge.schemas.benchmarks.manifest import Manifest

_BARS = "▁▂▃▄▅▆▇█"
_SIZES = ((1000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"),
          (10_000_000, "1M<n<10M"), (100_000_000, "10M<n<100M"))  # fmt: skip


@dataclass(frozen=True)
class Beside:
    """What lies beside the tables.

    Attributes:
        audit: content of ``audit.json``.
        scores: content of ``reference_scores.json``.
        by_hand: text of ``card.md``.
    """

    audit: dict[str, Any] | None = None
    scores: list[dict[str, Any]] = field(default_factory=list)
    by_hand: str = ""

    @staticmethod
    def read(folder: Path, changed: Mapping[str, str] | None = None) -> Beside:
        """Read it from a package.

        Args:
            folder: package.
            changed: texts of files that are about to be replaced.

        Raises:
            InputError: a file cannot be read, or ``audit.json`` is no audit.
        """

        def content(name: str, otherwise: Any) -> Any:
            if changed is not None and name in changed:
                return json.loads(changed[name])
            return read_json(folder / name) if (folder / name).is_file() else otherwise

        audit, scores = content(AUDIT, None), content(SCORES, [])
        if audit is not None:
            validated(Audit, audit, folder / AUDIT)
        path = folder / BY_HAND
        by_hand = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
        return Beside(audit, scores, by_hand)


def render_card(
    manifest: Manifest,
    splits: dict[str, list[str]],
    stats: dict[str, object],
    beside: Beside | None = None,
) -> str:
    """Text of ``README.md``.

    Args:
        manifest: provenance, without the hashes of stats and card.
        splits: config to splits that were written.
        stats: what ``stats.json`` holds.
        beside: what lies beside the tables.
    """
    beside = beside or Beside()
    front = yaml.safe_dump(
        _header(manifest, splits, stats, beside), sort_keys=False, allow_unicode=True
    )
    return f"---\n{front}---\n\n{_body(manifest, stats, beside)}"


def _header(
    manifest: Manifest, splits: dict[str, list[str]], stats: dict[str, object], beside: Beside
) -> dict[str, object]:
    header: dict[str, object] = {"pretty_name": manifest.name}
    if manifest.licence:
        header["license"] = manifest.licence.lower()
    found = (beside.audit or {}).get("languages", {})
    total = sum(found.values())
    languages = [n for n, c in found.items() if n != "not clear" and c >= 0.05 * total]
    if languages:
        header["language"] = languages
    n = stats.get("queries")
    if isinstance(n, int):
        header["size_categories"] = [next((w for top, w in _SIZES if n < top), "n>100M")]
    header["task_categories"] = list(kind_of(manifest).task_categories)
    header["tags"] = [
        *("citation", "attribution", "retrieval-augmented-generation", "citeforge"), manifest.kind
    ]  # fmt: skip
    header["configs"] = [
        {
            "config_name": config,
            "data_files": [
                {"split": split, "path": f"{config}/{split}-*.parquet"} for split in names
            ],
        }
        for config, names in splits.items()
    ]
    return header


def bars(counts: Iterable[float]) -> str:
    """A chart of one line: one block a value."""
    values = list(counts)
    top = max(values, default=0)
    if not top:
        return "–"
    return "".join(_BARS[min(7, int(8 * v / top))] if v else "·" for v in values)


def _body(manifest: Manifest, stats: dict[str, object], beside: Beside) -> str:
    kind = kind_of(manifest)
    shown = "triples of the sub-graphs" if kind.shows_triples else "passages"
    counted = "" if kind.shows_triples else f", counted from {manifest.grammar.base}"
    parts = [
        f"# {manifest.name}",
        f"A benchmark for cited generation: {kind.about}. A system "
        f"is shown the {shown} of one context set for each query and cites them as "
        f"`{manifest.grammar.form}`{counted}. The contexts are frozen, so that two systems are "
        "always scored on the same ones.",
        f"Version {manifest.version}. Benchmark hash: `{manifest.benchmark_hash}`",
    ]
    if beside.by_hand:
        parts.append(beside.by_hand)
    parts += [
        "## How it was built",
        _command(manifest),
        f"With citeforge {manifest.citeforge}. {_seed(manifest)}Every choice stands in "
        "`manifest.json`, with the sha256 of every file.",
        _models(manifest),
        "## Contexts",
        Table(
            ("context set", "what it holds", "queries that fall short"),
            [(f"`{n}`", _plain(c.description), len(c.short)) for n, c in manifest.contexts.items()],
        ).markdown(),
        "## Statistics",
        Table(
            ("what", "value"),
            [(k, _value(v)) for k, v in stats.items() if isinstance(v, int | float | str | dict)],
        ).markdown(),
    ]
    if manifest.counts:
        parts += ["### What was kept, merged, skipped or dropped",
                  Table(("what", "count"), list(manifest.counts.items())).markdown()]  # fmt: skip
    parts += [f"**Note:** {text}." for text in manifest.warnings]
    parts += [*_audit(beside.audit), *_licences(manifest), *_scores(beside.scores)]
    parts += [
        "## Scoring",
        "```\nciteforge check SUBMISSION.jsonl --benchmark .\n"
        "citeforge score SUBMISSION.jsonl --benchmark .\n```",
        'A submission has one JSON line a query: `{"query_id": …, "output": …}`, and `context` '
        "where there are several context sets.",
        "## Citation",
        f"```bibtex\n{_citations(manifest)}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _command(manifest: Manifest) -> str:
    command = command_of(manifest)
    if command is None:
        return "The manifest does not hold the choices of a `citeforge build`."
    return f"```\n{command}\n```"


def _seed(manifest: Manifest) -> str:
    seed = manifest.config.get("seed", manifest.config.get("selection", {}).get("seed"))
    return "" if seed is None else f"Seed {seed}. "


def _models(manifest: Manifest) -> str:
    lines = [
        f"- {_plain(role)}: `{_plain(m.get('name')).replace('`', '')}` "
        + ", ".join(f"{_plain(k)} {_plain(v)}" for k, v in m.items() if k != "name" and v != "")
        for role, m in manifest.models.items()
    ]
    prompts = manifest.config.get("prompts", {})
    lines += [f"- prompt {name}: sha256 `{sha}`" for name, sha in prompts.items()]
    return "\n".join(lines) or "No model decided anything in this benchmark."


def _plain(text: object) -> str:
    """What others say, as one line of Markdown without tags."""
    return " ".join(str(text).split()).replace("<", "&lt;")


def _value(value: object) -> str:
    if not isinstance(value, dict):
        return f"{value:,}" if isinstance(value, int) else str(value)
    numbers = [v for v in value.values() if isinstance(v, int | float)]
    shown = ", ".join(f"{k} {v}" for k, v in list(value.items())[:8])
    return f"`{bars(numbers)}` {shown}{', …' if len(value) > 8 else ''}"


def _audit(audit: dict[str, Any] | None) -> list[str]:
    if audit is None:
        return ["## Audit", "This benchmark was not audited (`citeforge audit DIR`)."]
    rows = [(kind, len(found)) for kind, found in audit["flaws"].items()]
    rows += [(f"personal data: {k} (passages)", n) for k, n in audit["personal_data"].items()]
    languages = ", ".join(f"{k} {n}" for k, n in list(audit["languages"].items())[:6])
    share = audit.get("false_negatives")
    text = "Share of negatives that are relevant: not estimated; nobody labelled a sample."
    if share:
        text = (
            f"Estimated share of negatives that are relevant: **{100 * share['share']:.1f} %** "
            f"[{100 * share['low']:.1f}, {100 * share['high']:.1f}] (95 %, "
            f"{'exact' if audit.get('cascade') is None else share['method']}), from "
            f"{share['n']} labelled of {audit['negatives']:,} negatives."
        )
    cascade = audit.get("cascade")
    if cascade:
        text += " " + _cascade(cascade)
    return [
        "## Audit and known flaws",
        f"{checks_made(audit['checks'])}:",
        Table(("check", "how"), list(audit["checks"].items())).markdown(),
        Table(("found", "rows"), rows or [("nothing", 0)]).markdown(),
        f"Languages of a sample: {languages or 'not looked at'}.",
        text,
    ]


def _cascade(cascade: dict[str, Any]) -> str:
    """How suspects were decided."""
    strata = ", ".join(f"{n:,} {name}" for name, n in cascade["strata"].items())
    text = f"Suspects were decided by {', then '.join(cascade['stages'])}: {strata}."
    after = cascade.get("after")
    if after:
        share, low, high = (100 * after[end] for end in ("share", "low", "high"))
        text += f" Of those that stay when the relevant ones go: **{share:.1f} %** "
        text += f"[{low:.1f}, {high:.1f}]."
    return text


def _licences(manifest: Manifest) -> list[str]:
    rows = [(_plain(what), _plain(lic or "not stated"), licence_words(lic))
            for what, lic in licences_of(manifest)]  # fmt: skip
    binding = _plain(most_restrictive(manifest) or "not stated")
    return [
        "## Licences",
        Table(("source", "licence", "kind"), rows).markdown(),
        f"The most restrictive one: **{binding}**. The benchmark is under "
        f"**{_plain(manifest.licence or 'no stated licence')}**.",
    ]


def _scores(scores: list[dict[str, Any]]) -> list[str]:
    if not scores:
        return []
    names = list(dict.fromkeys(m["name"] for s in scores for m in s["measures"]))[:12]
    rows = []
    for found in scores:
        known = {m["name"]: m for m in found["measures"]}
        cells = [_plain(found["system"]), _plain(found["context"])]
        for name in names:
            m = known.get(name)
            if m is None or m["value"] is None:
                cells.append("–")
            elif m["low"] is None:
                cells.append(f"{m['value']:.2f}")
            else:
                cells.append(f"{m['value']:.2f} [{m['low']:.2f}, {m['high']:.2f}]")
        rows.append(cells)
    signatures = dict.fromkeys(
        m["signature"] for s in scores for m in s["measures"] if m["name"] in names
    )
    return [
        "## Reference scores",
        Table(("system", "context", *names), rows).markdown(),
        "\n".join(f"- `{s}`" for s in signatures),
    ]


def _citations(manifest: Manifest) -> str:
    """BibTeX of the paper that the kind comes from, and of the sources."""
    names = [kind_of(manifest).paper, *(s.kind for s in manifest.sources)]
    return "\n".join(dict.fromkeys(c for n in names if (c := citation_of(n))))
