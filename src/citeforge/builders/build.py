"""Start and end of every build, and its working folder.

A builder is one function that runs from start to end: open recipe and sources → compare with an
earlier build (the same recipe continues, another one is refused) → stages with keys → tables →
stats, card, manifest → rename::

    with open_build(recipe, run) as build:
        draft = build.draft(recipe.recorded(), sources, licence, models)
        if (finished := build.finished(draft)) is not None:
            return finished
        writer = build.package()
        writer.add("queries", "queries", table)
        return build.finish(draft, writer, {"queries": table.num_rows}, contexts=contexts)

A build of ``OUT`` works in ``OUT.partial`` beside it; only a finished package takes the name
``OUT``, in one rename. Stages leave a marker with a key of everything they depend on; a resumed
build takes a stage only when the key is the same, and a finished package only when its recipe is.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from citeforge.builders.audit_sentences import form_findings
from citeforge.builders.changes import (
    find_recipe,
    list_differences,
    require_same_options,
    require_same_recipe,
)
from citeforge.builders.form_audit import NEEDED, audit_form
from citeforge.builders.hiding import hide, read_or_make_secret
from citeforge.builders.package import PackageWriter, safe_name
from citeforge.engines.files import (
    canonical_json,
    digest,
    follow_link,
    read_json,
    remove_tree,
    sha256_file,
    storage_errors,
    write_text,
)
from citeforge.engines.folders import (
    is_taken,
    partial_of,
    put_in_place,
    refuse_foreign_files,
    staging_directory,
)
from citeforge.engines.ledger import current_ledger
from citeforge.engines.models.vectors import SUFFIX
from citeforge.engines.plugins import warn
from citeforge.engines.progress import progress
from citeforge.engines.progress_files import progress_file
from citeforge.engines.running.setup import make_runner
from citeforge.package.manifest import (
    FORM,
    MANIFEST,
    load_intact,
    load_manifest,
    pretty_json,
    unknown_files,
)
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError, UsageError, require
from citeforge.schemas.manifest import SECRET, GrammarInfo, Manifest
from citeforge.schemas.recipes.base import IfExists, Recipe, RunOptions, hides_labels
from citeforge.schemas.recipes.flags import list_flags
from citeforge.schemas.recipes.groups import DRY
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.version import __version__

_RECIPE = "recipe.json"
_STAGES = ("archives", "corpus", "mapping", "embeddings", "package", "hiding")
_KNOWN = (_RECIPE, SECRET, *_STAGES, *(f"{s}.json" for s in _STAGES))


class StageMarker(msgspec.Struct):
    """Marker of a finished stage: digest of its key, its files with sha256, its results."""

    key: str
    files: dict[str, str]
    record: dict[str, Any]


class Workspace:
    """Working folder of a build (``OUT.partial``): finished stages, and the growing package.

    Attributes:
        out: final name of the package.
        root: ``OUT.partial``.
        package_folder: the package while it is not whole.
        had_stages: whether an earlier build left stages here.
        finished_package: manifest of a finished package that this build takes; None for none.
    """

    def __init__(self, out: Path, if_exists: IfExists) -> None:
        """Set the build's output folder, and the action if it exists; no folder is made yet."""
        self.out = follow_link(out)
        self.if_exists = if_exists
        self.root = partial_of(out)
        self.package_folder = self.root / "package"
        self.had_stages = False
        self.finished_package: Manifest | None = None

    def check_output_folder(self) -> None:
        """Raise an error if the output folder may not be replaced; on overwrite clear leftovers."""
        if is_taken(self.out):
            names = unknown_files(self.out)
            if names:
                refuse_foreign_files(self.out, names)
            if self.if_exists == "refuse":
                raise InputError(
                    "exists already and is not empty",
                    path=self.out,
                    allowed="another --out, or --overwrite, or --resume to continue a build",
                    code="output-exists",
                )
        if self.had_stages and self.if_exists == "refuse":
            raise InputError(
                "is left from an unfinished build",
                path=self.root,
                allowed="--resume to continue it, or --overwrite to start anew",
                code="output-exists",
            )
        if self.if_exists == "overwrite":
            self.clear()
            self.had_stages = False

    def stage(self, name: str) -> Path:
        """Get the path of a build stage's folder, such as that of the corpus."""
        return self.root / name

    def read_finished(self, name: str, key: Any) -> dict[str, Any] | None:
        """Read a build stage's stored results; None if unfinished, damaged or of another ``key``.

        Args:
            name: name of the stage, such as ``corpus``.
            key: JSON value of everything that the stage depends on.
        """
        try:
            marker = msgspec.convert(read_json(self.root / f"{name}.json"), StageMarker)
        except (InputError, msgspec.ValidationError):
            return None  # none, or a damaged one, which vouches for nothing: it is done again
        if marker.key != digest(key):
            return None
        for file, expected in marker.files.items():
            path = self.root / name / file
            if not path.is_file() or sha256_file(path) != expected:
                return None
        return marker.record

    def start(self, name: str) -> Path:
        """Make an empty folder for a build stage, removing what an earlier build left in it."""
        folder = self.stage(name)
        with storage_errors(self.out):
            (self.root / f"{name}.json").unlink(missing_ok=True)
            remove_tree(folder)
            folder.mkdir(parents=True)
        return folder

    def finish(
        self, name: str, key: Any, files: dict[str, str], record: dict[str, Any]
    ) -> dict[str, Any]:
        """Record a finished stage: hash of its inputs, hashes of its files, results; return these.

        Args:
            name: name of the stage, such as ``corpus``.
            key: JSON value of everything that the stage depends on.
            files: names of the files in its folder, with sha256.
            record: its results, as JSON.

        Returns:
            The results in the order in which a resumed build reads them.
        """
        marker = {"key": digest(key), "files": files, "record": record}
        text = canonical_json(marker)
        write_text(self.root / f"{name}.json", text + "\n")
        current_ledger().keep("finished stage", self.root)
        return msgspec.json.decode(text, type=StageMarker).record

    def clear(self) -> None:
        """Remove everything that builds leave in the working folder."""
        for name in _KNOWN:
            remove_tree(self.root / name)


