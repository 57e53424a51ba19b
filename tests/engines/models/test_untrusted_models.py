"""Model folders of strangers: Python files in them are never run, whoever loads the folder."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.version import Version

from citeforge import CiteforgeError
from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.retrieval.reranker import make_reranker
from citeforge.engines.running.names import make_embedder, make_judge, make_perplexity
from citeforge.schemas.recipes.base import RunOptions
from conftest import ROOT

CLASSES = (
    "Config AutoConfig", "Model AutoModel", "Model AutoModelForSequenceClassification",
    "Model AutoModelForSeq2SeqLM", "Model AutoModelForCausalLM", "Token AutoTokenizer",
)  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    """(model folder, file that its code makes)."""
    folder, trace = tmp_path / "model", tmp_path / "it-ran"
    (folder / "1_Evil").mkdir(parents=True)
    code = (
        f"import pathlib\npathlib.Path({str(trace)!r}).write_text('x')\n"
        "import torch\nclass Evil(torch.nn.Module):\n"
        "    @classmethod\n    def load(cls, *a, **k): return cls()\n"
        "Config = Model = Token = Evil\n"
    )
    for name in ("evil.py", "1_Evil/evil.py", "__init__.py", "modeling_evil.py"):
        (folder / name).write_text(code)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"},
               {"idx": 1, "name": "1", "path": "1_Evil", "type": "evil.Evil"}]  # fmt: skip
    auto = {kind: f"evil.{made}" for made, kind in (c.split() for c in CLASSES)}
    config = {"model_type": "evil", "architectures": ["Evil"], "auto_map": auto, "num_labels": 1}
    for name, content in {
        "modules.json": modules, "config.json": config,
        "tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["evil.Token", None]}},
        "config_sentence_transformers.json": {"model_type": "SentenceTransformer"},
    }.items():  # fmt: skip
        (folder / name).write_text(json.dumps(content))
    (folder / "model.safetensors").write_bytes(
        (2).to_bytes(8, "little") + b"{}"
    )  # an empty table of weights
    return folder, trace


LOADERS: dict[str, Callable[[str], object]] = {
    "embedder": lambda n: make_embedder(n, EmbedderSettings(device="cpu")).encode(["a"], "query"),
    "judge": lambda n: make_judge(f"hf:{n}", run=RunOptions(device="cpu")).decide(
        [("a", "b")], print
    ),
    "reranker": lambda n: make_reranker(n, "cpu").scores([("a", "b")]),
    "perplexity": lambda n: make_perplexity(f"hf:{n}", [], device="cpu").compute(["a b"]),
}


@pytest.mark.parametrize("what", LOADERS)
def test_no_code_of_a_model_folder_runs(hostile: tuple[Path, Path], what: str) -> None:
    folder, trace = hostile
    with pytest.raises(CiteforgeError):
        LOADERS[what](str(folder))
    assert not trace.exists()


def test_the_floor_is_the_version_that_runs_no_code_of_a_folder() -> None:
    """sentence-transformers trusted local folders before 6.0, and those of the Hub's cache are."""
    from sentence_transformers import __version__

    text = (ROOT / "pyproject.toml").read_text()
    floor = text.split('"sentence-transformers>=')[1].split('"')[0]
    assert Version("6.0") <= Version(floor) <= Version(__version__)


def test_nothing_here_trusts_remote_code() -> None:
    files = list((ROOT / "src").rglob("*.py"))
    assert len(files) > 300
    assert [p for p in files if "trust_remote_code=True" in p.read_text()] == []
