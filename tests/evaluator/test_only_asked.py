"""A submission to some queries: all of them count, those alone that were asked, or answered."""

import json
from pathlib import Path

import pytest

import citeforge as cf
from conftest import Inline, refused, write_jsonl

N = 3


@pytest.fixture
def trial(package: Path, tmp_path: Path) -> Path:
    """Answers of `random` to the first three queries."""
    cf.run("random", package, tmp_path / "trial.jsonl", limit=N)
    return tmp_path / "trial.jsonl"


def test_only_what_was_asked_is_scored(package: Path, trial: Path) -> None:
    everything, part = cf.score(trial, package), cf.score(trial, package, only_asked=True)
    n = len(cf.load(package))
    assert (everything.counts.n_queries, everything.counts.n_missing) == (n, n - N)
    assert (part.counts.n_queries, part.counts.n_missing) == (N, 0)
    for name in part:
        first = everything[name].per_query[:N]
        assert part[name].per_query == first, name
        known = [v for v in first if v is not None]
        scale = 100 if part[name].scale == 100 else 1
        assert part[name].value == pytest.approx(scale * sum(known) / len(known)), name
    # What was not asked is the worst value of every query that was left out.
    assert everything["CiteF1"].value == pytest.approx(part["CiteF1"].value * N / n)  # type: ignore[operator]


def test_both_say_it(inline: Inline, package: Path, trial: Path) -> None:
    n = len(cf.load(package))
    said = f"{N} of {n} queries were asked (--limit), the others count as missing"
    plain = inline("score", trial, "--benchmark", package)
    assert said in plain.stderr
    assert "asked:" not in plain.stdout
    part = inline("score", trial, "--benchmark", package, "--only-asked")
    assert said not in part.stderr
    assert f"|asked:{N}|" in part.stdout
    checked = inline("check", trial, "--benchmark", package)
    assert said in checked.stdout + checked.stderr
    assert "no answer to" not in checked.stdout  # once is enough


def test_a_whole_submission_stays_as_it_is(package: Path, tmp_path: Path) -> None:
    cf.run("random", package, tmp_path / "all.jsonl")
    scores = [cf.score(tmp_path / "all.jsonl", package, only_asked=o) for o in (False, True)]
    assert scores[0].file.measures == scores[1].file.measures


def test_nothing_says_what_was_asked(package: Path, trial: Path, tmp_path: Path) -> None:
    """As answers of vendors, which have no header."""
    other, n = tmp_path / "no-header.jsonl", len(cf.load(package))
    other.write_text("".join(trial.read_text().splitlines(keepends=True)[1:]))
    with refused("missing-field", cf.UsageError) as caught:
        cf.score(other, package, only_asked=True)
    assert f"it answers 3 of {n}; --only-answered scores these" in str(caught.value)
    assert cf.score(trial, package, only_asked=True).file.warnings == []


def test_only_what_is_answered_is_scored(inline: Inline, package: Path, tmp_path: Path) -> None:
    """Two right answers are 2 / 30 of the benchmark, and all of two queries."""
    items = [i for i in cf.load(package).items("mix") if i.query_id in ("q04", "q21")]
    rows = [
        {"query_id": i.query_id, "output": "".join(f"[{p + 1}]" for p in sorted(i.relevant))}
        for i in items
    ]
    path = write_jsonl(tmp_path / "two.jsonl", rows)
    plain = inline("score", path, "--benchmark", package)
    assert "28 answers missing, with the worst value each; --only-answered leaves" in plain.stderr
    assert cf.score(path, package)["CiteF1"].value == pytest.approx(100 * 2 / 30)
    part = cf.score(path, package, only_answered=True)
    assert (part["CiteF1"].value, part["CiteF1"].n, part.counts.n_missing) == (100, 2, 0)
    (warning,) = [text for text in part.file.warnings if "--only-answered" in text]
    assert warning.startswith("scored on the 2 of 30 queries that it answers")
    # Others of as many queries are not compared with them; the first ones are those of --limit.
    first = cf.score(_of(rows[0], "q01", "q02"), package, only_answered=True)
    assert "|asked:2|" in first["CiteF1"].signature
    with refused("not-comparable"):
        cf.compare(part, first)
    with refused("unknown-query", field="query_id") as caught:
        cf.score(_of(rows[0], "q01", "q99"), package, only_answered=True)
    assert "is not in the benchmark" in str(caught.value)
    whole = cf.score(_of(rows[0], *cf.load(package).query_ids), package, only_answered=True)
    assert "asked:" not in whole["CiteF1"].signature
    assert "--only-answered" not in "".join(whole.file.warnings)
    with refused("bad-option", cf.UsageError):
        cf.score(path, package, only_asked=True, only_answered=True)


def _of(row: dict[str, str], *queries: str) -> list[dict[str, str]]:
    """The same answer to several queries."""
    return [{**row, "query_id": query} for query in queries]


def test_an_answer_beyond_the_limit_is_refused(package: Path, trial: Path) -> None:
    other = cf.load(package).query_ids[N]
    with trial.open("a") as file:
        file.write(json.dumps({"query_id": other, "output": "[1]"}) + "\n")
    with refused("unknown-query", path=trial, field="query_id") as caught:
        cf.score(trial, package, only_asked=True)
    assert f"'{other}' is not in the benchmark, or not among the 3 of its queries that" in str(
        caught.value
    )


def test_parts_of_different_size_are_not_compared(package: Path, tmp_path: Path) -> None:
    files = []
    for limit in (N, N + 1):
        path = tmp_path / f"{limit}.jsonl"
        cf.run("random", package, path, limit=limit)
        files.append(cf.score(path, package, only_asked=True))
    with refused("not-comparable") as caught:
        cf.compare(*files)
    assert "asked: 3 / 4" in str(caught.value)