Stats = dict[str, object]
"""Descriptive statistics by name: numbers, texts, lists and dictionaries of them."""


def check_options(recipe: Recipe, run: RunOptions) -> None:
    """Raise an error for run options that a build by this recipe cannot use, before it begins.

    Raises:
        UsageError: ``--dry-run`` of a build without a plan, ``--batch`` where requests wait for
            replies, or ``--secret-from`` without hidden labels.
        InputError: the package would replace one that it is made of, or the workers of
            ``--engine`` do not answer.
    """
    _require_other_folder(recipe, run.out)
    if run.dry_run and DRY not in recipe.run_options:
        raise UsageError(
            f"--dry-run: build {recipe.kind} asks no model that costs money", code="wrong-kind"
        )
    if run.batch and recipe.no_batch:
        raise UsageError(
            f"--batch: not for build {recipe.kind}: {recipe.no_batch}, and a batch may take a day",
            code="option-without-effect",
        )
    if run.secret_from is not None and not hides_labels(recipe):
        raise UsageError("--secret-from requires --hidden", code="missing-option")
    if not run.dry_run:  # a plan is made without the workers
        make_runner(run).require()


def _require_other_folder(recipe: Recipe, out: Path | None) -> None:
    """Raise an error if the output folder is an input of the recipe, which would be replaced.

    Raises:
        InputError: with the option that names it.
    """
    if out is None or not out.exists():
        return
    for flag in list_flags(type(recipe)):
        value = flag.read_from(recipe) if flag.option.input else None
        for one in value if isinstance(value, tuple) else (value,):
            if not isinstance(one, str | Path):
                continue
            # The path of a source comes after its name: rage:DIR.
            path = Path(one.partition(":")[2] or one) if isinstance(one, str) else one
            if path.exists() and path.samefile(out):
                raise InputError(
                    f"is {flag.name} of this build, which would replace it", path=out,
                    allowed="another --out: the manifest names what the package was made of",
                    code="output-exists",
                )  # fmt: skip


@contextmanager
def open_build(recipe: Recipe, run: RunOptions) -> "Iterator[Build]":
    """Lock the output folder during a build; on success move the package to its final name.

    On an error only finished work is kept.

    Raises:
        InputError: something is there already that may not be replaced, or another process builds
            there.
        MissingExtraError: labels are to be hidden, and a module of the audit is not installed.
    """
    if hides_labels(recipe):
        for module in NEEDED:
            require(module)
    workspace = Workspace(run.folder, run.if_exists)
    with staging_directory(workspace.out, _KNOWN):
        names = (path.name.removesuffix(".json") for path in workspace.root.iterdir())
        workspace.had_stages = any(name in _STAGES for name in names)
        try:
            workspace.check_output_folder()
            with progress_file("build", workspace.out):
                yield Build(recipe, run, workspace)
        except Exception:
            # Finished work is worth resuming.
            if not workspace.had_stages and not any(workspace.root.rglob(f"*{SUFFIX}")):
                workspace.clear()
            raise
        with storage_errors(workspace.out):
            if workspace.finished_package is None:
                put_in_place(workspace.package_folder, workspace.out)
            workspace.clear()


