"""Classes of unsupported citations, by hand: passages and statements are sets of letters."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from citeforge.engines.judge.records import Keep, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.plugins.audit.wrong import (
    ABSENT,
    CANDIDATES,
    CONTRADICTED,
    CORPUS,
    NOTHING,
    RIGHT,
    SHOWN,
    JudgedStatement,
    _open_corpus,
    classify_citations,
)
from conftest import Inline, content, run_inline, write_beir
from conftest_evaluator import Facts, Measure


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of corpora are kept in a folder of the test."""
    monkeypatch.setenv("CITEFORGE_CACHE", str(tmp_path / "cache"))
    _open_corpus.cache_clear()


class ToldFacts(Facts):
    """Facts that also tells a contradiction: of a premise with ``!``."""

    tells_contradictions = True

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        def told(decisions: Sequence[tuple[int, object]]) -> None:
            keep([
                (i, Verdict(False, support=-1.0) if "!" in pairs[i].premise else d)  # type: ignore[misc]
                for i, d in decisions
            ])  # fmt: skip

        super().decide(pairs, told)  # type: ignore[arg-type]


def classes(
    text: str, cited: Sequence[str], others: Sequence[str] = (), corpus: Sequence[str] = (),
    wrong: int = 0,
) -> tuple[list[set[int]], Facts, list[tuple[Sequence[str], int]]]:  # fmt: skip
    judge, searched = ToldFacts(), []

    def search(statements: Sequence[str], depth: int) -> dict[str, Sequence[str]]:
        searched.append((statements, depth))
        return dict.fromkeys(statements, corpus)

    statement = JudgedStatement(
        (0, 0), text, "\n".join(cited), tuple(cited), (tuple(others),) * len(cited), wrong
    )
    (result,) = classify_citations([statement], JudgeSession(judge), search)
    return [set(c) for c in result], judge, searched


@pytest.mark.parametrize(
    ("text", "cited", "others", "corpus", "expected"),
    [
        ("says A", ["A"], ["B"], ["C"], RIGHT),
        ("says A", ["B"], ["C", "A"], ["A"], SHOWN),
        ("says A", ["B"], ["C"], ["D", "A"], CORPUS),
        ("says A", ["B!"], ["C"], ["D", "A"], CORPUS),  # it is true elsewhere
        ("says A", ["B!"], ["C"], ["D"], CONTRADICTED),
        ("says A", ["B"], ["C!"], ["D!"], NOTHING),  # others contradict it: nobody cited them
        ("says A", ["B"], [], [], NOTHING),
    ],
)
def test_the_first_class_that_fits(
    text: str, cited: list[str], others: list[str], corpus: list[str], expected: int
) -> None:
    assert classes(text, cited, others, corpus)[0] == [{expected}]


def test_citations_that_support_together_are_right() -> None:
    assert classes("says A and B", ["A", "B"])[0] == [{RIGHT}, {RIGHT}]


def test_each_citation_has_its_own_class_and_absent_ones_come_last() -> None:
    # Neither alone nor together; the first contradicts.
    result, _, _ = classes("says A", ["B!", "C"], ["D"], ["E"], wrong=1)
    assert result == [{CONTRADICTED}, {NOTHING}, {ABSENT}]


def test_only_what_decides_is_asked() -> None:
    _, judge, searched = classes("says A", ["A"], ["B"], ["C"])
    assert {p.premise for p in judge.asked} == {"A"} and not searched
    _, judge, searched = classes("says A", ["B"], ["A"], ["C"])
    assert {p.premise for p in judge.asked} == {"B", "A"} and not searched


def test_the_nearest_that_were_not_shown_are_asked_about() -> None:
    corpus = ["B", "C", "D", "E", "F", "BC", "BD", "A"]  # two of them were shown
    result, judge, searched = classes("says A", ["B"], ["C"], corpus)
    assert searched == [(["says A"], CANDIDATES + 2)]
    assert [p.premise for p in judge.asked] == ["B", "C", "D", "E", "F", "BC", "BD"]
    assert result == [{NOTHING}]  # the eighth is beyond the five


def test_a_failure_leaves_open_what_it_may_be() -> None:
    # The other passage fails: its support is open; nothing else supports the statement.
    assert classes("says A", ["B"], ["#"], ["C"])[0] == [{SHOWN, NOTHING}]
    # The citation itself fails: right, or contradicted, or neither.
    assert classes("says A", ["#"], ["B"], ["C"])[0] == [{RIGHT, CONTRADICTED, NOTHING}]


