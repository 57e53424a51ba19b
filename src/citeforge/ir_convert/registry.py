"""Sources by name: declarations of the built-in ones (``data``), and those of plugins."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from citeforge.engines.catalogue import MakerCatalogue
from citeforge.engines.plugins import with_broken_files
from citeforge.ir_convert.alce import open_alce
from citeforge.ir_convert.attrieval import open_attrieval
from citeforge.ir_convert.beir import open_beir
from citeforge.ir_convert.corpus import open_corpus_files
from citeforge.ir_convert.hagrid import open_hagrid, open_hagrid_hub
from citeforge.ir_convert.hub import open_corpus_hub, open_judged, open_rage
from citeforge.ir_convert.kalma import open_kalma
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.sources import Declaration, SourceInfo

STRICT = ("beir", "hagrid", "hagrid-hub")
"""Sources whose rows may have no unknown field; others leave unknown fields out and count them."""
_KEEPING = (
    *STRICT,
    "beir-hub",
    "mteb",
    "rage",
    "rage-hub",
    "corpus",
    "corpus-hub",
    "miracl",
    "trec",
)
"""Sources that can keep unknown fields as metadata."""
_OPENERS: dict[str, Callable[..., Source]] = {
    "beir": open_beir,
    "beir-hub": partial(open_judged, "beir-hub", "-qrels", ("default",)),
    "hagrid": open_hagrid,
    "hagrid-hub": open_hagrid_hub,
    "alce": open_alce,
    "rage": partial(open_rage, "rage"),
    "rage-hub": partial(open_rage, "rage-hub"),
    "mteb": partial(open_judged, "mteb", "", ("default", "qrels")),
    "attrieval": open_attrieval,
    "corpus": open_corpus_files,
    "corpus-hub": open_corpus_hub,
    "kalma": open_kalma,
}


def declared_sources(
    folder: Path, openers: Mapping[str, Callable[..., Source]]
) -> dict[str, Declaration]:
    """Read the declarations of sources from ``sources.toml`` and ``sources.bib``.

    Args:
        folder: folder with ``sources.toml``, one table per source, and ``sources.bib``, which these
            cite.
        openers: source to the function that opens it.

    Raises:
        LookupError: a source has no declaration, no function, or a citation without an entry.
    """
    bib = (folder / "sources.bib").read_text(encoding="utf-8").strip().split("\n\n")
    entries = {"": "", **{entry.partition("{")[2].partition(",")[0]: entry for entry in bib}}
    rows = tomllib.loads((folder / "sources.toml").read_text(encoding="utf-8"))
    cited = {name: row.pop("citation", "") for name, row in rows.items()}
    for name in sorted(rows.keys() ^ openers.keys()):
        raise LookupError(f"{name!r} needs a table in {folder}/sources.toml, and a function")
    for name in sorted(set(cited.values()) - set(entries)):
        raise LookupError(f"{name!r}, which sources.toml cites, needs an entry in sources.bib")
    return {
        name: Declaration(name=name, factory=openers[name], citation=entries[cited[name]], **row)
        for name, row in rows.items()
    }


DECLARATIONS = declared_sources(Path(__file__).parent / "data", _OPENERS)


def _unknown_source_error(spec: str) -> UsageError:
    """Make the error for an unknown source, or a ``--source`` that is not ``KIND:ARGUMENT``."""
    name, _, argument = spec.partition(":")
    names = list(SOURCES.names())
    if argument and name not in names:
        return UnknownValueError("source", name, names)
    kinds = ", ".join(names)
    return UsageError(
        f"--source {spec!r}: expected KIND:ARGUMENT, with KIND of {kinds}", code="bad-option"
    )


SOURCES: MakerCatalogue[Declaration, Source] = MakerCatalogue(
    "sources",
    "source",
    Declaration,
    list(DECLARATIONS.values()),
    requires="info passages queries relevant gold mined locate_judgement",
    unknown=_unknown_source_error,
)


def info_of(source: Source, licence: str | None) -> SourceInfo:
    """Get the provenance of a source, including its licence.

    Args:
        source: the source.
        licence: licence to record if neither the source nor its declaration names one.
    """
    info, declared = source.info(), SOURCES.find(source.info().kind)
    info.licence = info.licence or (declared and declared.licence_id) or licence
    return info


def citation_of(name: str) -> str:
    """Get the BibTeX entry of a source; empty for an unknown source."""
    declared = SOURCES.find(name)
    return "" if declared is None else declared.citation


def require_strict(option: str, *specs: str | None) -> None:
    """Raise an error if ``--extra-fields`` is set and no source can do as it says.

    Raises:
        UsageError: none keeps unknown fields, or, to ignore them, none has a strict format.
    """
    names = [spec.partition(":")[0] for spec in specs if spec]
    able = _KEEPING if option == "keep" else STRICT
    if option != "refuse" and not set(names) & set(able):
        raise UsageError(
            f"--extra-fields {option}: it is for {', '.join(f'{n}:' for n in able)}; from "
            f"{', '.join(f'{n}:' for n in names)} only the columns of its format are read, and "
            "others are counted",
            code="option-without-effect",
        )


def open_source(spec: str, split: str | None, options: ReadOptions) -> Source:
    """Open the data source with the name ``KIND:ARGUMENT``, such as ``beir:PATH``.

    Raises:
        UsageError: no colon, nothing behind it, or an unknown kind.
        InputError: the source cannot be read, or a broken plugin.
    """
    return SOURCES.maker(spec)(split, options)


def open_corpus(spec: str, split: str | None, options: ReadOptions, option: str) -> Source:
    """Open a source to read only its passages.

    Args:
        spec: ``kind:argument``.
        split: split of the source; None for its default.
        options: permissions.
        option: option that named the source, for messages.

    Raises:
        UsageError: no colon, nothing behind it, or an unknown kind.
        InputError: the source cannot be read, or a broken plugin.
    """
    name, _, argument = spec.partition(":")
    if not argument:
        raise UsageError(
            f"{option} {spec!r}: expected KIND:ARGUMENT, such as corpus:FOLDER; see "
            "`citeforge list sources`",
            code="bad-option",
        )
    if SOURCES.find(name) is None:
        error = with_broken_files(_unknown_source_error(spec))
        raise UsageError(f"{option} {spec!r}: {error}", code=error.code)
    return SOURCES.maker(spec)(split, replace(options, passages_only=True))
