"""The quickest benchmark to build, for tests of what stands around a build."""

from pathlib import Path

from citeforge.builders.frozen import build_hagrid
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.recipes.base import IfExists
from citeforge.schemas.recipes.records import HagridRecipe
from conftest import EXAMPLES, run_options

HAGRID = f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}"


def hagrid(out: Path, if_exists: IfExists = "refuse", **more: object) -> Manifest:
    source = str(more.pop("source", HAGRID))
    return build_hagrid(HagridRecipe(source=source, **more), run_options(out, if_exists))
