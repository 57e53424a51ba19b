"""``export card``: the files that describe a package, rendered from its manifest and its tables.

``README.md``; ``croissant.json`` (Croissant 1.1 with the Responsible AI vocabulary); and
``eval.yaml``, by which the Hub's leaderboards know a benchmark
(https://huggingface.co/docs/hub/eval-results): a task is a measure on a context set.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from citeforge.builders.card import SidecarFiles, describe_sensitive, list_citations
from citeforge.builders.licences import with_licence
from citeforge.builders.package import WORDS, render_again, word_lengths
from citeforge.engines.folders import amending
from citeforge.engines.shown import show_interval, show_number, show_score
from citeforge.engines.tables import read_schema
from citeforge.evaluator.withhold import withhold_scores
from citeforge.package.kinds import kind_of
from citeforge.package.manifest import AUDIT, SCORES, load_intact, load_manifest, read_stats
from citeforge.package.package import Package
from citeforge.reports.notes import limit_lines
from citeforge.schemas.audit import Audit, checks_made
from citeforge.schemas.counts import describe_count
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.scores import ScoreFile

EVALS = "eval.yaml"
FRAMEWORK = "citeforge"


def task_id(context: str, measure: str) -> str:
    """Make the id of a Hub leaderboard from its context set and measure."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", f"{context}_{measure}")


def render_evals(manifest: Manifest) -> str | None:
    """Render ``eval.yaml``, a benchmark's leaderboards on the Hub; None if it has none."""
    kind = kind_of(manifest)
    tasks = [
        {"id": task_id(context, measure), "config": "contexts", "split": context}
        for context in manifest.contexts
        for measure in kind.facts.leading
    ]
    if not tasks:  # experiments, whose values are of several sets together
        return None
    content = {
        "name": manifest.name,
        "description": f"A benchmark for cited generation: {kind.facts.about}. Values are from 0 "
        "to 100; missing answers count as wrong. The notes of each result say how it was computed.",
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)


CROISSANT = "croissant.json"
_CONTEXT = Path(__file__).parent / "data" / "croissant.yaml"
"""File of the JSON-LD context of Croissant."""
_DATA_TYPES = {
    pa.string(): "sc:Text",
    pa.int8(): "sc:Integer",
    pa.int32(): "sc:Integer",
    pa.int64(): "sc:Integer",
    pa.float64(): "sc:Float",
    pa.bool_(): "sc:Boolean",
}


