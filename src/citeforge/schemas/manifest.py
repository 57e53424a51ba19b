"""The manifest: provenance of a benchmark and the sha256 of every file in it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from citeforge.schemas.sources import MaybeOfPlugin, SourceInfo
from citeforge.schemas.tables import SCHEMA_VERSION


class GrammarInfo(BaseModel):
    """The citation grammar that prompts of this benchmark ask for.

    Attributes:
        base: number of the first passage.
        name: rules that ``strict`` read marks by when the package was built; scores say which they
            were read by.
        form: a citation as the prompt shows it; ``(n)`` makes round brackets citations.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: int = 1
    name: str = "strict2"
    form: str = "[n]"


class ContextSet(BaseModel):
    """One frozen context set.

    Attributes:
        description: what it holds, in words.
        sizes: label to the number asked for.
        short: query id to labels with fewer than asked (label to number found).
    """

    model_config = ConfigDict(extra="forbid")

    description: str
    sizes: dict[str, int] = {}
    short: dict[str, dict[str, int]] = {}


class Manifest(MaybeOfPlugin, BaseModel):
    """``manifest.json`` of a package.

    Attributes:
        schema_version: version of the table schemas.
        kind: builder that made it, e.g. ``rage``.
        name: name of the benchmark, part of every signature.
        version: version of the benchmark.
        citeforge: version of citeforge that built it.
        licence: SPDX identifier or words; None when nobody said.
        sources: where the data come from.
        config: every choice of the build.
        models: fingerprints of models that decided something.
        grammar: citation grammar and index base.
        contexts: frozen context sets by name.
        counts: numbers of what was kept, merged, skipped or excluded.
        short_mappings: query id to labels with fewer mapped passages than asked.
        empty_tables: tables that have no rows and were not written.
        libraries: versions that the tables depend on.
        files: relative file name to sha256, all files but this one.
        benchmark_hash: sha256 over the sorted ``sha256  path`` lines of the Parquet files.
        manifest_sha256: sha256 of this manifest with this field empty.
    """

    model_config = ConfigDict(extra="forbid")

    schema_version: int = SCHEMA_VERSION
    kind: str
    name: str
    version: str = "1.0.0"
    citeforge: str
    licence: str | None = None
    sources: list[SourceInfo]
    config: dict[str, Any]
    models: dict[str, dict[str, Any]] = {}
    grammar: GrammarInfo = GrammarInfo()
    contexts: dict[str, ContextSet]
    counts: dict[str, int] = {}
    short_mappings: dict[str, dict[str, int]] = {}
    empty_tables: list[str] = []
    libraries: dict[str, str] = {}
    files: dict[str, str] = {}
    benchmark_hash: str = ""
    manifest_sha256: str = ""
