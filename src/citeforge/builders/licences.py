"""Licences of sources: the most restrictive one, and those that cannot be combined.

Not legal advice: a rule of thumb over SPDX identifiers that stops the obvious mistakes.
"""

from citeforge.schemas.manifest import Manifest

_RANKS = (
    ("public domain", ("cc0", "pddl", "unlicense", "cc-pdm")),
    ("permissive", ("mit", "apache", "bsd", "isc", "cc-by-2", "cc-by-3", "cc-by-4", "odc-by",
                    "cdla-permissive", "zlib", "afl")),
    ("share-alike", ("cc-by-sa", "odbl", "cdla-sharing", "gfdl", "gpl", "lgpl", "agpl", "mpl")),
    ("non-commercial", ("cc-by-nc-2", "cc-by-nc-3", "cc-by-nc-4")),
    ("non-commercial, share-alike", ("cc-by-nc-sa",)),
    ("no derivatives", ("cc-by-nd", "cc-by-nc-nd")),
)  # fmt: skip
_UNKNOWN = len(_RANKS)
_SHARE_ALIKE, _NON_COMMERCIAL, _NO_DERIVATIVES = 2, (3, 4), 5


def restrictiveness(licence: str | None) -> int:
    """Rank a licence by restrictiveness, from 0: higher is stricter, unknown ones are highest."""
    name = (licence or "").lower()
    # The longest prefix wins: cc-by-nc-sa is not cc-by-nc.
    fitting = [
        (len(p), rank) for rank, (_, ps) in enumerate(_RANKS) for p in ps if name.startswith(p)
    ]
    return max(fitting, default=(0, _UNKNOWN))[1]


def licence_words(licence: str | None) -> str:
    """Name the class of a licence, such as "share-alike" or "other or unknown"."""
    number = restrictiveness(licence)
    return "other or unknown" if number == _UNKNOWN else _RANKS[number][0]


def licences_of(manifest: Manifest) -> list[tuple[str, str | None]]:
    """List (``KIND:PATH`` without folders, licence or None) of each source of a benchmark."""
    return list(dict.fromkeys((s.public_spec, s.licence) for s in manifest.sources))


def most_restrictive(manifest: Manifest) -> str | None:
    """Find the strictest licence of a benchmark's sources; None if a source states none.

    A benchmark without sources has the licence of its manifest.
    """
    licences = licences_of(manifest)
    if not licences:
        return manifest.licence
    if any(licence is None for _, licence in licences):
        return None
    return max((licence for _, licence in licences), key=restrictiveness)


def with_licence(manifest: Manifest, licence: str) -> Manifest:
    """Copy a manifest with a licence, also for sources without one (except the extra corpus)."""
    extra = manifest.config.get("extra_corpus")
    sources = [
        s.model_copy(update={"licence": licence}) if s.licence is None and s.spec != extra else s
        for s in manifest.sources
    ]
    config = manifest.config | ({"licence": licence} if "licence" in manifest.config else {})
    return manifest.model_copy(update={"licence": licence, "sources": sources, "config": config})


_STATING = "build or export card with --licence"


def conflicts(manifest: Manifest) -> list[str]:
    """List the reasons why a benchmark cannot be published under its licence; empty if none."""
    licences = licences_of(manifest)
    extra = manifest.config.get("extra_corpus")
    problems = [
        f"{source.public_spec} has no stated licence ("
        f"{'build with --extra-licence' if source.spec == extra else _STATING})"
        for source in manifest.sources
        if source.licence is None
    ]
    if manifest.licence is None:
        problems.append(f"the benchmark has no licence ({_STATING})")
        return list(dict.fromkeys(problems))
    stated = [(what, licence) for what, licence in licences if licence is not None]
    for what, licence in stated:
        if restrictiveness(licence) == _NO_DERIVATIVES:
            problems.append(f"{what} is {licence}, which allows no derived works")
    share_alike = [(w, x) for w, x in stated if restrictiveness(x) == _SHARE_ALIKE]
    non_commercial = [(w, x) for w, x in stated if restrictiveness(x) in _NON_COMMERCIAL]
    if share_alike and non_commercial:
        problems.append(
            f"{share_alike[0][0]} ({share_alike[0][1]}) and {non_commercial[0][0]} "
            f"({non_commercial[0][1]}) cannot be published together: the one asks for its own "
            "licence, the other forbids commercial use"
        )
    for what, licence in stated:
        if restrictiveness(licence) == _UNKNOWN and licence != manifest.licence:
            problems.append(
                f"{what} is under {licence!r}, which is not known here, and the benchmark says "
                f"{manifest.licence}; build with --licence {licence}"
            )
        elif restrictiveness(manifest.licence) < restrictiveness(licence) < _UNKNOWN:
            problems.append(
                f"the benchmark says {manifest.licence}, but {what} is {licence} "
                f"({licence_words(licence)}); build with --licence {licence}"
            )
    return list(dict.fromkeys(problems))
