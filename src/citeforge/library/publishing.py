"""Prompts, cards and publishing in Python."""

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.builders.prompts import contexts_for, prompt_lines, write_stub
from citeforge.engines.files import atomic_file
from citeforge.engines.plugins import warn
from citeforge.library.benchmarks import package_folder, writable_folder
from citeforge.library.scores import Scored, Scores, get_score_file, list_scores
from citeforge.package.manifest import SIGNATURE, load_manifest
from citeforge.package.package import Package
from citeforge.package.public_halves import record_public_half
from citeforge.publishing.card import write_card
from citeforge.publishing.hidden import explain_withheld, split_package
from citeforge.publishing.hub import Publisher, check_sound
from citeforge.publishing.hub_changes import Published, PublishPlan
from citeforge.publishing.signing import Signer
from citeforge.publishing.tracking import Logged, find_trackers, log_files
from citeforge.schemas.errors import InputError, UsageError, extras_named
from citeforge.schemas.manifest import Manifest


def log_scores(scores: Scored | Sequence[Scored], to: str | Sequence[str]) -> list[Logged]:
    """Log scores to experiment trackers, named in ``to``; as ``citeforge score --log``.

    Args:
        scores: scores or score files, or a folder of these; each becomes a run.
        to: names of trackers: ``mlflow``, ``wandb``, ``trackio``, or one of a plugin.

    Returns:
        Where each run can be seen, or why it was not logged.

    Raises:
        InputError: a path is of no score file.
        UsageError: no such tracker; or scores of chosen queries, which would reveal hidden gold.
        MissingExtraError: the tracker's client is not installed.
    """
    trackers = find_trackers([to] if isinstance(to, str) else to)
    return log_files([*map(get_score_file, list_scores(scores))], trackers)


