"""Published tables, computed again from files that a server on loopback or a folder has."""

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from citeforge.plugins.reproduce.declared import find_table, published_tables, read_declaration
from citeforge.plugins.reproduce.files import find_output
from citeforge.plugins.reproduce.run import reproduce_tables
from conftest import Inline, real_data, refused

COMMIT = "0123456789" * 4
ROWS = "run,score,kind\na,1,x\na,2,y\nb,3,y\n"


class Server(ThreadingHTTPServer):
    """Serves a folder, and notes what is asked for."""

    asked: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        super().do_GET()

    def log_message(self, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "served"
    folder.mkdir()
    server = Server(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    server.asked = []
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "assets"
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(folder))
    return folder


def declaration(folder: Path, content: str = ROWS, **changes: Any) -> Path:
    """A table of one row, as a file; the mean score is (1 + 2 + 3) / 3 = 2."""
    whole = {
        "name": "small",
        "title": "A small table",
        "paper": {"title": "A paper", "venue": "Here 2026", "url": "https://example.org/",
                  "table": "Table 1"},
        "repository": {"name": "them/theirs", "commit": COMMIT, "licence": "MIT"},
        "files": {"runs": {"path": "out/runs.csv", "size": len(content),
                           "sha256": hashlib.sha256(content.encode()).hexdigest()}},
        "reader": "rows",
        "columns": {"mean": {"value": "mean score"}, "runs": {"value": "distinct run"},
                    "supported": {"value": "no matter", "judge": "org/nli"}},
        "rows": [{"name": "all", "files": "runs",
                  "printed": {"mean": "2.00", "runs": "3", "supported": "50%"}}],
        "differs": [{"why": "One of the three runs was never published by its authors.",
                     "cells": {"all": {"runs": "2"}}}],
    }  # fmt: skip
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(whole | changes))
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Folder for --data with their repository."""
    file = tmp_path / "data" / "them" / "theirs" / "out" / "runs.csv"
    file.parent.mkdir(parents=True)
    file.write_text(ROWS)
    return tmp_path / "data"


def test_every_verdict(tmp_path: Path, checkout: Path) -> None:
    (table,) = reproduce_tables([str(declaration(tmp_path))], data=checkout)
    assert [(c.column, c.ours_shown, c.difference, c.verdict) for c in table.cells] == [
        ("mean", "2.00", "+0.00", "equal"),
        ("runs", "2", "-1", "explained"),
        ("supported", "", "", "needs a model"),
    ]
    assert table.cells[1].why.startswith("One of the three runs")
    assert table.cells[2].why == "org/nli (--judge)"


def test_a_reason_holds_for_one_number_alone(tmp_path: Path, checkout: Path) -> None:
    """Were ours another one, the reason that was written down would be no reason for it."""
    why = "One of the three runs was never published by its authors."
    path = declaration(tmp_path, differs=[{"why": why, "cells": {"all": {"runs": "1"}}}])
    (table,) = reproduce_tables([str(path)], data=checkout)
    assert table.cells[1].verdict == "not explained"


def test_outputs_that_nobody_published_explain_nothing(tmp_path: Path, checkout: Path) -> None:
    why = "The scores beside these outputs are older than they are."
    unpublished = [{"why": why, "cells": {"all": ["runs", "supported"]}}]
    path = declaration(tmp_path, differs=[], unpublished=unpublished)
    (table,) = reproduce_tables([str(path)], data=checkout)
    assert [(c.verdict, c.ours_shown, c.why) for c in table.cells[1:]] == [
        ("needs outputs", "2", why),
        ("needs outputs", "", why),  # its judge would not help
    ]
    assert table.cells[0].verdict == "equal"
    twice = [{"why": why, "cells": {"all": {"runs": "2"}}}]
    with refused("wrong-value"):
        read_declaration(declaration(tmp_path, differs=twice, unpublished=unpublished))


def test_digits_that_a_paper_cuts_off(tmp_path: Path, checkout: Path) -> None:
    """The runs' mean, 2, times 1.4999 is 2.9998: rounded 3.00, cut 2.99."""
    changes: dict[str, Any] = {
        "columns": {"mean": {"value": "mean score", "scale": 1.4999}}, "differs": [],
        "rows": [{"name": "all", "files": "runs", "printed": {"mean": "2.99"}}],
    }  # fmt: skip
    for cuts, verdict, shown in ((True, "equal", "2.99"), (False, "not explained", "3.00")):
        path = declaration(tmp_path, cuts_digits=cuts, **changes)
        (table,) = reproduce_tables([str(path)], data=checkout)
        assert (table.cells[0].verdict, table.cells[0].ours_shown) == (verdict, shown)


