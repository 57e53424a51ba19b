"""``croissant.json``: Croissant 1.1 with the Responsible AI vocabulary."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.engines.io.tables import read_schema
from citeforge.schemas.benchmarks.audit import checks_made
from citeforge.schemas.benchmarks.manifest import Manifest

FILE = "croissant.json"
_OTHER_WORDS: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
_WORDS = """
    @language @vocab arrayShape citeAs column conformsTo containedIn cr data dataBiases
    dataCollection dataType dct equivalentProperty examples extract field fileProperty
    fileObject fileSet format includes isArray isLiveDataset jsonPath key md5 parentField path
    personalSensitiveInformation rai recordSet references regex repeated replace samplingRate sc
    separator source subField transform
"""
_CONTEXT = {word: _OTHER_WORDS.get(word, f"cr:{word}") for word in _WORDS.split()}
"""Croissant's own context, in the order of its specification: most words are of its vocabulary."""
_CHOSEN = {
    pa.string(): "sc:Text",
    pa.int8(): "sc:Integer",
    pa.int32(): "sc:Integer",
    pa.float64(): "sc:Float",
    pa.bool_(): "sc:Boolean",
}


def render_croissant(folder: Path, manifest: Manifest, audit: dict[str, Any] | None) -> str:
    """The text of ``croissant.json`` for a package.

    Every Parquet file is a FileObject with its sha256; every shard is a record set. Columns of
    numbers and texts are fields; nested ones are in the files and described, not extracted.

    Args:
        folder: package.
        manifest: its manifest.
        audit: content of ``audit.json``, which biases and personal data are stated from.
    """
    files = {n: s for n, s in manifest.files.items() if n.endswith(".parquet")}
    content: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": manifest.name,
        "description": (
            f"A benchmark for cited generation ({manifest.kind}), built with citeforge "
            f"{manifest.citeforge} from {', '.join(s.spec for s in manifest.sources)}."
        ),
        "conformsTo": [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "version": manifest.version,
        "license": manifest.licence or "not stated",
        "keywords": ["citation", "attribution", "retrieval-augmented generation", manifest.kind],
        "distribution": [_file(n, s, folder) for n, s in files.items()],
        "recordSet": [_records(n, folder) for n in files],
        **_responsible(manifest, audit),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _file(name: str, sha256: str, folder: Path) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{(folder / name).stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": sha256,
    }


def _records(name: str, folder: Path) -> dict[str, Any]:
    shard = re.sub(r"-\d{5}-of-00001$", "", name.removesuffix(".parquet"))
    columns = read_schema(folder / name)
    nested = [f"{c.name} ({c.type})" for c in columns if c.type not in _CHOSEN]
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{shard}/{column.name}",
            "name": column.name,
            "dataType": _CHOSEN[column.type],
            "source": {"fileObject": {"@id": name}, "extract": {"column": column.name}},
        }
        for column in columns
        if column.type in _CHOSEN
    ]
    entry: dict[str, Any] = {"@type": "cr:RecordSet", "@id": shard, "name": shard, "field": fields}
    if nested:
        entry["description"] = f"The file also has nested columns: {', '.join(nested)}."
    return entry


def _responsible(manifest: Manifest, audit: dict[str, Any] | None) -> dict[str, Any]:
    """The RAI fields that the manifest and the audit can answer; others are left out."""
    sources = "; ".join(
        f"{s.spec}: {', '.join(f'{k}: {v}' for k, v in s.rules.items()) or 'as it is'}"
        for s in manifest.sources
    )
    counts = "; ".join(f"{k}: {v}" for k, v in manifest.counts.items())
    models = "; ".join(f"{role}: {m.get('name')}" for role, m in manifest.models.items())
    fields: dict[str, Any] = {
        "rai:dataCollection": f"Converted from {sources}.",
        "rai:dataPreprocessingProtocol": counts or "Nothing was skipped, merged or dropped.",
        "rai:machineAnnotationTools": models or "No model decided anything.",
        "rai:dataUseCases": "Scoring systems that cite the passages or triples that support them.",
    }
    if audit is None:
        return fields
    problems = {k: len(v) for k, v in audit.get("flaws", {}).items() if v}
    fields["rai:dataLimitations"] = (
        "; ".join([*(f"{k}: {n}" for k, n in problems.items()), *manifest.warnings])
        or f"The audit found no flaw ({checks_made(audit['checks'])})."
    )
    personal = audit.get("personal_data", {})
    fields["rai:personalSensitiveInformation"] = "; ".join(
        f"{k}: {n} passages" for k, n in personal.items()
    )
    share = audit.get("false_negatives")
    if share:
        fields["rai:dataBiases"] = (
            f"Estimated share of negatives that are relevant: {share['share']:.4f} "
            f"[{share['low']:.4f}, {share['high']:.4f}] from {share['n']} labelled pairs."
        )
    return fields
