"""`show`: author labels, twins beside their originals, questions with gold facts."""

from pathlib import Path

from citeforge.package.manifest import load_manifest
from citeforge.package.package import Package
from citeforge.reports.pages.query_pages import query_pages
from conftest import Inline


def lines_of(inline: Inline, *words: object) -> list[str]:
    """Lines of ``show`` in a terminal of 80 columns."""
    ran = inline("show", *words, COLUMNS="80")
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_a_cell_names_the_label_of_each_passage(inline: Inline, authorship_package: Path) -> None:
    package = Package(authorship_package)
    cell = "hl_human_llm_cf"  # relevant passages of people, others of a model; labels swapped
    item = next(package.items(cell))
    lines = lines_of(inline, authorship_package, "--query", item.query_id, "--context", cell)
    heads = [line for line in lines if line.startswith("  [")]
    assert heads == [
        f"  [{n}] {p.label} ({p.id}), written by [{'Human' if p.id.endswith('~twin') else 'LLM'}]"
        for n, p in enumerate(item.passages, package.grammar.base)
    ]
    assert len(heads) == 5  # as many as the package shows for one query
    lines = lines_of(inline, authorship_package, "--query", item.query_id)
    # A passage and its twin have one title each: 5 passages, 2 versions, printed once.
    assert sum(line.startswith("      ") and line[6] != " " for line in lines) == 5 * 2


def test_an_unknown_query_is_answered_with_all_that_there_are(
    inline: Inline, package: Path
) -> None:
    ran = inline("show", package, "--query", "nobody's")
    ids = Package(package).query_ids
    assert (ran.returncode, len(ids)) == (2, 30)
    assert f"known: {', '.join(sorted(ids))}" in ran.stderr


def test_a_twin_is_beside_its_original(inline: Inline, twins_package: Path) -> None:
    lines = lines_of(inline, twins_package, "--query", "q01")
    at = next(n for n, line in enumerate(lines) if line.endswith(" relevant (moon-io)"))
    assert lines[at + 1].startswith("      Io: Io is the innermost of")
    following = next(n for n, line in enumerate(lines) if n > at and line.startswith("  ["))
    text = " ".join(line.strip() for line in lines[at + 1 : following])
    assert " twin (moon-io~twin): " in text
    assert Package(twins_package).texts(["moon-io~twin"])["moon-io~twin"][1] in text
    assert max(map(len, lines)) <= 80
    assert not any("without an accepted twin:" in line for line in lines_of(inline, twins_package))


def test_questions_of_a_graph_are_listed_with_their_gold(
    inline: Inline, kalma_package: Path
) -> None:
    package = Package(kalma_package, load_manifest(kalma_package))
    summary = " ".join(" ".join(lines_of(inline, kalma_package)).split())
    general = package.forms["general"]["text"].to_pylist()
    for item, other in zip(package.items(), general, strict=True):
        facts = (f"gold: {f.name}, {f.relation}: {f.value}" for f in item.knowledge)
        expected = " ".join([f"{item.query_id}: {item.query}", f"general: {other}", *facts])
        assert " ".join(expected.split()) in summary
    item = next(package.items())
    lines = lines_of(inline, kalma_package, "--query", item.query_id, "--context", "full")
    assert sum(line.endswith("(gold)") for line in lines) == len(item.knowledge)


def test_removed_facts_are_listed(inline: Inline, kalma_package: Path) -> None:
    package = Package(kalma_package, load_manifest(kalma_package))
    item = next(package.items("absent_2"))
    rows = [r for r in package.absent("absent_2").to_pylist() if r["query_id"] == item.query_id]
    words = {"gold": "gold", "inverse": "would give a removed one away"}
    expected = [f"{r['name']}, {r['relation']}: {r['value']} ({words[r['why']]})" for r in rows]
    assert sum(text.endswith("(gold)") for text in expected) == 2
    assert item.describe_removed() == expected
    shown = lines_of(inline, kalma_package, "--query", item.query_id, "--context", "absent_2")
    text = " ".join(" ".join(shown).split())
    assert all(f"removed: {one}" in text for one in expected)
    full = lines_of(inline, kalma_package, "--query", item.query_id, "--context", "full")
    assert not any("removed:" in line for line in full)
    pages = query_pages(package)
    assert next(pages).removed["absent_3"][:1] == expected[:1]


def test_a_share_has_the_same_digits_in_the_summary_and_on_the_card(
    inline: Inline, package: Path
) -> None:
    (line,) = [line for line in lines_of(inline, package) if "share of relevant passages" in line]
    (row,) = [r for r in (package / "README.md").read_text().splitlines() if "share of rel" in r]
    _, what, figure, _ = (cell.strip() for cell in row.split("|"))
    assert line.split() == [*what.split(), figure]
    shares = [
        sum(p.label == "relevant" for p in item.passages) / len(item.passages)
        for item in Package(package).items(next(iter(Package(package).contexts)))
    ]
    assert float(figure) == round(sum(shares) / len(shares), 4)
