"""Opening benchmarks by folder or Hub name, joined with their hidden gold if it is given."""

import tempfile
import weakref
from pathlib import Path

from citeforge.engines.files import remove_tree
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.package import Package
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Recipe

HUB = "hub:"
"""Beginning of the name of a package on the Hub."""


def with_local_packages(recipe: Recipe) -> Recipe:
    """Return a recipe whose packages on the Hub are replaced by their downloaded folders."""
    there = {
        name: package_folder(value)
        for name in type(recipe).model_fields
        if isinstance(value := getattr(recipe, name), Path) and str(value).startswith(HUB)
    }
    return recipe.model_copy(update=there) if there else recipe


def package_folder(name: Package | str | Path) -> Path:
    """Get the folder of a package, downloaded from the Hub for ``hub:`` names.

    Args:
        name: an opened package, a folder, or ``hub:ORG/NAME[@REVISION]``.

    Raises:
        InputError: the Hub cannot be reached, or has no such data set.
        UsageError: neither a folder nor such a name.
    """
    if isinstance(name, Package):
        return name.folder
    if not isinstance(name, str | Path):
        raise UsageError(
            f"expected a benchmark, a folder or hub:ORG/NAME, got {type(name).__name__}",
            code="wrong-type",
        )
    if not str(name).startswith(HUB):
        return Path(name)
    from citeforge.publishing.hub import local_folder

    return local_folder(Path(name))


def writable_folder(name: Package | str | Path) -> Path:
    """Get a package's folder to add files to; an error for a downloaded or temporary copy.

    Args:
        name: an opened package, its folder, or ``hub:ORG/NAME``.

    Raises:
        UsageError: it is a downloaded or temporary copy, where added files would be lost.
    """
    folder = Path(name) if isinstance(name, str | Path) else package_folder(name)
    is_joined = isinstance(name, Benchmark) and bool(name.also_known)
    is_cached = folder.parent.name == "snapshots" and "--" in folder.parent.parent.name
    if is_joined or is_cached or str(folder).startswith(HUB):
        raise UsageError(
            f"{folder}: is a downloaded or temporary copy, and files written there would be lost; "
            "give the folder that `citeforge build` made",
            code="wrong-type",
        )
    return package_folder(name)


def gold_folder(name: str | Path) -> Path:
    """Get the folder with a package's hidden labels, downloaded for ``hub:`` names.

    It is no package of its own, so that nothing verifies it before it is joined.

    Args:
        name: folder, or ``hub:ORG/NAME-gold[@REVISION]``.

    Raises:
        InputError: the Hub cannot be reached, or has no such data set for this token.
    """
    from citeforge.publishing.hub import fetch_folder

    return fetch_folder(Path(name))


def load(where: Package | str | Path, gold: str | Path | None = None) -> Benchmark:
    """Open a benchmark (``gold``: its hidden labels); check all files against the manifest.

    Args:
        where: folder of a package, or ``hub:ORG/NAME[@REVISION]``; an opened one stays open.
        gold: the half with the labels, where the benchmark was published without them (folder or
            ``hub:`` name).

    Returns:
        The benchmark. Tables are read when they are asked for; ``items(context)`` gives queries
        with what systems are shown.

    Raises:
        InputError: not a package, or a file differs from its recorded sha256.
    """
    if gold is None and isinstance(where, Benchmark):
        return where
    folder = package_folder(where)
    if gold is None:
        return Benchmark(folder)
    from citeforge.publishing.hidden import join_package

    half = gold_folder(gold)
    work = Path(tempfile.mkdtemp(prefix="citeforge-"))
    joined = work / "joined"
    try:
        manifest, public_hash = join_package(folder, half, joined)
    except BaseException:
        remove_tree(work)
        raise
    benchmark = Benchmark(joined, manifest)
    benchmark.also_known = frozenset({public_hash})
    # The joined copy holds hidden labels: it lives as long as the object.
    weakref.finalize(benchmark, remove_tree, work)
    return benchmark
