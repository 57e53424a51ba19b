"""Our punkt against NLTK's on real answers and passages."""

import json
from pathlib import Path

import nltk
import pytest

from citeforge.engines.text import segmenters as punkt
from citeforge.engines.text.segmenters import PunktSegmenter
from conftest import real_data
from engines.text.test_punkt import write_punkt_tab

pytestmark = pytest.mark.slow


def real_texts() -> list[str]:
    """Outputs with citation marks, gold answers and passages, as they are."""
    data = real_data()
    texts = []
    for name in ("zephyr_RTG_vanilla", "zephyr_G"):
        for line in (data / "attributed_ir" / f"{name}.jsonl").read_text().splitlines():
            texts.append(json.loads(line)["output"])
    for line in (data / "hagrid" / "dev.jsonl").read_text().splitlines():
        row = json.loads(line)
        texts += [a["answer"] for a in row["answers"]]
        texts += [q["text"] for q in row["quotes"]]
    return texts


def test_equal_to_nltk_on_real_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_punkt_tab(tmp_path, punkt._load_parameters())
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    ours = PunktSegmenter()
    n_sentences = 0
    for text in real_texts():
        result = [text[s:e] for s, e in ours.split(text)]
        assert result == nltk.sent_tokenize(text)
        n_sentences += len(result)
    assert n_sentences > 5_000
