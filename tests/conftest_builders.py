"""Quick benchmarks to build, and vectors without a model, for tests of builds."""

import hashlib
import json
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


def copy_part(folder: Path, out: Path, n_queries: int, n_passages: int) -> Path:
    """Copy the first queries of a BEIR folder, their passages, and the first of the corpus."""
    (out / "qrels").mkdir(parents=True)
    judged = (folder / "qrels" / "dev.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in judged[1:]]
    queries = list(dict.fromkeys(query for query, *_ in rows))[:n_queries]
    kept = [row for row in rows if row[0] in queries]
    (out / "qrels" / "dev.tsv").write_text(
        "\n".join([judged[0], *("\t".join(row) for row in kept)]) + "\n"
    )
    wanted = {passage for _, passage, _ in kept}
    for name, ids, most in (("queries", set(queries), 0), ("corpus", wanted, n_passages)):
        lines = (folder / f"{name}.jsonl").read_text().splitlines()
        chosen = [x for i, x in enumerate(lines) if json.loads(x)["_id"] in ids or i < most]
        (out / f"{name}.jsonl").write_text("\n".join(chosen) + "\n")
    return out


class Hashed(RuleEmbedder):
    """Vectors made of hashes of the texts: equal texts are near, all others far."""

    def __init__(self, **facts: object) -> None:
        facts = {"name": "hashed", "query_prefix": "", "endpoint": "http://a/v1", **facts}
        super().__init__(
            lambda t: [b - 127.5 for b in hashlib.sha256(t.encode()).digest()], **facts
        )


def load_with_datasets(folder: Path, cache: Path) -> dict[str, dict[str, int]]:
    """Load every config of a package as its users do: config to the rows of each split."""
    import datasets

    return {
        config: {
            split: len(table)
            for split, table in datasets.load_dataset(
                str(folder), config, cache_dir=str(cache / "cache")
            ).items()
        }
        for config in datasets.get_dataset_config_names(str(folder))
    }
