"""Sources by name: what is said of each, and :func:`open_source`, which imports and opens one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.plugins import with_broken_files
from citeforge.ir_convert.recognition import recognise_source
from citeforge.schemas.errors import UnknownValueError, UsageError
from citeforge.schemas.sources import Declaration, SourceInfo

if TYPE_CHECKING:
    from citeforge.ir_convert.source import ReadOptions, Source
    from citeforge.schemas.recipes.base import ExtraFields


def read_bibliography(path: Path) -> dict[str, str]:
    """Map the keys of a BibTeX file, whose entries are separated by blank lines, to its entries."""
    entries = path.read_text(encoding="utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


_PAPERS = read_bibliography(Path(__file__).parent / "data" / "sources.bib")


_ROWS = (
    Declaration(
        name="beir",
        title="BEIR folder or zip",
        argument=(
            "folder, or .zip of one, with corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv; of "
            "several data sets PATH#NAME"
        ),
        splits="every qrels/SPLIT.tsv (default test)",
        becomes=(
            "corpus, queries; judgements above zero become `mapping/relevant`; without judgements "
            "see `--judge-pool`"
        ),
        licence="that of each data set; give it with --licence",
        may_lack_judgements=True,
        strict=True,
        citation=_PAPERS["thakur2021beir"],
    ),
    Declaration(
        name="beir-hub",
        title="BEIR on the Hub",
        argument="REPO[@revision]; judgements are read from REPO-qrels",
        splits="splits of REPO-qrels (default test)",
        becomes="corpus, queries; judgements above zero become `mapping/relevant`",
        licence="that of each data set; give it with --licence",
        keeps_fields=True,
        citation=_PAPERS["thakur2021beir"],
    ),
    Declaration(
        name="hagrid",
        title="HAGRID JSON Lines",
        argument="a train.jsonl or dev.jsonl in HAGRID's layout",
        splits="one file is one split: train (1,922 questions), dev (716)",
        becomes=(
            "quotes become corpus and `mapping/relevant`; all answers with type, labels, sentence"
            " labels and citations become `gold`"
        ),
        licence="Apache-2.0; passages from Wikipedia, CC BY-SA",
        licence_id="cc-by-sa-3.0",
        strict=True,
        citation=_PAPERS["kamalloo2023hagrid"],
    ),
    Declaration(
        name="hagrid-hub",
        title="HAGRID on the Hub",
        argument="train or dev, optionally @revision",
        splits="train (1,922 questions), dev (716)",
        becomes=(
            "quotes become corpus and `mapping/relevant`; all answers with type, labels, sentence"
            " labels and citations become `gold`"
        ),
        licence="Apache-2.0; passages from Wikipedia, CC BY-SA",
        licence_id="cc-by-sa-3.0",
        strict=True,
        citation=_PAPERS["kamalloo2023hagrid"],
    ),
    Declaration(
        name="alce",
        title="ALCE items (ASQA, QAMPARI, ELI5)",
        argument="a JSON file: a list of items, or an object with `data`",
        splits="one file is one split (eval)",
        becomes=(
            "docs become corpus; those that carry a short answer `mapping/relevant`; qa_pairs, "
            "long answers and answer lists `gold`. ELI5 needs `--judge`: docs that entail a claim"
        ),
        licence="MIT (ALCE's files); the questions keep the licence of their data set",
        licence_id="mit",
        has_claims=True,
        citation=_PAPERS["gao2023alce"],
    ),
    Declaration(
        name="rage",
        title="RAGE package, local",
        argument="folder with the configs corpus, queries, mapping",
        splits="one",
        becomes="corpus, queries and the three mappings as they are; `--remine` mines anew",
        licence="that of the package",
        keeps_fields=True,
        citation=_PAPERS["penzkofer2024rage"],
    ),
    Declaration(
        name="rage-hub",
        title="RAGE package on the Hub",
        argument="REPO[@revision], such as othr-nlp/rage_nq or othr-nlp/rage_hotpotqa",
        splits="one",
        becomes="corpus, queries and the three mappings as they are; `--remine` mines anew",
        licence="that of the package",
        keeps_fields=True,
        citation=_PAPERS["penzkofer2024rage"],
    ),
    Declaration(
        name="mteb",
        title="MTEB retrieval",
        argument=(
            "REPO[@revision] or a folder with the configs corpus, queries, default or qrels; with"
            " #hi those of a language, such as hi-corpus"
        ),
        splits="those of its judgements (default test)",
        becomes=(
            "corpus, queries; judgements above zero become `mapping/relevant`. The `instruction` "
            "of a query follows its text; other columns are counted, or kept with `--extra-fields"
            " keep`"
        ),
        licence="that of each data set; give it with --licence",
        keeps_fields=True,
        citation=_PAPERS["muennighoff2023mteb"],
    ),
    Declaration(
        name="attrieval",
        title="AttriEval, and MS MARCO QA rows",
        argument="folder saved by `datasets`, or JSON Lines; passages{passage_text, is_selected}",
        splits="one",
        becomes=(
            "passages become corpus, selected ones `mapping/relevant`, the others "
            "`mapping/seemingly_relevant` in the order listed; answers `gold`"
        ),
        licence="that of each data set; give it with --licence",
        citation=_PAPERS["abolghasemi2025evaluation"],
    ),
    Declaration(
        name="corpus",
        title="Passages alone",
        argument=(
            "a .jsonl, .jsonl.gz or .parquet file with `_id` (or id, docid, doc_id, pid), `text` "
            "(or contents, passage) and `title`, or a folder of them"
        ),
        splits="one",
        becomes=(
            "passages to mine from, with `--extra-corpus` or `build alce --corpus`; other fields "
            "are counted, or kept with `--extra-fields keep`"
        ),
        licence="say it with --extra-licence",
        keeps_fields=True,
        citation="",
    ),
    Declaration(
        name="corpus-hub",
        title="Passages alone, on the Hub",
        argument=(
            "REPO[@revision] or a folder, with a config `corpus` or only one; columns as for "
            "`corpus:`"
        ),
        splits="one",
        becomes=(
            "passages to mine from, with `--extra-corpus` or `build alce --corpus`; other fields "
            "are counted, or kept with `--extra-fields keep`"
        ),
        licence="say it with --extra-licence",
        keeps_fields=True,
        citation="",
    ),
    Declaration(
        name="kalma",
        title="BioKaLMA's published questions",
        argument="JSON file of `[question, [graph, …]]`, for `build kalma`",
        splits="one",
        becomes="questions become queries, their graphs `contexts`; gold with `--gold FILE`",
        licence="S-Lab Licence 1.0, non-commercial; facts from Wikidata, CC0",
        citation=_PAPERS["li2024towards"],
    ),
)


def _unknown_source_error(spec: str) -> UsageError:
    """Make the error for an unknown source, or a ``--source`` that is not ``KIND:ARGUMENT``."""
    name, _, argument = spec.partition(":")
    names = list(SOURCES.names())
    if argument and name not in names:
        return UnknownValueError("source", name, names)
    found = recognise_source(Path(spec)) if Path(spec).exists() else None
    hint = "" if found is None else f" (did you mean {found.spec!r}?)"
    return UsageError(
        f"--source {spec!r}{hint}: expected KIND:ARGUMENT, with KIND of {', '.join(names)}",
        code="bad-option",
    )


SOURCES: Catalogue[Declaration, Source] = Catalogue(
    "sources",
    "source",
    Declaration,
    _ROWS,
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
    """Get the BibTeX entry of a source by its name, such as ``beir``; empty if it is unknown."""
    declared = SOURCES.find(name)
    return "" if declared is None else declared.citation


def check_extra_fields(option: ExtraFields, *specs: str | None) -> None:
    """Raise an error if ``--extra-fields`` is set and has no effect on any source.

    Args:
        option: value of ``--extra-fields``.
        specs: sources of the build, ``KIND:ARGUMENT``; None for an option without one.

    Raises:
        UsageError: none keeps unknown fields, or, to ignore them, none has a strict format.
    """
    if option == "refuse":
        return
    names = [spec.partition(":")[0] for spec in specs if spec]
    if not any(
        _handles_extra_fields(row, option) for row in map(SOURCES.find, names) if row is not None
    ):
        able = (row.name for row in SOURCES.all().values() if _handles_extra_fields(row, option))
        raise UsageError(
            f"--extra-fields {option}: it is for {', '.join(f'{n}:' for n in able)}; from "
            f"{', '.join(f'{n}:' for n in names)} only the columns of its format are read, and "
            "others are counted",
            code="option-without-effect",
        )


def _handles_extra_fields(row: Declaration, option: ExtraFields) -> bool:
    """Whether ``--extra-fields`` (``option``) has an effect on a kind of source."""
    return row.strict or (option == "keep" and row.keeps_fields)


def parse_spec(spec: str) -> tuple[str, str]:
    """Split ``KIND:ARGUMENT`` into the name of a known source and its argument.

    Raises:
        UsageError: no colon, nothing behind it, or an unknown kind.
        InputError: a broken plugin.
    """
    name, _, argument = spec.partition(":")
    if not argument or SOURCES.find(name) is None:
        raise with_broken_files(_unknown_source_error(spec))
    return name, argument


def open_source(spec: str, split: str | None, options: ReadOptions) -> Source:
    """Open the data source with the name ``KIND:ARGUMENT``, such as ``beir:PATH``.

    Args:
        spec: name of the source.
        split: split to read; None for the source's default.
        options: permissions, and more.

    Raises:
        UsageError: no colon, nothing behind it, or an unknown kind.
        InputError: the source cannot be read, or a broken plugin.
    """
    name, argument = parse_spec(spec)
    match name:
        case "beir":
            from citeforge.ir_convert.beir import open_beir

            return open_beir(argument, split, options)
        case "beir-hub":
            from citeforge.ir_convert.hub import open_beir_hub

            return open_beir_hub(argument, split, options)
        case "mteb":
            from citeforge.ir_convert.hub import open_mteb

            return open_mteb(argument, split, options)
        case "rage" | "rage-hub":
            from citeforge.ir_convert.hub import open_rage

            return open_rage(name, argument, options)
        case "corpus":
            from citeforge.ir_convert.corpus import open_corpus_files

            return open_corpus_files(argument, options)
        case "corpus-hub":
            from citeforge.ir_convert.hub import open_corpus_hub

            return open_corpus_hub(name, argument, split, options)
        case "hagrid":
            from citeforge.ir_convert.hagrid import open_hagrid

            return open_hagrid(argument, split, options)
        case "hagrid-hub":
            from citeforge.ir_convert.hagrid import open_hagrid_hub

            return open_hagrid_hub(argument, options)
        case "alce":
            from citeforge.ir_convert.alce import open_alce

            return open_alce(argument, split, options)
        case "attrieval":
            from citeforge.ir_convert.attrieval import AttrievalSource

            return AttrievalSource(argument, split, options)
        case "kalma":
            raise UsageError(
                f"{spec} has knowledge graphs, not passages; give it to "
                f"`citeforge build kalma --source {spec}`",
                code="wrong-kind",
            )
    return SOURCES.maker(spec)(split, options)  # of a plugin


def open_corpus(spec: str, split: str | None, options: ReadOptions, option_name: str) -> Source:
    """Open a source to read only its passages; ``option_name`` is for messages.

    Args:
        spec: ``kind:argument``.
        split: split of the source; None for its default.
        options: permissions.
        option_name: option that named the source, for messages.

    Raises:
        UsageError: no colon, nothing behind it, or an unknown kind.
        InputError: the source cannot be read, or a broken plugin.
    """
    name, _, argument = spec.partition(":")
    if not argument:
        raise UsageError(
            f"{option_name} {spec!r}: expected KIND:ARGUMENT, such as corpus:FOLDER; see "
            "`citeforge list sources`",
            code="bad-option",
        )
    if SOURCES.find(name) is None:
        error = with_broken_files(_unknown_source_error(spec))
        raise UsageError(f"{option_name} {spec!r}: {error}", code=error.code)
    return open_source(spec, split, replace(options, passages_only=True))
