"""Our punkt against NLTK's own reading of its own data format."""

import sys
from pathlib import Path
from typing import Any

import nltk
import pytest

from citeforge.engines.running.names import make_segmenter
from citeforge.engines.text import segmenters as punkt
from citeforge.engines.text.segmenters import PunktSegmenter, tables_hash
from conftest import refused

TEXTS = [
    "One sentence.",
    "Dr. Smith met Mr. Jones in Washington, D.C. They spoke. It was 5 p.m. Then it ended.",
    "Shown by Smith et al. in 2019 [1]. It holds [2]. [3] So does this.",
    "The U.S. Senate voted. See Fig. 3, No. 5 and e.g. this.",
    '"Really?" she asked. He said "No." She left (or so.) Then rain came.',
    "J. R. R. Tolkien wrote it. It cost $3.5 million... It paid!",
    "First line\nsecond line. Third?\n\nfourth",
    "",
    "   ",
    "巴黎是法国的首都[1]。它位于塞纳河畔[2]。",
]


def write_punkt_tab(folder: Path, parameters: Any) -> None:
    """NLTK's data layout of some parameters."""
    target = folder / "tokenizers" / "punkt_tab" / "english"
    target.mkdir(parents=True)
    rows = {
        "abbrev_types.txt": sorted(parameters.abbrev_types),
        "sent_starters.txt": sorted(parameters.sent_starters),
        "collocations.tab": ["\t".join(pair) for pair in sorted(parameters.collocations)],
        "ortho_context.tab": [f"{w}\t{c}" for w, c in sorted(parameters.ortho_context.items())],
    }
    for name, lines in rows.items():
        (target / name).write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def nltk_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed ``punkt_tab``, as ``nltk.downloader`` would leave it."""
    write_punkt_tab(tmp_path, punkt._load_parameters())
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    return tmp_path


def test_the_tables_are_those_that_nltk_publishes() -> None:
    parameters = punkt._load_parameters()
    assert parameters is not None
    sizes = [len(getattr(parameters, name)) for name in punkt._TABLES]
    assert sizes == [156, 37, 39]
    assert tables_hash(parameters) == punkt.ENGLISH


def test_equal_to_nltk_with_the_same_tables(nltk_data: Path) -> None:
    ours = PunktSegmenter()
    for text in TEXTS:
        result = [text[s:e] for s, e in ours.split(text)]
        assert result == nltk.sent_tokenize(text), text

    # Splitting makes NLTK's tables grow; that is no other model.
    assert tables_hash(ours._tokenizer._params) == punkt.ENGLISH
    assert ours.signature == f"punkt-{nltk.__version__}"


def test_other_tables_stand_in_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = punkt._load_parameters()
    assert parameters is not None
    parameters.abbrev_types.remove("dr")
    monkeypatch.setattr(punkt, "_load_parameters", lambda: parameters)
    other = PunktSegmenter()
    assert other.signature == f"punkt-{nltk.__version__}@{tables_hash(parameters)[:8]}"
    assert len(other.split("Dr. Smith came.")) == 2


def test_without_any_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(punkt, "_PACKAGE", "no_such_package")
    with refused("missing-extra") as caught:
        make_segmenter("punkt")
    assert "pip install 'citeforge[scores]', or --segmenter nupunkt" in str(caught.value)


def test_the_other_tokenizer_is_never_imported() -> None:
    PunktSegmenter()
    assert "punkt" not in sys.modules
