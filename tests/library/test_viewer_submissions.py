"""Which files `citeforge view` lists as submissions."""

import gzip
import shutil
from pathlib import Path

import pytest

from conftest import EXAMPLES
from conftest_viewer import served


def test_a_data_set_of_queries_is_no_submission(tmp_path: Path) -> None:
    """HAGRID's lines begin as answers do."""
    shutil.copy(EXAMPLES / "answers" / "hagrid.jsonl", tmp_path)
    (tmp_path / "mine.jsonl").write_text('{"query_id": "q1", "context": "a", "output": "So [1]."}')
    with served(tmp_path) as site:
        text = site.get().text
        assert "mine.jsonl" in text and "hagrid.jsonl" not in text


def test_compressed_submissions_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = '{"submission": {"system": "packed"}}\n' + '{"query_id": "q", "output": "x"}\n' * 5
    (tmp_path / "mine.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "other.jsonl.gz").write_bytes(b"not packed")
    with served(tmp_path) as site:
        text = site.get().text
        assert "mine.jsonl.gz" in text and ">packed<" in text and ">5 answers<" in text
        assert "other.jsonl.gz" not in text
    # A small file may unpack to gigabytes, and the list does not wait for them.
    monkeypatch.setattr("citeforge.library.viewer.rows._BLOCK", 35)
    monkeypatch.setattr("citeforge.library.viewer.rows._MOST_BLOCKS", 3)
    with served(tmp_path) as site:
        assert "answers or more<" in site.get().text
