"""`build documents --keep-from`: questions whose evidence did not change are kept."""

from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.verify import verify
from citeforge.package.package import Package
from conftest import refused
from plugins.documents.builds import SINGLE, built
from plugins.documents.village import ErringLlm, write_documents

pytestmark = pytest.mark.slow


def accepted(folder: Path) -> dict[str, dict[str, Any]]:
    """Accepted questions by id."""
    rows = Package(folder).written_questions().to_pylist()
    return {row["_id"]: row for row in rows if row["accepted"]}


def same(row: dict[str, Any]) -> dict[str, Any]:
    """What a kept question has of the earlier one."""
    names = ("question", "answers", "statement", "quotes", "form")
    return {name: row[name] for name in names}


def contexts(folder: Path) -> dict[str, Any]:
    """What each question is shown."""
    package = Package(folder)
    (name,) = package.contexts
    return {row["query_id"]: row["docs"] for row in package.context_table(name).to_pylist()}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of six questions about forty villages."""
    folder = tmp_path_factory.mktemp("old")
    write_documents(folder / "docs", 40)
    return built(folder, ErringLlm(errs=False), n_queries=6, shares=SINGLE).folder


def rebuild(tmp_path: Path, old: Path, n: int = 40, gone: str = "", **recipe: Any) -> Path:
    """Build from the documents of a later month, without the file of a village."""
    write_documents(tmp_path / "docs", n)
    if gone:
        (tmp_path / "docs" / f"{gone}.md").unlink()
    given = {"n_queries": 6, "shares": SINGLE, "keep_from": old, **recipe}
    return built(tmp_path, ErringLlm(errs=False), **given).folder


def test_unchanged_documents_keep_everything(old: Path, tmp_path: Path) -> None:
    new = rebuild(tmp_path, old)
    assert {q: same(row) for q, row in accepted(new).items()} == {
        q: same(row) for q, row in accepted(old).items()
    }
    assert contexts(new) == contexts(old)
    counts = Package(new).manifest.counts
    assert (counts["questions_kept"], counts["queries_kept"]) == (6, 6)
    assert verify(new) == []


def test_a_question_whose_evidence_is_gone_is_written_anew(old: Path, tmp_path: Path) -> None:
    """One of six villages that are asked about is gone; others are new."""
    before = accepted(old)
    first = next(iter(before))
    evidence = Package(old).texts(before[first]["evidence"])
    ((title, _),) = evidence.values()
    new = rebuild(tmp_path, old, n=44, gone=title)
    after, counts = accepted(new), Package(new).manifest.counts
    assert counts["questions_kept"] == 5
    assert counts["questions_not_kept[a passage of the evidence changed or is missing]"] == 1
    assert len(after) == 6
    assert first not in after
    assert {q: same(after[q]) for q in before if q != first} == {
        q: same(row) for q, row in before.items() if q != first
    }
    (other,) = after.keys() - before.keys()
    assert int(other[1:]) > max(int(q[1:]) for q in before)
    kept = [q for q, docs in contexts(old).items() if q in after and contexts(new)[q] == docs]
    assert len(kept) >= counts["queries_kept"]
    assert verify(new) == []
    changes = cf.compare_packages(old, new)
    (queries,) = [t for t in changes.tables if t.name == "queries"]
    assert (queries.added, queries.removed, queries.n_same) == ((other,), (first,), 5)


def test_fewer_questions_and_other_mixtures(old: Path, tmp_path: Path) -> None:
    """Questions are kept also where contexts are not; of more than are wanted, the first ones."""
    new = rebuild(tmp_path, old, n_queries=4, mixtures=("few=1,1,1",))
    counts = Package(new).manifest.counts
    assert list(accepted(new)) == list(accepted(old))[:4]
    assert counts["questions_not_kept[the design asks for fewer]"] == 2
    assert "queries_kept" not in counts


def test_what_nothing_can_be_kept_of(old: Path, package: Path, tmp_path: Path) -> None:
    with refused("wrong-kind"):
        rebuild(tmp_path, package)
    with pytest.raises(ValueError, match="--decided-questions is about questions of one build"):
        rebuild(tmp_path, old, decided_questions=tmp_path / "sheet.csv")
