"""Records that describe where a benchmark's data come from."""

import re
from collections.abc import Callable
from typing import Any

from pydantic import SerializerFunctionWrapHandler, field_serializer, model_serializer

from citeforge.schemas.record import FrozenRecord, Record

GRAPH = "kg"
"""Kind of a source that is a knowledge graph."""


class Declaration(FrozenRecord):
    """One kind of source that citeforge reads, as DATASETS.md shows it.

    Attributes:
        name: prefix in ``--source name:argument``.
        title: name of the format or data set.
        factory: class of the source, or function that opens one: takes what follows the colon, the
            split (None for its default) and a :class:`~citeforge.ir_convert.source.ReadOptions`.
            None for a built-in source, which :func:`~citeforge.ir_convert.registry.open_source`
            opens.
        argument: description of what follows the colon.
        splits: splits it has, in words.
        becomes: what its parts become in a package.
        licence: licence of the data, in words.
        licence_id: SPDX identifier, when the source has one licence.
        has_claims: whether it has claims instead of judgements, so that a judge decides relevance.
        may_lack_judgements: whether it is read without judgements, for a judge to make them.
        strict: whether rows may have no unknown field; other sources leave these out and count
            them.
        keeps_fields: whether unknown fields can be kept as metadata, as strict sources can.
        citation: BibTeX entry.
    """

    name: str
    title: str
    factory: Callable[..., Any] | None = None
    argument: str
    splits: str
    becomes: str
    licence: str
    licence_id: str | None = None
    has_claims: bool = False
    may_lack_judgements: bool = False
    strict: bool = False
    keeps_fields: bool = False
    citation: str

    @property
    def form(self) -> str:
        """What users type to choose this kind of source: ``NAME:ARGUMENT``."""
        return f"{self.name}:ARGUMENT"

    @property
    def help(self) -> str:
        """Description of the source in one line."""
        return self.title


class MaybeOfPlugin(Record):
    """Record that names the plugin that made it, if one did.

    Attributes:
        plugin: name and version of the plugin; not written when there is none.
    """

    plugin: str | None = None

    @model_serializer(mode="wrap")
    def _omit_absent_plugin(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Serialise the record, leaving ``plugin`` out if no plugin made it."""
        fields: dict[str, Any] = handler(self)
        if fields.get("plugin") is None:
            fields.pop("plugin", None)  # manifests of before, and their hashes, stay what they are
        return fields


_FOLDER = re.compile(
    r"(?P<kind>(?:[a-z][\w-]+:)*)(?!//[^/])(?:[/~]|\.{1,2}[/\\]|[A-Za-z]:[/\\]).*?(?P<name>[^/\\]+)[/\\]*"
)


def without_folders(text: str) -> str:
    """Cut the folders from a path or ``KIND:PATH``; other texts stay as they are.

    Published files name no folder of the machine that a benchmark was built on. A path that is
    relative to the working folder and stays in it is kept.
    """
    match = _FOLDER.fullmatch(text)
    return text if match is None else f"{match['kind']}{match['name']}"


class SourceInfo(MaybeOfPlugin):
    """Provenance of one opened source; goes into the manifest.

    Attributes:
        spec: as the user named it, e.g. ``beir:data/nq``.
        kind: name of its declaration.
        split: split that was read.
        revision: commit of a Hub repository.
        licence: SPDX identifier or the user's words; None where none is stated.
        files: file name to sha256 of what was read.
        rules: choices that decided what is relevant.
        counts: what was passed over, merged or not resolved, by key.
    """

    spec: str
    kind: str
    split: str | None = None
    revision: str | None = None
    licence: str | None = None
    files: dict[str, str] = {}
    rules: dict[str, str] = {}
    counts: dict[str, int] = {}

    @field_serializer("counts")
    def _sort_counts(self, counts: dict[str, int]) -> dict[str, int]:
        """Sort counts by key when written, so that a resumed build writes the same file."""
        return dict(sorted(counts.items()))

    @property
    def is_graph(self) -> bool:
        """Whether the source is a knowledge graph, from which questions are generated."""
        return self.spec.startswith(f"{GRAPH}:")

    @property
    def public_spec(self) -> str:
        """Source as users named it (``KIND:PATH``), without folders of this machine."""
        return without_folders(self.spec)
