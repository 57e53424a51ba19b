"""The quickest benchmark to build, and vectors without a model, for tests of builds."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from citeforge.builders.frozen import build_hagrid
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.recipes.answers import HagridRecipe
from citeforge.schemas.recipes.base import IfExists
from conftest import EXAMPLES, run_options

HAGRID = f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}"


def hagrid(out: Path, if_exists: IfExists = "refuse", **more: object) -> Manifest:
    source = str(more.pop("source", HAGRID))
    return build_hagrid(HagridRecipe(source=source, **more), run_options(out, if_exists))


class Hashed:
    """Vectors made of hashes of the texts: equal texts are near, all others far.

    Attributes:
        facts: the fingerprint.
        asked: texts that were embedded.
    """

    def __init__(self, **facts: object) -> None:
        self.facts = {"name": "hashed", "query_prefix": "", "endpoint": "http://a/v1", **facts}
        self.asked: list[str] = []

    def fingerprint(self) -> dict[str, object]:
        return self.facts

    def encode(self, texts: Sequence[str], kind: str) -> Any:
        self.asked += texts
        rows = np.array([list(hashlib.sha256(t.encode()).digest()) for t in texts], np.float32)
        rows -= 127.5
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
