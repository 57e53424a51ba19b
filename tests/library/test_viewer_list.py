"""What the list of `citeforge view` shows of the files below its folders."""

from pathlib import Path

from conftest_plots import scored
from conftest_viewer import served


def test_hidden_labels_are_shown_as_the_board_shows_them(tmp_path: Path) -> None:
    file = scored("one", {"CiteP": [0.5, 0.0, 1.0]})
    (score,) = file.measures
    figures = {"value": 31.0, "low": 15.0, "high": 52.0, "interval": "widest", "noise": 4.56}
    hidden = score.model_copy(update={**figures, "per_query": [], "stderr": None})
    kept = {"gold": "withheld", "query_ids": [], "measures": [hidden]}
    (tmp_path / "one.json").write_text(file.model_copy(update=kept).to_line())
    with served(tmp_path) as site:
        text = site.get().text
        assert "CiteP 31 [15, 52]" in text and "labels hidden, noise of up to 4.6" in text
        report = site.get(f"report/{site.key('r')}/").text
        assert "in whole points" in report
        assert 'id="explorer"' not in report  # nothing is told of single queries


def test_files_of_several_folders_are_told_apart(tmp_path: Path) -> None:
    for name in ("a/out", "b/out", "c"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "page.html").write_text("")
    with served(tmp_path / "a" / "out", tmp_path / "c") as site:
        text = site.get().text
        assert ">out/page.html<" in text and ">c/page.html<" in text
    with served(tmp_path / "a" / "out", tmp_path / "b" / "out") as site:
        text = site.get().text
        assert f">{tmp_path}/a/out/page.html<" in text and f">{tmp_path}/b/out/page.html<" in text


def test_a_folder_below_another_is_listed_once(tmp_path: Path) -> None:
    (tmp_path / "all" / "inner").mkdir(parents=True)
    for name in ("page", "inner/deep"):
        (tmp_path / "all" / f"{name}.html").write_text("")
    outer, inner = tmp_path / "all", tmp_path / "all" / "inner"
    with served(outer, tmp_path / "all" / ".." / "all", inner) as site:
        text = site.get().text
        assert text.count(".html<") == 2 and ">all/inner/deep.html<" in text
    with served(inner, outer) as site:
        text = site.get().text
        assert text.count(".html<") == 2 and ">inner/deep.html<" in text
