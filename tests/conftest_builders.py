"""The quickest benchmark to build, and vectors without a model, for tests of builds."""

import hashlib
from pathlib import Path

from citeforge.builders.alce.frozen import build_hagrid
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.answers import HagridRecipe
from citeforge.schemas.recipes.base import IfExists
from conftest import EXAMPLES, run_options
from stand_ins import RuleEmbedder

HAGRID = f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}"


def hagrid(out: Path, if_exists: IfExists = "refuse", **more: object) -> Manifest:
    source = str(more.pop("source", HAGRID))
    return build_hagrid(HagridRecipe(source=source, **more), run_options(out, if_exists))


class Hashed(RuleEmbedder):
    """Vectors made of hashes of the texts: equal texts are near, all others far."""

    def __init__(self, **facts: object) -> None:
        facts = {"name": "hashed", "query_prefix": "", "endpoint": "http://a/v1", **facts}
        super().__init__(
            lambda t: [b - 127.5 for b in hashlib.sha256(t.encode()).digest()], **facts
        )
