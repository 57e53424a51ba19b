"""The notebook on published files, run on the published files."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from conftest import EXAMPLES, real_data

pytestmark = pytest.mark.slow

NOTEBOOK = EXAMPLES / "notebooks" / "compare-published-files.ipynb"


def test_the_published_files_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = real_data()
    paths = {
        "hagrid:../answers/hagrid.jsonl": f"hagrid:{data / 'hagrid' / 'dev.jsonl'}",
        "../attributed_ir/G.jsonl": str(data / "attributed_ir" / "zephyr_G.jsonl"),
        "../attributed_ir/RTG_vanilla.jsonl": str(
            data / "attributed_ir" / "zephyr_RTG_vanilla.jsonl"
        ),
    }
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        if cell.cell_type == "code":
            source = cell.source
            for example, published in paths.items():
                source = source.replace(f'"{example}"', f'"{published}"')
            exec(source, names)
    expected = json.loads((data / "attributed_ir" / "expected.json").read_text())
    closed_book, with_passages = (expected[n] for n in ("zephyr_G", "zephyr_RTG_vanilla"))
    result = {d.measure: d for d in names["found"]}
    assert result["BLEU"].difference == pytest.approx(with_passages["BLEU"] - closed_book["BLEU"])
    for end, theirs in (("P", "Precision"), ("R", "Recall"), ("F", "fmeasure")):
        gain = with_passages["ROUGE-Lsum"][theirs] - closed_book["ROUGE-Lsum"][theirs]
        assert result[f"ROUGE-Lsum.{end}"].difference == pytest.approx(gain)
    assert all(d.p_holm < 0.001 for d in names["found"])
    assert repr(names["found"]) == "<4 differences, 4 of them with p < 0.05 after Holm>"
    assert repr(names["citations"]).startswith("<scores of zephyr_RTG_vanilla on hagrid: ")
    assert (tmp_path / "out" / "published.html").stat().st_size > 10_000
