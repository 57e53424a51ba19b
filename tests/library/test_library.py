"""``import citeforge``: the same numbers as the command line, from Python."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

import citeforge as cf
from citeforge.library.answers import in_python
from conftest import Inline, refused

Q21 = "The Verrazzano-Narrows Bridge took it in 1964"


def answers(package: Path) -> list[dict[str, object]]:
    """One answer a query: the first relevant passage and the first other one, cited."""
    rows: list[dict[str, object]] = []
    for item in cf.load(package).items("mix"):
        other = next(i for i in range(len(item.passages)) if i not in item.relevant)
        rows.append(
            {"query_id": item.query_id, "output": f"So. [{item.relevant[0] + 1}][{other + 1}]"}
        )
    return rows


def test_one_name_or_one_score_needs_no_list(package: Path) -> None:
    one = cf.score(answers(package), package, "CiteP,CiteR", by="n_shown")
    assert list(one) == ["CiteP", "CiteR"]
    assert cf.report(one).text == cf.report([one]).text
    assert cf.gate(one, by="n_shown").headline == "could not run: answers without a baseline"
    for wrong in (lambda: cf.compare([one, one]), lambda: cf.load(None)):  # type: ignore[arg-type]
        with refused("wrong-type"):
            wrong()


def test_the_numbers_are_those_of_the_command_line(
    package: Path, tmp_path: Path, inline: Inline
) -> None:
    rows = answers(package)
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    inline.ok("score", path, "--benchmark", package, "--out", tmp_path / "s.json")
    theirs = cf.read_scores(tmp_path / "s.json")
    for given in (rows, pandas.DataFrame(rows), path, str(path)):
        ours = cf.score(given, cf.load(package))
        assert list(ours) == list(theirs)
        for name in ours:
            assert ours[name] == theirs[name]
    assert ours["CiteP"].value == 100 * 1 / 2
    # The same value for each of 30 queries: a share of .025^(1/30) may have any other.
    unseen = 1 - 0.025 ** (1 / 30)
    bounds = (ours["CiteP"].low, ours["CiteP"].high)
    assert bounds == pytest.approx((50 - 50 * unseen, 50 + 50 * unseen))


def test_a_submission_file_brings_its_own_name_and_rows_are_given_one(package: Path) -> None:
    rows = answers(package)
    assert cf.score(rows, package).system == "answers"
    assert cf.score(rows, package, system="mine").system == "mine"


def test_frames_with_empty_cells_are_rows_without_them(package: Path) -> None:
    rows = answers(package)
    frame = pandas.DataFrame(rows)
    frame["context"] = ["mix", *[math.nan] * (len(rows) - 1)]
    assert cf.score(frame, package)["CiteP"].value == 50.0


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        ({"query_id": "q21"}, "missing-field", "output"),
        ({"query_id": "nobody", "output": ""}, "unknown-query", "query_id"),
        ({"query_id": "q21", "output": {1, 2}.__iter__}, "wrong-type", None),
    ],
)
def test_wrong_rows_are_named_by_their_place(
    package: Path, row: dict[str, object], code: str, field: str | None
) -> None:
    with refused(code, cf.InputError, path="answers[1]", field=field):
        cf.score([{"query_id": "q01", "output": "x"}, row], package)


def test_no_file_and_no_option_is_named_to_who_gave_rows(package: Path) -> None:
    answer = {"query_id": "q01", "output": "x"}
    with refused("no-answers", cf.InputError, path="answers"):
        cf.score([], package)
    with refused("wrong-type", cf.InputError, path="answers[0]") as caught:
        cf.score(["x"] * 100, package)
    assert "expected a dictionary, got str" in str(caught.value)
    with refused("duplicate-id", cf.InputError, path="answers[2]") as caught:
        cf.score([answer, {**answer, "query_id": "q02"}, answer], package)
    assert "first at answers[0]" in str(caught.value)
    assert in_python("name a context set: --context") == "name a context set: context="
    found = cf.check([answer, answer], package).errors[0]
    assert (found.line, "first at answers[0]" in found.message) == (2, True)


def test_what_is_no_answers_at_all_is_refused(package: Path) -> None:
    for given in (3, {"query_id": "q21", "output": ""}):
        with refused("wrong-type", cf.UsageError):
            cf.score(given, package)


def test_measures_say_why_they_are_not_there(package: Path) -> None:
    scores = cf.score(answers(package), package, ["CiteF1", "ALCE.CitRec"])
    assert "CiteF1" in scores and len(scores) == 1
    with refused("not-computed", cf.UsageError) as caught:
        scores["ALCE.CitRec"]
    assert "needs a judge" in str(caught.value)
    with refused("unknown-name", cf.UnknownValueError, value="CiteF2", known=["CiteF1"]):
        scores["CiteF2"]


def test_a_judge_of_ones_own(package: Path) -> None:
    named = cf.score(answers(package), package, ["ALCE.CitRec"], judge="lexical")
    assert "lexical" in named["ALCE.CitRec"].signature


def test_tables(package: Path) -> None:
    scores = cf.score(answers(package), package, ["CiteP", "CiteR"])
    table = scores.to_pandas()
    assert table.loc["CiteP", "value"] == 50.0 and table.loc["CiteP", "n"] == 30
    each = scores.per_query()
    assert each.shape == (30, 2)
    # per_query is raw, value as displayed.
    assert 100 * each["CiteR"].mean() == pytest.approx(scores["CiteR"].value)


def test_compare_and_report(package: Path, tmp_path: Path) -> None:
    good = cf.score(answers(package), package, ["CiteP"], system="good")
    bad = cf.score(
        [{**r, "output": "Nothing is cited."} for r in answers(package)],
        package,
        ["CiteP"],
        system="bad",
    )
    (difference,) = cf.compare(bad, good)
    (named,) = cf.compare(bad, good, measures=["CiteP"], against=bad.system)
    assert repr(named) == repr(difference)  # a value that is NaN equals none, itself included
    with refused("unknown-name"):
        cf.compare(bad, good, across=["context"])
    assert (difference.first, difference.second, difference.difference) == ("bad", "good", 50.0)
    text = cf.report([good, bad], tmp_path / "r.html").text
    assert (tmp_path / "r.html").read_text() == text and "<html" in text
    assert "| CiteP" in cf.report([good, bad]).text
    with refused("bad-option", cf.UsageError):
        cf.report([good], tmp_path / "r.doc")
    with refused("too-few", cf.UsageError):
        cf.compare(good)
    good.save(tmp_path / "good.json")
    assert cf.read_scores(tmp_path / "good.json").file == good.file


def test_citations_and_statements() -> None:
    parsed = cf.parse_citations("One [1, 3]. Two [2019].", n_docs=5)
    assert [m.numbers for m in parsed.markers] == [(1, 3)]
    assert len(parsed.unparsed) == 1
    split = cf.split_statements("One [1]. Two [2][3].", n_docs=5)
    assert [(s.text, s.numbers) for s in split.statements] == [("One.", [1]), ("Two.", [2, 3])]


def test_importing_it_imports_nothing_heavy() -> None:
    script = "import citeforge, sys; print('\\n'.join(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "numpy", "pyarrow", "pydantic", "click", "spacy"} & set(loaded)
    assert {name for name in loaded if name.startswith("citeforge.")} == {
        "citeforge.schemas", "citeforge.schemas.version"
    }  # fmt: skip


def test_every_public_name_is_there_and_documented() -> None:
    assert dir(cf) == sorted(cf.__all__)
    for name in cf.__all__:
        value = getattr(cf, name)
        assert name == "__version__" or value.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cf.nothing  # noqa: B018