def test_a_file_of_tabs_without_a_header(tmp_path: Path) -> None:
    """Two questions with 2 and 1 relevant passages: 3/2."""
    content = "1\tQ0\ta\t1\n1\tQ0\tb\t1\n1\tQ0\tc\t0\n2\tQ0\ta\t1\n"
    changes: dict[str, Any] = {
        "files": {"qrels": {"path": "qrels.tsv", "size": len(content),
                            "sha256": hashlib.sha256(content.encode()).hexdigest()}},
        "columns": {"passages": {"value": "count per distinct question"}}, "differs": [],
        "rows": [{"name": "all", "files": "qrels", "printed": {"passages": "1.5"}}],
    }  # fmt: skip
    place = tmp_path / "data" / "theirs"
    place.mkdir(parents=True)
    (place / "qrels.tsv").write_text(content)
    names = ["question", "q0", "passage", "relevance"]
    options = {"columns": names, "where": {"relevance": "1"}}
    path = declaration(tmp_path, options=options, **changes)
    (table,) = reproduce_tables([str(path)], data=tmp_path / "data")
    assert table.cells[0].verdict == "equal"
    path = declaration(tmp_path, options={"columns": names[:3]}, **changes)
    with refused("wrong-type", path=place / "qrels.tsv", line=1):
        reproduce_tables([str(path)], data=tmp_path / "data")


def test_without_a_network_the_message_says_what_to_do(tmp_path: Path, inline: Inline) -> None:
    """Nobody listens on the port of a server that was closed."""
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as closed:
        host = f"http://127.0.0.1:{closed.server_port}"
    repository = {"name": "them/theirs", "commit": COMMIT, "licence": "MIT", "host": host}
    result = inline.fails(
        1, "no-network", "reproduce", declaration(tmp_path, repository=repository)
    )
    assert f"{host}/them/theirs/{COMMIT}/out/runs.csv: cannot be fetched" in result.stderr
    assert "a folder with checkouts (--data) needs no network" in result.stderr


def test_another_judge_than_the_papers_decides_no_cell(tmp_path: Path) -> None:
    cells = zephyr(tmp_path, ["AutoAIS Cit."], judge="lexical")
    assert cells["AutoAIS Cit."].verdict == "needs a model"
    assert cells["AutoAIS Cit."].ours is not None
    assert "ours is by lexical" in cells["AutoAIS Cit."].why


def test_files_are_fetched_once_by_commit(tmp_path: Path, server: Server, cache: Path) -> None:
    place = tmp_path / "served" / "them" / "theirs" / COMMIT / "out"
    place.mkdir(parents=True)
    (place / "runs.csv").write_text(ROWS)
    repository = {"name": "them/theirs", "commit": COMMIT, "licence": "MIT", "host": server.url}
    path = declaration(tmp_path, repository=repository)
    for _ in range(2):
        (table,) = reproduce_tables([str(path)])
        assert table.cells[0].verdict == "equal"
    assert server.asked == [f"/them/theirs/{COMMIT}/out/runs.csv"]
    (kept,) = cache.rglob("runs.csv")
    kept.write_text("damaged")  # what is kept is checked, too
    assert reproduce_tables([str(path)])[0].cells[0].verdict == "equal"
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("served", "code"),
    [
        (ROWS.replace("3", "4"), "hash-mismatch"),
        (ROWS + "c,4,y\n", "hash-mismatch"),
        ("", "endpoint-failed"),  # 404
    ],
)
def test_another_content_is_refused_and_not_kept(
    tmp_path: Path, server: Server, cache: Path, served: str, code: str
) -> None:
    place = tmp_path / "served" / "them" / "theirs" / COMMIT / "out"
    place.mkdir(parents=True)
    if served:
        (place / "runs.csv").write_text(served)
    repository = {"name": "them/theirs", "commit": COMMIT, "licence": "MIT", "host": server.url}
    url = f"{server.url}/them/theirs/{COMMIT}/out/runs.csv"
    with refused(code, path=url):
        reproduce_tables([str(declaration(tmp_path, repository=repository))])
    assert not list(cache.rglob("runs.csv"))


