"""The README of a package: YAML that ``datasets`` reads, and what a reader needs to know."""

from __future__ import annotations

import yaml

from citeforge.schemas.manifest import Manifest


def render_card(manifest: Manifest, splits: dict[str, list[str]], stats: dict[str, object]) -> str:
    """Text of ``README.md``.

    Args:
        manifest: provenance, without the hashes of stats and card.
        splits: config to splits that were written.
        stats: what ``stats.json`` holds.
    """
    header: dict[str, object] = {
        "pretty_name": manifest.name,
        "tags": ["citation", "attribution", "retrieval-augmented-generation", "citeforge"],
        "task_categories": ["question-answering", "text-retrieval"],
        "configs": [
            {
                "config_name": config,
                "data_files": [
                    {"split": split, "path": f"{config}/{split}-*.parquet"} for split in names
                ],
            }
            for config, names in splits.items()
        ],
    }
    if manifest.licence:
        header["license"] = manifest.licence.lower()
    front = yaml.safe_dump(header, sort_keys=False, allow_unicode=True)
    return f"---\n{front}---\n\n{_body(manifest, stats)}"


def _body(manifest: Manifest, stats: dict[str, object]) -> str:
    sources = "\n".join(
        f"- `{s.spec}`"
        + (f", split `{s.split}`" if s.split else "")
        + (f", revision `{s.revision}`" if s.revision else "")
        + f"; licence: {s.licence or 'not stated'}"
        for s in manifest.sources
    )
    contexts = "\n".join(f"| `{n}` | {c.description} |" for n, c in manifest.contexts.items())
    table = "\n".join(
        f"| {k} | {v} |" for k, v in stats.items() if isinstance(v, int | float | str)
    )
    models = "\n".join(
        f"- {role}: `{m.get('name')}` "
        + ", ".join(f"{k} {v}" for k, v in m.items() if k != "name" and v != "")
        for role, m in manifest.models.items()
    )
    return f"""# {manifest.name}

A benchmark for cited generation, built with citeforge {manifest.citeforge}. A system is shown the
passages of one context set for each query and cites them as `{manifest.grammar.form}`, counted from
{manifest.grammar.base}. The contexts are frozen, so that two systems are always scored on the same
ones.

Benchmark hash: `{manifest.benchmark_hash}`

## Sources

{sources}

## Contexts

| context set | what it holds |
| --- | --- |
{contexts}

## Statistics

| what | value |
| --- | --- |
{table}

## Models

{models or "No model decided anything in this benchmark."}

## Scoring

```
citeforge check SUBMISSION.jsonl --benchmark .
citeforge score SUBMISSION.jsonl --benchmark .
```

Every choice of the build stands in `manifest.json`, with the sha256 of every file.
"""