def render_croissant(
    folder: Path, manifest: Manifest, stats: Mapping[str, object], audit: Audit | None
) -> str:
    """Render ``croissant.json``, the Croissant metadata of a benchmark package.

    Every Parquet file is a FileObject with its sha256; every shard is a record set. Columns of
    numbers and texts and lists of these are fields; a list of records, such as triples, is a field
    with sub-fields. The description of a record set names what else its file has.

    Args:
        folder: package.
        manifest: its manifest.
        stats: content of ``stats.json``.
        audit: record of ``audit.json``, which biases and personal data are stated from.
    """
    files = {n: s for n, s in manifest.files.items() if n.endswith(".parquet")}
    content: dict[str, Any] = {
        "@context": yaml.safe_load(_CONTEXT.read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "name": manifest.name,
        "description": (
            f"A benchmark for cited generation ({manifest.kind}), built with citeforge "
            f"{manifest.citeforge} from {', '.join(s.public_spec for s in manifest.sources)}."
        ),
        "conformsTo": [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "version": manifest.version,
        "license": manifest.licence or "not stated",
        "keywords": ["citation", "attribution", "retrieval-augmented generation", manifest.kind],
        "distribution": [_describe_file(n, s, folder) for n, s in files.items()],
        "recordSet": [_describe_columns(n, folder) for n in files],
        **({"citeAs": citations} if (citations := list_citations(manifest)) else {}),
        **_responsible_ai_fields(manifest, stats, audit),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _describe_file(name: str, sha256: str, folder: Path) -> dict[str, Any]:
    """Describe a package's Parquet file as a FileObject of Croissant metadata."""
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{(folder / name).stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": sha256,
    }


def _describe_columns(name: str, folder: Path) -> dict[str, Any]:
    """Describe the columns of a Parquet file as a RecordSet of Croissant metadata."""
    shard = re.sub(r"-\d{5}-of-00001$", "", name.removesuffix(".parquet"))
    gaps: list[str] = []
    columns = read_schema(folder / name)
    fields = [field for column in columns for field in _describe_column(name, shard, column, gaps)]
    entry: dict[str, Any] = {"@type": "cr:RecordSet", "@id": shard, "name": shard, "field": fields}
    if gaps:
        entry["description"] = f"The file also has columns of other types: {', '.join(gaps)}."
    return entry


def _describe_column(
    name: str, shard: str, column: pa.Field, unsupported: list[str]
) -> Iterator[dict[str, Any]]:
    """Yield the Croissant field of a Parquet column; add unknown types to ``unsupported``.

    Args:
        name: Parquet file.
        shard: id of its record set.
        column: name and type.
        unsupported: columns, and parts of them, that Croissant has no type for are added.
    """
    source: dict[str, Any] = {"fileObject": {"@id": name}, "extract": {"column": column.name}}
    at = f"{shard}/{column.name}"
    parts, is_list = _element_type(column.type)
    if pa.types.is_struct(parts) and is_list:
        sub_fields: list[dict[str, Any]] = []
        for path, part in _simple_fields(parts):
            more = {"transform": {"jsonPath": f"$[*].{path}"}}
            sub_fields += _describe_values(
                f"{at}/{path}", path, part, {**source, **more}, unsupported
            )
        yield {
            "@type": "cr:Field", "@id": at, "name": column.name, "repeated": True,
            "subField": sub_fields,
        }  # fmt: skip
    else:
        yield from _describe_values(at, column.name, column.type, source, unsupported)


def _describe_values(
    field_id: str,
    name: str,
    value_type: pa.DataType,
    source: dict[str, Any],
    unsupported: list[str],
) -> Iterator[dict[str, Any]]:
    """Yield the Croissant field of simple values or lists; add other types to ``unsupported``.

    Args:
        field_id: id of the field.
        name: its name.
        value_type: type of the values.
        source: column that they are taken from.
        unsupported: a type that is neither is added.
    """
    values, is_list = _element_type(value_type)
    if values not in _DATA_TYPES:
        unsupported.append(f"{field_id.partition('/')[2]} ({value_type})")
        return
    field = {"@type": "cr:Field", "@id": field_id, "name": name, "dataType": _DATA_TYPES[values]}
    yield {**field, **({"repeated": True} if is_list else {}), "source": source}


def _element_type(arrow_type: pa.DataType) -> tuple[pa.DataType, bool]:
    """Get (type of the elements, True) of an Arrow list type; (the type, False) of others."""
    return (arrow_type.value_type, True) if pa.types.is_list(arrow_type) else (arrow_type, False)


def _simple_fields(record: pa.DataType, path: str = "") -> Iterator[tuple[str, pa.DataType]]:
    """Yield (dotted path, type) of each simple field in an Arrow struct, nested ones included."""
    for part in record:
        if pa.types.is_struct(part.type):
            yield from _simple_fields(part.type, f"{path}{part.name}.")
        else:
            yield f"{path}{part.name}", part.type


def _responsible_ai_fields(
    manifest: Manifest, stats: Mapping[str, object], audit: Audit | None
) -> dict[str, Any]:
    """Make Croissant's Responsible AI fields from manifest, statistics and audit."""
    graphs = [s for s in manifest.sources if s.is_graph]
    grown = [s.public_spec for s in graphs]
    read = "; ".join(
        f"{s.public_spec}: {', '.join(f'{k}: {v}' for k, v in s.rules.items()) or 'as it is'}"
        for s in manifest.sources
        if s not in graphs
    )
    ways = [f"Questions and their gold grow by rules from triples of {g}." for g in grown]
    ways += [f"Converted from {read}."] * bool(read)
    retrieved = manifest.computed.get("retrieved")
    if retrieved:
        ways.append(f"Retrieved {retrieved['first']} to {retrieved['last']}.")
    counts = "; ".join(f"{describe_count(k)}: {v}" for k, v in manifest.counts.items())
    models = "; ".join(f"{role}: {m.get('name')}" for role, m in manifest.models.items())
    is_hidden = manifest.config.get("hidden_gold")
    unsaid = "Not published: the labels are hidden." if is_hidden else ""
    fields: dict[str, Any] = {
        "rai:dataCollection": " ".join(ways),
        "rai:dataPreprocessingProtocol": counts
        or unsaid
        or "Nothing was skipped, merged or dropped.",
        "rai:machineAnnotationTools": models or unsaid or "No model decided anything.",
        "rai:dataUseCases": "Scoring systems that cite the passages or triples that support them.",
    }
    personal = [describe_sensitive(stats)]
    if audit is not None:
        found = [f"{k}: {n} passages" for k, n in audit.personal_data.items()]
        personal.append("; ".join(found))
    if any(personal):
        fields["rai:personalSensitiveInformation"] = " ".join(filter(None, personal))
    if audit is None:
        return fields
    problems = {k: len(v) for k, v in audit.flaws.items() if v}
    fields["rai:dataLimitations"] = (
        "; ".join([*(f"{k}: {n}" for k, n in problems.items()), *manifest.warnings])
        or f"The audit found no flaw ({checks_made(audit.checks)})."
    )
    if (share := audit.false_negatives) is not None:
        fields["rai:dataBiases"] = (
            f"Estimated share of negatives that are relevant: {show_number(share.share, 4)} "
            f"{show_interval(share.low, share.high, 4)} from {share.n} labelled pairs."
        )
    return fields


def _card_row(file: ScoreFile) -> dict[str, Any]:
    """Convert a system's score file to a row of the dataset card's table of scores."""
    scores = [
        {"name": m.name, "signature": m.signature, "value": m.value, "digits": m.n_digits,
         "text": show_score(m)}
        for m in file.measures
    ]  # fmt: skip
    return {
        "system": file.system,
        "context": file.context,
        "is_control": file.is_control,
        "measures": scores,
        "notes": limit_lines([file]),
    }


def write_card(
    folder: Path,
    scores: Sequence[ScoreFile] = (),
    version: str | None = None,
    licence: str | None = None,
    audit: str | None = None,
    checked_package: Package | None = None,
    passage_lengths: Mapping[str, int] | None = None,
) -> Manifest:
    """Render a package's dataset card, Croissant file and ``eval.yaml`` again.

    All files change together, or none.

    Args:
        folder: package.
        scores: reference scores to show; without any, those of the card stay.
        version: version of the benchmark; None to leave it.
        licence: licence of the benchmark, and of its sources that state none; None to leave it.
        audit: text of a new ``audit.json``; None to leave it.
        checked_package: the package, when its files have been checked already.
        passage_lengths: its passages by number of words, when they have been counted already.

    Raises:
        InputError: not a package, a file of it is damaged, or it cannot be written.
    """
    load_manifest(folder)
    with amending(folder) as files:
        manifest = load_manifest(folder)
        # Another process may have changed the package before this one locked it.
        if checked_package is None or checked_package.manifest != manifest:
            manifest = load_intact(folder, allow_edited=True)
        if version is not None:
            manifest = manifest.model_copy(update={"version": version})
        if licence is not None:
            manifest = with_licence(manifest, licence)
        stats = read_stats(folder)
        words = (
            word_lengths(Package(folder, manifest)) if passage_lengths is None else passage_lengths
        )
        if words:
            stats[WORDS] = dict(words)
        changed = {}
        if scores:
            rows = [_card_row(s) for s in map(withhold_scores, scores)]
            changed[SCORES] = json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
        if audit is not None:
            changed[AUDIT] = audit
        content = SidecarFiles.read(folder, changed).audit
        evals = render_evals(manifest)
        if evals is not None:
            changed[EVALS] = evals
        changed[CROISSANT] = render_croissant(folder, manifest, stats, content)
        manifest, new_files = render_again(folder, manifest, stats, changed)
        files |= new_files
        return manifest