def test_reference_has_none(measure: Measure) -> None:
    result = measure(["Says A [2]."], ["wrong"], protocol="reference")
    assert "score with --protocol strict" in result["Wrong"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of three passages, and an answer with four citations, two passages shown."""
    folder = tmp_path_factory.mktemp("wrong")
    texts = {"d1": "Io is hot.", "d2": "Mars is red.", "d3": "Pluto is small."}
    write_beir(folder / "beir", texts, {"q1": "What is hot?"}, [("q1", "d1", 1)])
    words = (
        "build rage --source beir:beir --split test --licence cc0-1.0 --embedder offline "
        "--mixture mix=1,0,1 --out b"
    )
    run_inline(words.split(), folder, {"HF_HOME": str(folder / "hf")}).check_returncode()
    passages = [{"docid": d, "title": "", "text": texts[d]} for d in ("d1", "d2")]
    output = "Io is hot [1]. Mars is red [1]. Pluto is small [2]. Venus is dry [9]."
    line = {"query_id": "q1", "output": output, "passages": passages}
    (folder / "s.jsonl").write_text(json.dumps(line) + "\n")
    return folder


@pytest.fixture
def package(built: Path, tmp_path: Path) -> None:
    """A copy of it, and of the answer, in the folder of the test."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)


@pytest.mark.usefixtures("package")
def test_shares_of_all_citations(tmp_path: Path, inline: Inline) -> None:
    command = ("score", "s.jsonl", "--benchmark", "b", "--measures", "wrong")
    inline.ok(*command, "--judge", "lexical", "--out", "s.json")
    scores = json.loads((tmp_path / "s.json").read_text())
    found = {m["name"]: m["value"] for m in scores["measures"]}
    # Io: right. Mars: the second passage says it. Pluto: the corpus does. Venus: no passage [9].
    assert found == {"Wrong": 75.0, "Wrong.Shown": 25.0, "Wrong.Corpus": 25.0,
                     "Wrong.Nothing": 0.0, "Wrong.Absent": 25.0}  # fmt: skip
    (absent,) = scores["not_computed"]
    assert absent["name"] == "Wrong.Contradicted" and "reports no contradiction" in absent["reason"]
    assert "opt:candidates:5,offline" in scores["measures"][0]["signature"]
    result = inline(*command, "--judge", "lexical", "--embedder", "nowhere/model")
    assert result.returncode == 2 and "the corpus cannot be searched" in result.stderr


@pytest.mark.usefixtures("package")
def test_a_dry_run_counts_what_may_be_asked_and_asks_nobody(tmp_path: Path, inline: Inline) -> None:
    command = ("score", "s.jsonl", "--benchmark", "b", "--measures", "wrong", "--judge", "lexical",
               "--verdicts", "v.db")  # fmt: skip
    planned = inline.ok(*command, "--dry-run", "--out", "s.json")
    # Three statements with a citation in range, at most with each of the three passages.
    assert "to judge           9\n" in planned.stdout
    assert not (tmp_path / "s.json").exists()
    inline.ok(*command)
    # Io: its own passage. Mars: its own and the other one. Pluto: all three.
    again = inline(*command, "--dry-run").stdout
    assert "stored             6\n" in again and "to judge           0\n" in again
    without = inline("score", "s.jsonl", "--benchmark", "b", "--dry-run")
    assert without.code == "missing-option"


@pytest.mark.usefixtures("package")
def test_the_corpus_is_embedded_once_for_all_commands(tmp_path: Path, inline: Inline) -> None:
    command = ("score", "s.jsonl", "--benchmark", "b", "--measures", "wrong", "--judge", "lexical")
    values, written = [], []
    for command_number in range(3):
        _open_corpus.cache_clear()  # a command of its own
        inline.ok(*command, "--out", "s.json")
        found = json.loads((tmp_path / "s.json").read_text())["measures"]
        values.append([m["value"] for m in found])
        written.append(content(tmp_path / "cache"))
        if command_number == 1:
            for file in (tmp_path / "cache").rglob("*.blocks"):
                file.write_bytes(b"damaged" * 10)
    assert values[0] == values[1] == values[2]
    assert len(written[0]) >= 2  # vectors of passages and statements, and finer ones of close calls
    assert written[0] == written[1] != written[2]  # what is kept is checked
    assert {*written[0].values()} == {*written[2].values()}
