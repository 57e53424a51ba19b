"""What a build is told, compared with what a finished package says of itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citeforge.builders.package import safe_name
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest

_ABSENT = object()


def package_name(given: str | None, out: Path) -> str:
    """Name of a benchmark: the given one or the folder's, as signatures and file names take it."""
    return safe_name(given or out.name)


def differences(known: Manifest, draft: Manifest) -> list[str]:
    """``field: old → new`` of everything that tables or the manifest's identity depend on.

    Args:
        known: manifest of a finished package.
        draft: manifest of a build before its tables are made. Models that it does not name yet,
            and of those that it names, what it does not say yet, are not compared.
    """
    found: list[str] = []
    for field in ("kind", "name", "licence", "citeforge"):
        found += _unlike(field, getattr(known, field), getattr(draft, field))
    found += _unlike("config", known.config, json.loads(json.dumps(draft.config)))
    found += _unlike("grammar", known.grammar.model_dump(), draft.grammar.model_dump())
    for role, model in draft.models.items():
        old = known.models.get(role)
        mine = None if old is None else {k: v for k, v in old.items() if k in model}
        found += _unlike(role, mine, json.loads(json.dumps(model)))
    found += _unlike("sources", _sources(known), _sources(draft))
    return found


def _sources(manifest: Manifest) -> dict[str, Any]:
    return {
        s.spec: {"files": s.files, "revision": s.revision, "licence": s.licence}
        for s in manifest.sources
    }


def _unlike(place: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = str(key) if place == "config" else f"{place}.{key}"
            yield from _unlike(inner, old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif old != new:
        yield f"{place}: {_shown(old)} → {_shown(new)}"


def _shown(value: Any) -> str:
    if value is _ABSENT or value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


def require_same(known: Manifest, draft: Manifest, out: Path) -> None:
    """Refuse to take a finished package for what another recipe would give.

    Raises:
        InputError: names what differs.
    """
    unlike = differences(known, draft)
    if unlike:
        shown = "; ".join(unlike[:6]) + (f"; and {len(unlike) - 6} more" if unlike[6:] else "")
        raise InputError(
            f"is a finished package of another recipe ({shown})",
            path=out,
            allowed="another --out, or --overwrite",
        )
