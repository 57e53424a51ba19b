"""Publishing with hidden gold: a public half that systems see, and a gold half that scores them."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.audit_sentences import form_findings
from citeforge.builders.changes import make_build_command
from citeforge.builders.package import (
    WORDS,
    PackageWriter,
    context_sizes,
    corpus_stats,
    word_lengths,
)
from citeforge.engines.files import read_json, write_text
from citeforge.engines.tables import TableWriter, iter_batches
from citeforge.engines.textfiles import validated
from citeforge.package.kinds import kind_of
from citeforge.package.manifest import (
    FORM,
    MANIFEST,
    load_intact,
    load_manifest,
    pretty_json,
    resolve_package_file,
)
from citeforge.package.package import Package
from citeforge.package.secret import read_secret, write_secret
from citeforge.publishing.card import CROISSANT, EVALS, render_croissant, render_evals
from citeforge.publishing.hub import copy_files
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.form import FormAudit
from citeforge.schemas.manifest import SECRET, ContextSet, Manifest, Sha256
from citeforge.schemas.record import FrozenRecord
from citeforge.schemas.tables import CONTEXTS, UNJUDGED

LINK = "hidden.json"


class GoldLink(FrozenRecord):
    """``hidden.json`` of a gold half.

    Attributes:
        public_hash: benchmark hash of the public half.
    """

    public_hash: Sha256


def split_package(
    folder: Path, public: Path, gold: Path, metadata: Collection[str] = ()
) -> tuple[Manifest, Manifest]:
    """Split a package into a public half without labels and a gold half; return both manifests.

    The public half has what systems are shown, without labels; it is a package of its own, and
    depends on nothing but that and the secret. The gold half has everything else of the original,
    to the byte, and joins with the public one to the original again.

    Args:
        folder: a package that was built with ``--hidden``.
        public: folder of the public half.
        gold: folder of the gold half.
        metadata: fields of the metadata of queries and passages that stay public.

    Raises:
        UsageError: its kind has no public half, it has no secret, or several context sets; a field
            of the metadata tells labels.
    """
    package = Package(folder)
    manifest, kind = package.manifest, package.kind
    context = _only_public_context(package)
    _refuse_revealing_fields(package, metadata)
    writer = PackageWriter(public)
    for config in kind.facts.blinded:
        for split in [context] if config == "contexts" else package.splits.get(config, []):
            writer.add(config, split, kind.blind(config, package.table(config, split)))
    passages = None if _has_whole_corpus(package) else _context_passage_ids(package, context)
    for config in kind.facts.public:
        for split in package.splits.get(config, []):
            with TableWriter(public / config, split, kind.facts.tables[config]) as table:
                for batch in _public_rows(package, config, split, metadata):
                    here = batch if config != "corpus" or passages is None else batch.filter(
                        pc.is_in(batch["_id"], value_set=passages)
                    )  # fmt: skip
                    table.write(here)
            writer.add_shards(config, split, table.files)
    public_half = Package(public, manifest)
    stats = _public_stats(public_half, context)
    public_manifest = _public_manifest(public_half, context, metadata)
    evals = render_evals(public_manifest)
    writer.files = dict(sorted(writer.files.items()))  # the order in which its card is refreshed
    tables = public_manifest.model_copy(update={"files": writer.files})
    further = {CROISSANT: render_croissant(public, tables, stats, None)}
    further |= {} if evals is None else {EVALS: evals}
    finished = writer.finish(public_manifest, stats, further)
    _, gold_files = _split_files(finished, manifest)
    copy_files(folder, [*gold_files, MANIFEST], gold)
    write_secret(gold, read_secret(folder))
    link = GoldLink(public_hash=finished.benchmark_hash)
    write_text(gold / LINK, pretty_json(link.model_dump()))
    return finished, manifest


def _only_public_context(package: Package) -> str:
    """Get the one context set to publish; raise an error if publishing reveals the gold.

    Raises:
        UsageError: the kind has no public half, the package was built without ``--hidden``, or
            several context sets would be public.
    """
    manifest, kind = package.manifest, package.kind
    if reason := kind.facts.explain_refusal("hide-gold"):
        raise UsageError(f"--hide-gold: {reason}", code="wrong-kind")
    if SECRET not in manifest.files:
        command = make_build_command(manifest) or f"citeforge build {manifest.kind} …"
        raise UsageError(
            f"--hide-gold: {manifest.name} was built without --hidden, so that orders and draws "
            f"follow from its seed, and the labels from them; build it again: {command} --hidden",
            code="hidden-gold",
        )
    contexts = [name for name in package.contexts if name not in kind.facts.withheld]
    if len(contexts) != 1:
        raise UsageError(
            f"--hide-gold: {', '.join(contexts) or 'no context set'} would be public; passages "
            "shared by several context sets reveal which are relevant; build the package with one "
            "context set",
            code="hidden-gold",
        )
    return contexts[0]


def _read_form(package: Package) -> FormAudit | None:
    """Read the audit of whether surface features of passages reveal labels; None without one."""
    if FORM not in package.manifest.files:
        return None
    path = resolve_package_file(package.folder, FORM)
    return validated(FormAudit, read_json(path), path)


def _refuse_revealing_fields(package: Package, metadata: Collection[str]) -> None:
    """Raise an error if a metadata field to be published reveals labels, by the audit.

    Raises:
        UsageError: one does.
    """
    form = _read_form(package)
    telling = sorted(form.telling_fields & {*metadata}) if form is not None else []
    if telling:
        raise UsageError(
            f"--metadata {telling[0]}: this field of the passages tells labels, by the audit in "
            f"{FORM}; leave it out",
            code="hidden-gold",
        )


def explain_withheld(folder: Path) -> list[str]:
    """Explain which context sets a public half leaves out, and what still reveals labels."""
    package = Package(folder)
    names = [name for name in package.contexts if name in package.kind.facts.withheld]
    form = _read_form(package)
    findings = form_findings(form) if form is not None else []
    if not names:
        return findings
    return [
        *findings,
        f"the context sets {', '.join(names)} stay in the gold half: the passages that they leave "
        "out would reveal the gold",
    ]


def _has_whole_corpus(package: Package) -> bool:
    """Whether a package has its source's whole corpus, so that the corpus reveals no label."""
    field, value = package.kind.facts.whole_corpus or ("", None)
    return value is not None and package.manifest.config.get(field) == value


