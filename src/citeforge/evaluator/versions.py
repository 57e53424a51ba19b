"""What changed between versions of a measure or judge, for score files that have both."""

from collections.abc import Iterable, Sequence

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.evaluator.measures.registry import find_measure
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import parse_signature

_FIRST = "1"


def explain_parts(
    name: str, files: tuple[ScoreFile, ScoreFile], signatures: tuple[str, str],
    parts: Iterable[str],
) -> list[str]:  # fmt: skip
    """Explain each differing part of two score signatures; for versions, what changed.

    Args:
        name: measure.
        files: score files.
        signatures: signatures of the measure in the two files.
        parts: the parts, as :func:`~citeforge.schemas.signature.differing_parts` lists them.
    """
    first, second = map(parse_signature, signatures)
    own, judge = LexicalJudge.signature.partition("@")[0], "judge"
    measure = find_measure(name.partition("[")[0])
    sentences = []
    for part in parts:
        key = part.partition(":")[0]
        pair = first.get(key, _FIRST), second.get(key, _FIRST)
        if key == "def" and measure is not None:
            sentences.append(_explain_versions(name, files, pair, measure.changes) or part)
        elif key == judge and all(p.startswith(f"{own}@") for p in pair):
            versions = pair[0].partition("@")[2], pair[1].partition("@")[2]
            noun = f"the judge {own}"
            sentences.append(_explain_versions(noun, files, versions, LexicalJudge.changes) or part)
        else:
            sentences.append(part)
    return sentences


def _explain_versions(
    noun: str, files: tuple[ScoreFile, ScoreFile], versions: tuple[str, str],
    changes: Sequence[str],
) -> str | None:  # fmt: skip
    """Explain what changed since the older version of a measure or judge; None if unknown.

    Args:
        noun: what has versions, such as the name of a measure.
        files: two score files.
        versions: version of it in each file.
        changes: sentence on what each version from the second on changed.

    Returns:
        A sentence; None where a version is unknown, such as that of a later citeforge.
    """
    if not all(v.isdecimal() and 0 < int(v) <= 1 + len(changes) for v in versions):
        return None
    older, newer = sorted(map(int, versions))
    file = files[list(map(int, versions)).index(older)]
    since = "; ".join(changes[older - 1 : newer - 1])
    return (
        f"{file.system} has version {older} of {noun}, and since version {newer} {since}; score "
        f"its answers again: citeforge score {file.submission} --benchmark DIR --out FILE"
    )