def test_another_content_of_a_checkout_is_refused(tmp_path: Path, checkout: Path) -> None:
    path = checkout / "them" / "theirs" / "out" / "runs.csv"
    path.write_text(ROWS + "c,9,x\n")
    with refused("hash-mismatch", path=path):
        reproduce_tables([str(declaration(tmp_path))], data=checkout)


def test_a_checkout_may_lack_its_owner(tmp_path: Path, checkout: Path) -> None:
    (checkout / "them" / "theirs").rename(checkout / "theirs")
    table = find_table(str(declaration(tmp_path)))
    (path,) = find_output(checkout, table.repository, table.files["runs"])
    assert path == checkout / "theirs" / "out" / "runs.csv"


def test_what_lacks_below_data_is_counted(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "empty").mkdir()
    result = inline.ok("reproduce", declaration(tmp_path), "--data", "empty")
    assert "0 not explained, 1 needs a model that is not here, 2 not computed" in result.stdout


def one_row(files: object, printed: dict[str, str]) -> list[dict[str, object]]:
    return [{"name": "all", "files": files, "printed": printed}]


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"rows": one_row("gone", {"mean": "2"})}, "wrong-value", "'gone'"),
        ({"rows": one_row("runs", {"no": "2"})}, "wrong-value", "'no'"),
        ({"rows": one_row("runs", {"mean": "two"})}, "wrong-value", "two"),
        ({"reader": "crystal ball"}, "unknown-name", "reader"),
        ({"columns": {"mean": {"value": "mode score"}, "runs": None, "supported": None},
          "rows": one_row("runs", {"mean": "2"}), "differs": []},
         "unknown-name", "mode score"),
        ({"reader": "judgements", "options": {"people": ["run", "score"]}, "differs": [],
          "rows": one_row("runs", {"mean": "2"})},
         "unknown-name", "'mean score'; known: n, pearson, spearman"),
        ({"options": {"under": 3}}, "bad-option", "under"),
        ({"rows": one_row([], {"mean": "2"})}, "wrong-value", "at least 1"),
        ({"reader": "kalma", "differs": [],
          "rows": one_row(["runs", "runs"], {"mean": "2"})},
         "bad-option", "one file, not 2"),
        ({"differs": [{"why": "It is so because it is so, they say.",
                       "cells": {"all": {"median": "2"}}}]}, "wrong-value", "'median'"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_named(
    tmp_path: Path, checkout: Path, changes: dict[str, Any], code: str, words: str
) -> None:
    with refused(code) as caught:
        reproduce_tables([str(declaration(tmp_path, **changes))], data=checkout)
    assert words in str(caught.value)


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../b", "a\\b"])
def test_paths_stay_inside_the_repository(tmp_path: Path, path: str) -> None:
    files = {"runs": {"path": path, "size": 1, "sha256": "0" * 64}}
    with refused("wrong-value", path=tmp_path / "small.yaml", field="files.runs.path"):
        read_declaration(declaration(tmp_path, files=files))


def test_preferences(tmp_path: Path) -> None:
    """Two of three decisions agree; C − D = 2 − 0, one tie of the measure: τ = 2 / √(3 · 2)."""
    rows = [
        {"question": q, "models": ["a", "b"], "people": p, "score": s}
        for q, p, s in (
            ("1", [1, 0], [0.9, 0.1]),
            ("2", [0, 1], [0.2, 0.8]),
            ("3", [1, 0], [0.5, 0.5]),
        )
    ]
    content = json.dumps(rows)
    place = tmp_path / "data" / "theirs" / "out"
    place.mkdir(parents=True)
    (place / "pairs.json").write_text(content)
    file = {"path": "out/pairs.json", "size": len(content),
            "sha256": hashlib.sha256(content.encode()).hexdigest()}  # fmt: skip
    path = declaration(
        tmp_path, files={"pairs": file}, reader="preferences", differs=[],
        options={"people": "people", "measure": "score", "threshold": 0.01},
        columns={"agree": {"value": "agreement", "scale": 100}, "tau": {"value": "tau"}},
        rows=[{"name": "all", "files": "pairs", "printed": {"agree": "66.7%", "tau": "0.816"}}],
    )  # fmt: skip
    (table,) = reproduce_tables([str(path)], data=tmp_path / "data")
    assert [c.verdict for c in table.cells] == ["equal", "equal"]
    assert table.cells[1].ours == pytest.approx(2 / (3 * 2) ** 0.5)


QUOTES = [{"idx": 1, "docid": "d#1", "text": "Lead is a metal."},
          {"idx": 2, "docid": "d#2", "text": "Tin is a metal."}]  # fmt: skip


def zephyr(tmp_path: Path, columns: list[str], **more: Any) -> dict[str, Any]:
    """One answer that cites passage 2; its gold answer cites 1 and 2."""
    answers = [{"answer": "Lead and tin are metals [1][2].", "answer_type": "short",
                "informative": 1, "attributable": 1, "sentences": []}]  # fmt: skip
    cells = [7, "Which are metals?", repr(QUOTES), repr(answers), "Lead and tin are metals [1]."]
    quoted = ",".join('"' + str(cell).replace('"', '""') + '"' for cell in cells)
    content = f"query_id,query,quotes,answers,output\n{quoted}\n"
    place = tmp_path / "air" / "theirs" / "out"
    place.mkdir(parents=True)
    (place / "answers.csv").write_text(content)
    file = {"path": "out/answers.csv", "size": len(content),
            "sha256": hashlib.sha256(content.encode()).hexdigest()}  # fmt: skip
    theirs = find_table("attributed-ir-zephyr").columns
    chosen = {c: quantity.model_dump() for c in columns if (quantity := theirs[c]) is not None}
    path = declaration(
        tmp_path, files={"answers": file}, reader="attributed-ir", columns=chosen, differs=[],
        rows=[{"name": "one", "files": "answers", "printed": dict.fromkeys(columns, "100.00")}],
    )  # fmt: skip
    (table,) = reproduce_tables([str(path)], data=tmp_path / "air", **more)
    return {cell.column: cell for cell in table.cells}


def test_answers_of_attributed_ir(tmp_path: Path) -> None:
    pytest.importorskip("rouge_score")
    cells = zephyr(tmp_path, ["ROUGE-L F-score", "Overlap Prec.", "Overlap Rec.", "BertScore Rec."])
    values = {column: cell.ours for column, cell in cells.items()}
    assert values == {
        "ROUGE-L F-score": 100.0,  # the same words without marks
        "Overlap Prec.": 100.0,  # one of one citation is gold
        "Overlap Rec.": 50.0,  # one of two gold passages
        "BertScore Rec.": None,
    }
    assert cells["Overlap Rec."].verdict == "not explained"
    assert cells["BertScore Rec."].why == "roberta-large (--models)"


def test_the_command(tmp_path: Path, checkout: Path, inline: Inline) -> None:
    path = declaration(tmp_path)
    result = inline.ok("reproduce", path, "--data", checkout, "--out", "page.html")
    lines = result.stdout.splitlines()
    words = "all mean equal to the printed digits 2.00 2.00 +0.00"
    assert words.split() in [line.split() for line in lines]
    assert lines[-1] == (
        "3 printed numbers: 1 equal to the printed digits, 1 explained, 0 not explained, 1 needs a "
        "model that is not here"
    )
    page = (tmp_path / "page.html").read_text()
    assert "never published by its authors" in page
    assert 'href="#small-1"' in page
    assert 'id="small-1"' in page
    inline.ok("reproduce", path, "--data", checkout, "--out", "r.json")
    written = json.loads((tmp_path / "r.json").read_text())
    assert written["counts"]["equal"] == 1
    assert written["tables"][0]["repository"]["commit"] == COMMIT
    inline.ok("reproduce", path, "--data", checkout, "--out", "r.md")
    text = (tmp_path / "r.md").read_text()
    assert "| [`small`](#small) | 3 | 1 | 1 | 0 | 0 | 1 | 0 |" in text
    rows = [line for line in text.splitlines() if line.endswith("explained (1) |")]
    assert len(rows) == 1  # what is equal, or not computed, is in the other formats
    assert "+0.00 | equal" not in text


def test_a_number_without_a_reason_gives_exit_code_3(
    tmp_path: Path, checkout: Path, inline: Inline
) -> None:
    path = declaration(tmp_path, differs=[])
    result = inline.fails(
        3, "counted-failures", "reproduce", path, "--data", checkout, "--out", "page.md"
    )
    assert "1 printed numbers differ, and no reason is known" in result.stderr
    assert "not explained |" in (tmp_path / "page.md").read_text()


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        ([], 2, "missing-option"),
        (["--all", "small"], 2, "missing-option"),
        (["attributed-ir-zephir"], 2, "unknown-name"),
        (["hagrid-dev", "--out", "x.pdf"], 2, "bad-option"),
        (["hagrid-dev", "--data", "nowhere"], 1, "not-a-folder"),
        (["gone.yaml"], 1, "missing-file"),
    ],
)
def test_wrong_usage(inline: Inline, words: list[str], exit_code: int, code: str) -> None:
    inline.fails(exit_code, code, "reproduce", *words)