def _context_passage_ids(package: Package, context: str) -> pa.Array:
    """List the ids of all passages that a context set shows."""
    docs = pa.concat_arrays([c.flatten() for c in package.context_table(context)["docs"].chunks])
    return docs.field("corpus-id").unique()


def _public_rows(
    package: Package, config: str, split: str, fields: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """Yield a table's rows for publishing, with only some of the fields in their metadata.

    Args:
        package: the whole package.
        config: config (sort of table), such as ``queries``.
        split: split of the config.
        fields: names of the metadata's fields that stay.
    """
    for batch in iter_batches(
        package.shards(config, split), schema=package.kind.facts.tables[config]
    ):
        if "metadata" in batch.schema.names:
            at = batch.schema.names.index("metadata")
            texts = [_keep_fields(text, fields) for text in batch["metadata"].to_pylist()]
            batch = batch.set_column(at, batch.schema.field(at), pa.array(texts, pa.string()))
        yield batch


def _keep_fields(metadata: str | None, fields: Collection[str]) -> str | None:
    """Reduce a JSON object to some of its fields; None if it has none of them."""
    content = json.loads(metadata) if metadata and fields else {}
    part = {k: v for k, v in content.items() if k in fields} if isinstance(content, dict) else {}
    return json.dumps(part, ensure_ascii=False, sort_keys=True) if part else None


def _public_manifest(public_half: Package, context: str, metadata: Collection[str]) -> Manifest:
    """Make the manifest of a package's public half, without anything that reveals labels.

    Args:
        public_half: the public half, with the manifest of the whole.
        context: its only context set.
        metadata: fields of the metadata that stay public.
    """
    names = ("computed", "counts", "files", "models", "short_mappings")
    cleared: dict[str, Any] = {name: {} for name in names}
    sources = [
        s.model_copy(
            update={"spec": s.public_spec, "split": None, "files": {}, "rules": {}, "counts": {}}
        )
        for s in public_half.manifest.sources
    ]
    size = _size_range(public_half.context_table(context))
    about = ContextSet(description=f"{size} passages a query, in an order drawn by lot")
    # The hash of the whole depends on the secret: nobody can try out labels on it, and only the
    # gold of this build gives it.
    choices = {
        "hidden_gold": True, "joined_hash": public_half.hash,
        "contexts": [context], "metadata": sorted(metadata),
    }  # fmt: skip
    changes = {**cleared, "config": choices, "contexts": {context: about}, "sources": sources}
    return public_half.manifest.model_copy(update=changes)


def _size_range(contexts: pa.Table) -> str:
    """Format the range of passages per context in a table of contexts, such as ``5 to 20``."""
    sizes = sorted(set(pc.list_value_length(contexts["docs"]).to_pylist()))
    return " to ".join(str(n) for n in dict.fromkeys([sizes[0], sizes[-1]])) if sizes else "0"


def _public_stats(public_half: Package, context: str) -> dict[str, object]:
    """Compute the statistics of the public half, without labels, of a package."""
    sizes = context_sizes(context, public_half.context_table(context))
    words = {WORDS: word_lengths(public_half)}
    return {"queries": len(public_half), **corpus_stats(public_half.folder), **sizes, **words}


def remove_labels(table: pa.Table) -> pa.Table:
    """Mark all passages in a table of contexts as unjudged."""
    rows = [
        {
            "query_id": r["query_id"],
            "docs": [{"corpus-id": d["corpus-id"], "label": UNJUDGED} for d in r["docs"]],
        }
        for r in table.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=CONTEXTS)


def _split_files(public_half: Manifest, whole: Manifest) -> tuple[list[str], list[str]]:
    """Split a package's files: (tables equal in the public half, files of the gold half alone).

    Equal rows give equal bytes: such tables need not lie in both halves.
    """
    both = {
        n
        for n, sha in public_half.files.items()
        if n.endswith(".parquet") and whole.files.get(n) == sha
    }
    return sorted(both), [n for n in whole.files if n not in both and n != SECRET]


def matching_gold(public_half: Manifest, gold: Path) -> Manifest:
    """Read a gold half's manifest; raise an error if it does not fit the public half.

    Args:
        public_half: manifest of the public half.
        gold: folder of the gold half.

    Raises:
        InputError: no gold half, one of another build, a forged one, or of a kind that has
            none.
    """
    if reason := kind_of(public_half).facts.explain_refusal("hide-gold"):
        raise InputError(
            f"is not a gold half: {reason}",
            path=gold,
            allowed="the whole package",
            code="hidden-gold",
        )
    if not (gold / LINK).is_file():
        raise InputError(
            "is not a gold half",
            path=gold,
            allowed="what publish --hide-gold made",
            code="hidden-gold",
        )
    path = resolve_package_file(gold, LINK)
    link = validated(GoldLink, read_json(path), path, allowed="what publish --hide-gold made")
    whole, expected = load_manifest(gold), str(public_half.config.get("joined_hash"))
    if public_half.benchmark_hash != link.public_hash or whole.benchmark_hash != expected:
        raise InputError(
            f"is not the gold of {public_half.name}@{public_half.benchmark_hash[:8]}",
            path=gold,
            allowed=f"the gold half that was made with it, of {public_half.name}@{expected[:8]}",
            code="wrong-benchmark",
        )
    return whole


def join_package(public: Path, gold: Path, out: Path) -> tuple[Manifest, str]:
    """Join both halves to the original package, byte for byte: (manifest, public half's hash).

    Returns:
        Its manifest, checked, and the hash of the public half, which submissions may name.

    Raises:
        InputError: the halves do not belong together, or the gold half is forged.
    """
    public_half = load_intact(public)
    whole = matching_gold(public_half, gold)
    for field in ("kind", "name", "version", "grammar"):
        if getattr(public_half, field) != getattr(whole, field):
            raise InputError(
                "is of another benchmark than the public half",
                path=gold / MANIFEST,
                field=field,
                allowed=f"the gold of {public_half.name}@{public_half.benchmark_hash[:8]}",
                code="wrong-benchmark",
            )
    shown, gold_files = _split_files(public_half, whole)
    copy_files(gold, [MANIFEST, *gold_files], out)
    if SECRET in whole.files:
        write_secret(out, read_secret(gold))
    copy_files(public, shown, out)
    return load_intact(out), public_half.benchmark_hash