@extras_named()
def export_prompts(
    benchmark: Package | str | Path, out: str | Path | None = None, *,
    context: str | None = None, template: str | None = None, show: str | None = None,
    stub: str | Path | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Make one prompt per query; as ``citeforge export prompts``.

    Args:
        benchmark: opened, a folder, or ``hub:ORG/NAME``.
        out: JSON Lines file to write; None to write none.
        context: context set, or ``all``; None for the only one, or the cells of an experiment.
        template: ``rage``, ``authorship``, ``kalma``, or a Jinja file; None for the kind's own.
        show: ``summary`` or ``snippet``: what stands for passages that have one.
        stub: submission to write, with a header and empty answers to fill in; None for none.

    Returns:
        Rows with ``query_id``, ``context``, ``prompt``, ``benchmark`` and ``benchmark_hash``.

    Raises:
        InputError: no such template, it uses something that is not there, or ``stub`` exists.
        UnknownValueError: no such context set or form.
        UsageError: there are several context sets, and none is named.
    """
    package = benchmark if isinstance(benchmark, Package) else Package(package_folder(benchmark))
    contexts = contexts_for(package, context)
    lines = list(prompt_lines(package, contexts, template, show))
    if stub is not None:
        write_stub(package, contexts, Path(stub))
    if out is not None:
        with atomic_file(Path(out)) as file:
            file.writelines(line.encode() for line in lines)
    return [json.loads(line) for line in lines]


@extras_named()
def card(
    folder: Package | str | Path, scores: Scored | Sequence[Scored] = (),
    version: str | None = None, licence: str | None = None,
) -> Manifest:  # fmt: skip
    """Write README.md, croissant.json and eval.yaml of a package; as ``citeforge export card``.

    Args:
        folder: package, opened or by its folder.
        scores: scores of baselines to show; those given before stay when none are given.
        version: version of the benchmark, such as ``1.2.0``; None to leave it.
        licence: licence of the benchmark, and of its sources that state none; None to leave it.

    Returns:
        The manifest of the package.

    Raises:
        InputError: not a package, a file of it is damaged, or scores are of another build.
        UsageError: the version is none, or the package is a copy: of the Hub, or with hidden gold.
    """
    folder = writable_folder(folder)
    if version is not None and not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise UsageError(f"--version {version!r}: expected X.Y.Z", code="bad-option")
    several = list_scores(scores)
    files = [*map(get_score_file, several)]
    expected = load_manifest(folder).benchmark_hash
    for given, file in zip(several, files, strict=True):
        if file.benchmark_hash != expected:
            path = file.submission if isinstance(given, Scores) else given
            raise InputError(
                "is of another build of the benchmark", path=path, code="wrong-benchmark"
            )
    return write_card(folder, files, version, licence)


@dataclass(frozen=True)
class Publication:
    """Result of publishing, or of its dry run.

    Attributes:
        package: the package, or its public half; a plan in a dry run.
        gold: the gold half, or its plan; None where all labels are public.
        notes: what is missing in the public half besides labels.
    """

    package: Published | PublishPlan
    gold: Published | PublishPlan | None = None
    notes: Sequence[str] = ()


@extras_named()
def publish(
    folder: Package | str | Path, repo_id: str, *, private: bool = False, revision: str = "main",
    hide_gold: bool = False, metadata: Sequence[str] = (), dry_run: bool = False,
    sign: bool = False, sign_key: str | Path | None = None,
) -> Publication:  # fmt: skip
    """Publish a package to the Hugging Face Hub; as ``citeforge publish``.

    Token and endpoint: ``HF_TOKEN``, ``HF_ENDPOINT``. After a lost connection, call it again.

    Args:
        folder: package, opened or by its folder, or ``hub:ORG/NAME``.
        repo_id: dataset repository, ``ORG/NAME``.
        private: create it private.
        revision: branch to publish to.
        hide_gold: keep labels and gold in ``ORG/NAME-gold``, which is private.
        metadata: with ``hide_gold``: fields of the metadata that stay public.
        dry_run: change nothing, and return the plan.
        sign: sign the package, or its public half, by Sigstore: a browser, or the environment of a
            CI job, confirms who you are.
        sign_key: sign it with this private key instead.

    Raises:
        InputError: the package is unsound, the key is none, the token may not write, the version
            is there with other content, or the connection was lost.
        UsageError: ``repo_id`` is no name of a repository, ``metadata`` without ``hide_gold``, or
            ``sign`` with ``sign_key``.
        MissingExtraError: it is to be signed, and the extra ``sign`` is not installed.
    """
    folder = package_folder(folder)
    if len([p for p in repo_id.split("/") if p]) != 2:
        raise UsageError(f"--repo-id {repo_id!r}: expected ORG/NAME", code="bad-option")
    if metadata and not hide_gold:
        raise UsageError("--metadata requires --hide-gold", code="option-without-effect")
    publisher = Publisher()
    signer = None
    if sign and sign_key is not None:
        raise UsageError("--sign-key: not with --sign", code="conflicting-options")
    if sign or sign_key is not None:
        signer = Signer(None if sign_key is None else Path(sign_key))
        signer.require_usable()
    elif (folder / SIGNATURE).exists():
        warn(
            f"{folder}: {SIGNATURE} is left out; --sign-key FILE or --sign signs what is published"
        )
    if dry_run or hide_gold:
        check_sound(folder)

    def publish_half(half: Path) -> Published | PublishPlan:
        """Publish a package or its public half; in a dry run, only compare it with the Hub."""
        if dry_run:
            return publisher.dry_run(half, repo_id, revision, signer)
        return publisher.publish(half, repo_id, private=private, branch=revision, signer=signer)

    if not hide_gold:
        return Publication(publish_half(folder))
    with _split_halves(folder, metadata) as (public, gold):
        notes = explain_withheld(folder)
        if not dry_run:
            notes += _note_half(folder, load_manifest(public).benchmark_hash)
        package = publish_half(public)
        half = publisher.publish_folder(gold, f"{repo_id}-gold", revision, dry_run)
    return Publication(package, half, notes)


def _note_half(folder: Path, public_hash: str) -> list[str]:
    """Record a package's hash without gold (public half) in its folder; return notes on failure."""
    try:
        record_public_half(folder, public_hash)
    except InputError as error:
        return [f"answers that name the public half's hash need --gold to be scored: {error}"]
    return []


@contextmanager
def _split_halves(folder: Path, metadata: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Split a package into (public, gold) folders for the block; ``metadata`` fields are public."""
    with tempfile.TemporaryDirectory() as work:
        public, gold = Path(work) / "public", Path(work) / "gold"
        split_package(folder, public, gold, metadata)
        yield public, gold