def test_text_of_a_declaration_is_no_markup(tmp_path: Path, checkout: Path, inline: Inline) -> None:
    path = declaration(tmp_path, title="<script>alert(1)</script>", note="a <b> | c")
    inline.ok("reproduce", path, "--data", checkout, "--out", "p.html")
    page = (tmp_path / "p.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_list_names_every_table(inline: Inline) -> None:
    result = inline.ok("reproduce", "--list")
    tables = [find_table(name) for name in published_tables()]
    assert [line.split()[0] for line in result.stdout.splitlines()[:-1]] == [t.name for t in tables]
    total = sum(table.n_cells for table in tables)
    assert result.stdout.splitlines()[-1].startswith(f"{total:,} printed numbers")
    compared = sum(
        table.explain_cell(row.name, column)[0] is not None
        or not (
            table.explain_cell(row.name, column)[1]
            or table.quantity(row, column).judge
            or table.quantity(row, column).model
        )
        for table in tables
        for row in table.rows
        for column in row.printed
    )
    assert compared >= 200


@pytest.mark.parametrize("name", published_tables())
def test_tables_are_named_as_their_files(name: str) -> None:
    assert find_table(name).name == name


@pytest.mark.slow
def test_published_numbers_from_the_real_outputs_here() -> None:
    """Two of Attributed-IR's files, in the layout of the data folder; nobody is asked."""
    pytest.importorskip("rouge_score")
    names = ["attributed-ir-zephyr", "attributed-ir-score-files", "hagrid-dev"]
    tables = reproduce_tables(names, data=real_data())
    cells = {(c.row, c.column): c for table in tables for c in table.cells}
    assert not [c for c in cells.values() if c.verdict == "not explained"]
    assert cells["zephyr G", "Bleu All"].verdict == "equal"
    assert cells["zephyr RTG-vanilla", "Rouge All fmeasure"].ours_shown == "37.242539"
    assert cells["RTG - vanilla", "Overlap Prec."].ours_shown == "33.79"  # 33.7989, cut
    assert cells["Dev", "#Attrib"].verdict == "equal"
    assert sum(c.verdict == "equal" for c in cells.values()) >= 15
