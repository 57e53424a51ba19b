"""Signatures: the line printed with a score that says how it was computed (as in sacreBLEU)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from citeforge.schemas.version import __version__

_PREFIX = {
    "protocol": "p",
    "definition": "def",
    "judge": "judge",
    "segmenter": "seg",
    "grammar": "gram",
    "context": "ctx",
    "benchmark": "bench",
    "asked": "asked",
    "gold": "gold",
    "options": "opt",
    "correction": "corr",
    "plugin": "plug",
    "version": "v",
}


@dataclass(frozen=True)
class Signature:
    """Everything that must be equal for two scores to be comparable.

    Attributes:
        measure: declared name, e.g. ``CiteF1``.
        protocol: ``strict`` or ``reference``.
        definition: version of the measure's definition; None for the first one.
        grammar: index base and grammar, e.g. ``1,strict``.
        context: context set scored, or ``own``.
        benchmark: ``name@`` and the first 8 hex digits of the benchmark hash.
        asked: how many of the first queries are looked at, or of which others (with a hash of their
            ids); None for all queries.
        judge: judge and revision, when the measure has one.
        segmenter: sentence segmenter, when the measure splits sentences.
        gold: gold sets used, where the measure could use several.
        options: further choices that move the number.
        correction: how it was corrected by labels of people, where the corrected value is shown.
        plugin: plugin that brings the measure, with its version; None for a built-in one.
        version: version of citeforge.
    """

    measure: str
    protocol: str
    grammar: str
    context: str
    benchmark: str
    definition: str | None = None
    asked: str | None = None
    judge: str | None = None
    segmenter: str | None = None
    gold: str | None = None
    options: str | None = None
    correction: str | None = None
    plugin: str | None = None
    version: str = __version__

    def __str__(self) -> str:
        """Write the signature as one line: the measure, then ``prefix:value`` parts."""
        values = ((prefix, getattr(self, name)) for name, prefix in _PREFIX.items())
        parts = [f"{prefix}:{value}" for prefix, value in values if value is not None]
        return "|".join([self.measure, *parts])


def differing_parts(first: str, second: str) -> list[str]:
    """List the settings in which two score signatures differ, each with both values."""
    a, b = parse_signature(first), parse_signature(second)
    return [
        f"{key}: {a.get(key, '(absent)')} / {b.get(key, '(absent)')}"
        for key in dict.fromkeys([*a, *b])
        if a.get(key) != b.get(key)
    ]


def without_parts(signature: str, prefixes: Collection[str]) -> str:
    """Remove the settings with given prefixes from a score signature."""
    measure, *parts = signature.split("|")
    return "|".join([measure, *(p for p in parts if p.partition(":")[0] not in prefixes)])


def parse_signature(signature: str) -> dict[str, str]:
    """Split a score signature (settings of a score) into values by prefix, ``measure`` first.

    Raises:
        ValueError: a part has no prefix.
    """
    measure, *parts = signature.split("|")
    values = {"measure": measure}
    for part in parts:
        prefix, colon, value = part.partition(":")
        if not colon:
            raise ValueError(f"the signature has the part {part!r} without a prefix")
        values[prefix] = value
    return values


def joined_signatures(signatures: Iterable[str]) -> list[str]:
    """Merge score signatures that differ only in the measure: ``CiteP,CiteR|…``."""
    names: dict[str, dict[str, None]] = {}
    for signature in signatures:
        name, _, rest = signature.partition("|")
        names.setdefault(rest, {})[name] = None
    return [f"{','.join(measures)}|{rest}" for rest, measures in names.items()]
