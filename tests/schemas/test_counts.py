"""Counts and statistics: every key that is written has a row in the table, and the other way."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from citeforge.package.manifest import load_manifest, read_stats
from citeforge.schemas.counts import (
    COUNTS,
    EXTRA_FIELDS,
    NOT_MADE,
    SENSITIVE,
    SENSITIVE_GOLD,
    SUSPECTS,
    count_key,
    count_line,
    count_name,
    describe_count,
    describe_entry,
    join_counts,
)
from citeforge.schemas.manifest import COMPARED, FAR

SOURCE = Path(__file__).parents[2] / "src" / "citeforge"
TABLE = SOURCE / "schemas" / "counts.py"
HOLDERS = re.compile(r"counts|stats|figures|left_out")
"""Names of variables and fields that hold counts or statistics."""
FIXTURES = ("package", "hidden_package", "twins_package", "authorship_package", "kalma_package",
            "hagrid_package", "alce_package")  # fmt: skip


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """Parse all modules of the source but the table."""
    for path in sorted(SOURCE.rglob("*.py")):
        if path != TABLE:
            yield path, ast.parse(path.read_text())


def holds_counts(node: ast.expr) -> bool:
    """Whether an expression is a variable or field that holds counts or statistics."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return HOLDERS.fullmatch(name) is not None


def written_keys() -> Iterator[tuple[str, ast.expr]]:
    """Yield (place, key) of each count in the source: a subscript, or a name given to count_key."""
    for path, tree in trees():
        for node in ast.walk(tree):
            key = None
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                key = node.slice if holds_counts(node.value) else None
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "count_key":
                key = node.args[0]
            if key is not None:
                yield f"{path.relative_to(SOURCE)}:{key.lineno}", key


def test_every_key_that_is_written_has_a_row() -> None:
    keys = list(written_keys())
    names = {place: k.value for place, k in keys if isinstance(k, ast.Constant)}
    wrong = {place: name for place, name in names.items() if count_name(str(name)) not in COUNTS}
    assert not wrong
    sentences = [place for place, key in keys if isinstance(key, ast.JoinedStr)]
    assert not sentences, "use count_key"
    assert len(names) > 100


def test_every_row_is_written_somewhere() -> None:
    texts = {
        node.value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert (
        sorted(
            COUNTS.keys() - texts - {*EXTRA_FIELDS, NOT_MADE, SENSITIVE, SENSITIVE_GOLD, SUSPECTS}
        )
        == []
    )


@pytest.mark.parametrize("fixture", FIXTURES)
def test_every_key_of_a_package_has_a_row(fixture: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(fixture)
    manifest = load_manifest(folder)
    stats = read_stats(folder)
    assert {COUNTS[count_name(key)].where for key in stats} == {"statistics"}
    assert {COUNTS[count_name(key)].where for key in manifest.counts} <= {"build", "graph"}
    counted = [key for source in manifest.sources for key in source.counts]
    assert {COUNTS[count_name(key)].where for key in counted} <= {"source", "graph"}
    assert all("_" not in describe_count(key).split(" ")[0] for key in manifest.counts)


def test_rows_are_keys_with_english_of_their_own() -> None:
    for name, row in COUNTS.items():
        assert re.fullmatch("[a-z][a-z0-9_]*", name), name
        assert row.english and not row.english.endswith("."), name
    english = [row.english for row in COUNTS.values()]
    assert [text for text in set(english) if english.count(text) > 1] == []
    assert {COMPARED, FAR, SUSPECTS, *EXTRA_FIELDS} <= COUNTS.keys()


@pytest.mark.parametrize(
    ("key", "english"),
    [
        ("judgements_of_unknown_passages", "judgements of unknown passages, skipped"),
        ("extra_fields_kept[queries][a, b]", "queries with extra fields (a, b), kept as metadata"),
        (
            "candidates_with_an_answer[seemingly_relevant]",
            "seemingly relevant candidates dropped: contain an answer",
        ),
        ("mapped_passages[seemingly_relevant]", "seemingly_relevant passages"),
        ("context_passages_mean[a][b]", "context a][b: passages, mean"),
        (
            "relations_without_a_pair[it's][men, women]",
            'relations without a pair: "it\'s", its values are: men, women',
        ),
        ("files_not_read[broken][x][1].pdf]", "files broken (first: x][1].pdf)"),
        # A plugin's own
        ("queries_in_verse", "queries in verse"),
        ("queries_in_verse[top_5]", "queries in verse[top 5]"),
        ("passages, sung", "passages, sung"),
        # Not as its row says
        ("extra_fields_kept", "extra fields kept"),
    ],
)
def test_keys_are_described(key: str, english: str) -> None:
    assert describe_count(key) == english


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("batches_split", "1 batch split in two"),
        ("values_without_an_iri", "1 value left out: entities without an IRI"),
        ("passages_nearly_repeated", "1 passage that nearly repeats another one, joined"),
        ("values_as_impossible_dates", "1 value left out: dates that are none"),
        ("retrieved_graphs", "1 retrieved sub-graph"),
        ("answered_without_passages", "1 answered without passages"),
        ("searches_in_vain", "1 search in vain"),
    ],
)
def test_one_of_a_count_is_in_the_singular(key: str, line: str) -> None:
    assert count_line(key, 1) == line
    assert count_line(key, 2) == f"2 {describe_count(key)}"


def test_keys_are_made_of_a_name_and_arguments() -> None:
    assert count_key("queries") == "queries"
    key = count_key("recall_mean", "bm25", "-5@20", "claims")
    assert key == "recall_mean[bm25][-5@20][claims]"
    assert (count_name(key), describe_count(key)) == (
        "recall_mean", "bm25: recall-5@20 of claims, mean"
    )  # fmt: skip
    assert describe_entry("date_of_birth") == "date_of_birth"
    assert describe_entry("drift_p") == "drift, p"
    counts = {"batches_split": 1200, "rows_of_verse": 1}
    assert join_counts(counts.items()) == "1,200 batches split in two; 1 row of verse"
