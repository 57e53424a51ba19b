"""Numbers in cited triples, counted by hand (docs/measures/kalma_numbers.md)."""

from pathlib import Path

import pytest

import citeforge as cf
from citeforge.plugins.published_measures.quantities import read_quantities
from conftest import Inline

NAMES = ["KaLMA.Numbers", "KaLMA.Numbers.Shown"]


def test_numbers_are_looked_for_in_cited_triples_that_were_shown(kalma_package: Path) -> None:
    benchmark = cf.load(kalma_package)
    context = benchmark.contexts[0]
    items = [*benchmark.items(context)]
    triples = {item.query_id: [t for g in item.graphs for t in g.triples] for item in items}
    query, dated = next(
        (q, t) for q, several in triples.items() for t in several
        if len(read_quantities(t.value, only_sure=True)) == 1
    )  # fmt: skip
    mark = f"[{dated.qid}, {dated.relation}: {dated.value}]"
    outputs = {
        # One number of two is in the triple that is cited.
        f"It was {dated.value} and 4711 {mark}.": (50.0, 50.0),
        f"It was {dated.value}.": (0.0, 100.0),
        # A citation of a triple that was not shown has no number.
        f"It was 4711 [{dated.qid}, {dated.relation}: 4711].": (0.0, 0.0),
    }
    for output, expected in outputs.items():
        lines = [{"query_id": item.query_id, "output": "So.", "context": context} for item in items]
        lines[[*triples].index(query)]["output"] = output
        scores = cf.score(lines, benchmark, NAMES, context=context)
        assert tuple(scores[name].value for name in NAMES) == expected, output
        assert scores[NAMES[0]].n == 1


def test_a_missing_answer_has_the_worst_value(kalma_package: Path) -> None:
    benchmark = cf.load(kalma_package)
    lines = [{"query_id": benchmark.query_ids[0], "output": "So."}]
    scores = cf.score(lines, benchmark, NAMES, context=benchmark.contexts[0])
    assert (scores[NAMES[0]].value, scores[NAMES[0]].n) == (0.0, len(benchmark.query_ids) - 1)
    assert pytest.approx(0.0) == scores[NAMES[1]].value


def test_a_warning_of_all_context_sets_is_printed_once(kalma_package: Path, inline: Inline) -> None:
    inline.ok("run", "echo-relevant", "--benchmark", kalma_package, "--out", "a.jsonl")
    words = ("--measures", "kalma_numbers", "--judge", "lexical")
    ran = inline.ok("score", "a.jsonl", "--benchmark", kalma_package, *words)
    assert len(cf.load(kalma_package).contexts) > 1
    assert ran.stderr.count("warning: a.jsonl: no measure here asks the judge lexical") == 1
