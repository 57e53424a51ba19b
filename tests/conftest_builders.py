"""The quickest benchmark to build, for tests of what stands around a build."""

from __future__ import annotations

from pathlib import Path

from citeforge.builders.frozen import FrozenOptions, build_hagrid
from citeforge.builders.workspace import IfExists
from citeforge.schemas.manifest import Manifest
from conftest import EXAMPLES

HAGRID = f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}"


def hagrid(out: Path, if_exists: IfExists = "refuse", **more: object) -> Manifest:
    source = str(more.pop("source", HAGRID))
    return build_hagrid(FrozenOptions(source, out, if_exists, **more))  # type: ignore[arg-type]