@dataclass(frozen=True)
class Build:
    """A running build: its recipe, options and working folder.

    Attributes:
        recipe: everything that the tables depend on.
        run: options of the run.
        workspace: working folder of stages and package.
    """

    recipe: Recipe
    run: RunOptions
    workspace: Workspace

    def draft(
        self,
        config: dict[str, Any],
        sources: Sequence[SourceInfo],
        licence: str | None,
        models: dict[str, dict[str, Any]],
        grammar: GrammarInfo | None = None,
    ) -> Manifest:
        """Draft the manifest: all fields that do not depend on the tables.

        Args:
            config: recipe, and digests of the files that it names.
            sources: provenance of the sources.
            licence: licence of the benchmark; None if unknown.
            models: role in the build to the identity of a model.
            grammar: how answers cite; None for the default.
        """
        return Manifest(
            kind=self.recipe.kind,
            name=safe_name(self.recipe.name or self.workspace.out.name),
            citeforge=__version__,
            licence=licence,
            sources=list(sources),
            config=config,
            models=models,
            grammar=grammar or GrammarInfo(),
            contexts={},
        )

    def finished(self, draft: Manifest) -> Manifest | None:
        """Get the package's manifest if this build (``draft``) is finished; None if work is left.

        An unfinished build goes on only by the same recipe, too.

        Raises:
            InputError: the package there has another recipe (names the differences), or is damaged.
        """
        workspace = self.workspace
        if workspace.if_exists == "resume" and is_taken(workspace.out):
            workspace.finished_package = load_intact(workspace.out)
            require_same_recipe(workspace.finished_package, draft, workspace.out)
            warn(f"{workspace.out} is finished already, by the same recipe: nothing is built")
            return workspace.finished_package
        marker = workspace.root / _RECIPE
        if workspace.had_stages and marker.is_file():
            require_same_options(Manifest.model_validate(read_json(marker)), draft, workspace.root)
        write_text(marker, canonical_json(draft.model_dump(mode="json")) + "\n")
        return None

    def secret(self) -> bytes | None:
        """Get the secret key of a build's ids, orders and draws; None if labels are not hidden.

        Raises:
            InputError: ``--secret-from`` names a folder without one.
        """
        if not hides_labels(self.recipe):
            return None
        source = self.run.secret_from
        if source is not None and (source / MANIFEST).is_file():
            self._warn_of_other_contexts(load_manifest(source))
        return read_or_make_secret(self.workspace.root, source)

    def _warn_of_other_contexts(self, other_manifest: Manifest) -> None:
        """Warn if the package whose secret key is reused was built with other options."""
        recipe = find_recipe(other_manifest)
        if recipe is None:
            return
        options = [
            {k: v for k, v in one.recorded().items() if k != "source"}
            for one in (recipe, self.recipe)
        ]
        if changed := list(list_differences("", *options)):
            warn(
                f"--secret-from: {other_manifest.name} has the same secret and other options "
                f"({'; '.join(changed)}): if contexts of both become public, what they share of a "
                "query tells what is relevant; build with the same options, or publish only one"
            )

    def package(self) -> PackageWriter:
        """Start writing an empty package in the build's working folder."""
        return PackageWriter(self.workspace.start("package"))

    def finish(
        self, draft: Manifest, writer: PackageWriter, stats: Stats, **learnt: Any
    ) -> Manifest:
        """Hide labels if the recipe says so; write the package's statistics, card and manifest.

        Args:
            draft: result of :meth:`draft`.
            writer: writer of the package, with all its tables.
            stats: descriptive statistics.
            learnt: fields of the manifest that were learnt while the tables were made.

        Returns:
            The manifest of the finished package.
        """
        manifest = draft.model_copy(update=learnt)
        further = {}
        if (secret := self.secret()) is not None:
            hide(writer, secret, self.workspace.start("hiding"))
            package = Package(writer.folder, manifest.model_copy(update={"files": writer.files}))
            with progress("auditing the form of passages", None, "tests") as advance:
                audit = audit_form(package, advance)
            for text in form_findings(audit):
                warn(text)
            further[FORM] = pretty_json(audit.model_dump(mode="json"))
        return writer.finish(manifest, stats, further)
