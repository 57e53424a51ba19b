"""What KaLMA's own code reads, in worked examples; each was found by running it beside ours."""

from typing import Any

import pytest

from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures import kalma_citations
from citeforge.evaluator.measures.kalma_graphs import KalmaInputs
from citeforge.evaluator.measures.kalma_marks import reference_mark
from citeforge.evaluator.statements.kalma import SENTENCES, read_brackets
from citeforge.evaluator.statements.triples import ShownGraphs, read_answer, read_reference
from citeforge.evaluator.statistics.estimates import Sample, estimate_value
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.kg import Key, Triple
from conftest_evaluator import Facts, World, graph_samples, marking_llm


def shown(*facts: tuple[str, str], **more: Any) -> ShownGraphs:
    triples = tuple(Triple("Q1", "Ada", "", r, v) for r, v in facts)
    return ShownGraphs("question?", triples, more.pop("gold", ()), (), **more)


def figures(
    outputs: list[str],
    graphs: ShownGraphs | list[ShownGraphs],
    protocol: str = "reference",
    runs: int = 1,
) -> dict[str, float]:
    """All figures of citations, as fractions."""
    each = graphs if isinstance(graphs, list) else [graphs] * len(outputs)
    read = read_reference if protocol == "reference" else read_answer
    n = len(outputs) // runs
    readings = [
        [read(i, each[i], outputs[run * n + i], ()) for i in range(n)] for run in range(runs)
    ]
    world: Any = World([f"q{i}" for i in range(n)], [[] for _ in range(n)])
    inputs = KalmaInputs(
        world, readings, frozenset(), ScoringTools().with_options(protocol=protocol)
    )
    found = graph_samples(inputs, *(m.name for m in kalma_citations.MEASURES))
    return {n: estimate_value(s).value for n, s in found.items() if not isinstance(s, str)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Q1, name: Ada]", [("Q1", "name", "Ada")]),
        ("[Q1, Ada, spouse: X]", [("Q1", "spouse", "X")]),
        ("[Q1, spouse: X, child: Y]", [("Q1", "spouse", "X"), ("Q1", "child", "Y")]),
        # A relation is what follows the last comma, so one with a comma loses its beginning.
        (
            "[Q1, languages spoken, written or signed: Norse]",
            [("Q1", "written or signed", "Norse")],
        ),
        # A colon in a value cuts it; behind it stands no comma, hence no relation and no citation.
        ("[Q1, work: Psycho: a story]", [("Q1", "work", "Psycho")]),
        ("[Q1, work: Psycho: a story, part 2]", [("Q1", "work", "Psycho")]),
        ("[Q1, work: Notes, vol: x]", [("Q1", "work", "Notes"), ("Q1", "vol", "x")]),
        ("[qid: Q1, spouse: X]", [("qid: Q1", "spouse", "X")]),
        ("[q1, spouse: X]", [("q1", "spouse", "X")]),
        # A bracket ends at the first that closes, and on its line.
        ("[[Q1, spouse: X]]", [("[Q1", "spouse", "X")]),
        ("[Q1, work: Prize [2010]]", [("Q1", "work", "Prize [2010")]),
        ("[Q1,\nspouse: X]", []),
        # Without a relation there is no citation; without a value there is.
        ("[Q1] [Q1, spouse] [Q1: spouse: X]", []),
        ("[Q1, spouse: ]", [("Q1", "spouse", "")]),
        ("[NA] [ NA ] [1] [2, 3]", []),
    ],
)
def test_brackets(text: str, expected: list[tuple[str, str, str]]) -> None:
    cited, _ = read_brackets(text)
    assert [(c.qid, c.relation, c.value) for c in cited] == expected


def test_sentences() -> None:
    def split(text: str) -> list[str]:
        return [text[start:end] for start, end in SENTENCES.split(text)]

    # The marker behind a full stop goes with the sentence that follows.
    assert split("It is X. [Q1, r: X] Next. Then? Yes") == [
        "It is X. [Q1, r: X] Next.", "Then?", "Yes"
    ]  # fmt: skip
    # No cut behind a capital two characters before, at "!", or before a small letter.
    assert len(split("So [NA]. So it is! Yes. no")) == 1
    assert split("One.\nTwo.   Three.") == ["One.\nTwo.", "Three."]
    assert split("") == [""]


def test_empty_answers_leave_and_blank_ones_do_not() -> None:
    gold = ((Key("Q1", "spouse", "X"), 0),)
    graph = shown(("spouse", "X"), gold=gold)
    result = figures(["[Q1, spouse: X]", "", "NA", " "], graph)
    # Of the four, "" and "NA" are gaps to pandas: two answers stay, one of them has the fact.
    assert result["KaLMA.R@micro"] == 1 / (1 + 1)
    assert result["KaLMA.R@macro"] == (1 + 0) / 2
    assert result["KaLMA.Citations"] == (1 + 0) / 2
    strict = figures(["[Q1, spouse: X]", "", "NA", " "], graph, "strict")
    assert strict["KaLMA.R@micro"] == 1 / 4


def test_gold_without_rounds_counts_in_all() -> None:
    facts = [("spouse", "X"), ("child", "Y"), ("work", "Z")]
    keys = [Key("Q1", r, v) for r, v in facts]
    outputs = ["[Q1, spouse: X] [Q1, work: Z]"]
    result = figures(outputs, shown(*facts, gold=tuple((k, 0) for k in keys)))
    assert result["KaLMA.Corr@micro"] == 2 / 2
    assert result["KaLMA.P@micro"] == 2 / 2
    assert result["KaLMA.R@micro"] == 2 / 3
    result = figures(outputs, shown(*facts, gold=tuple(zip(keys, (1, 2, 3), strict=True))))
    assert result["KaLMA.P@micro"] == 2 / 2
    assert result["KaLMA.R@micro"] == 1 / 2  # the spouse is of round 1
    first = figures(outputs, shown(*facts, gold=tuple((k, 1) for k in keys)))
    assert first["KaLMA.Corr@micro"] == 2 / 2  # whatever rounds the gold is of
    assert "KaLMA.R@micro" not in first


def test_the_name_is_a_fact_of_the_graph() -> None:
    graph = shown(("spouse", "X"), gold=((Key("Q1", "spouse", "X"), 0),))
    for protocol in ("reference", "strict"):
        result = figures(["[Q1, name: Ada] [Q1, spouse: X] [Q1, name: Bea]"], graph, protocol)
        assert result["KaLMA.Corr@micro"] == 2 / 3
        assert result["KaLMA.P@micro"] == 1 / 3
    # Before another fact it is one more citation to their code; in strict it says of whom.
    both = "[Q1, name: Ada, spouse: X]"
    assert figures([both], graph)["KaLMA.P@micro"] == 1 / 2
    assert figures([both], graph, "strict")["KaLMA.P@micro"] == 1 / 1


def test_names_of_relations() -> None:
    graph = shown(("surname", "Škoda"), ("son", "X"), gold=((Key("Q1", "surname", "Škoda"), 0),))
    outputs = ["[Q1, surname: Škoda]", "[Q1, family name: Škoda]", "[q1, Son: X]"]
    strict = figures(outputs, graph, "strict")
    assert strict["KaLMA.Corr@micro"] == 3 / 3
    assert strict["KaLMA.R@micro"] == (1 + 1 + 0) / 3
    # Their code compares letter by letter.
    assert figures(outputs, graph)["KaLMA.Corr@micro"] == 1 / 3


def test_blank_values_of_published_graphs() -> None:
    graph = shown(("spouse", "X"), blank=(Key("Q1", "date_of_death", ""),))
    outputs = ["[Q1, date_of_death: ] [Q1, spouse: X]"]
    assert figures(outputs, graph)["KaLMA.Corr@micro"] == 2 / 2
    assert figures(outputs, graph, "strict")["KaLMA.Corr@micro"] == 1 / 2


def test_runs_are_averaged_before_f1() -> None:
    graph = shown(("spouse", "X"), ("child", "Y"), gold=((Key("Q1", "spouse", "X"), 0),))
    result = figures(["[Q1, spouse: X]", "[Q1, child: Y] [Q1, spouse: Z]"], graph, runs=2)
    p, r = (1 / 1 + 0 / 2) / 2, (1 / 1 + 0 / 1) / 2
    assert result["KaLMA.F1@micro"] == 2 * p * r / (p + r)


def test_alignment_leaves_empty_graphs_out() -> None:
    graph, empty = shown(("spouse", "A")), ShownGraphs("question?", (), (), ())
    each = [graph, empty]
    readings = [read_reference(i, s, "Of B. [Q1, spouse: A]", ()) for i, s in enumerate(each)]
    world: Any = World(["q0", "q1"], [[], []])
    tools = ScoringTools(judge=JudgeSession(Facts())).with_options(protocol="reference")
    inputs = KalmaInputs(world, [readings], frozenset(), tools)
    result = graph_samples(inputs, "KaLMA.Align@micro")["KaLMA.Align@micro"]
    assert isinstance(result, Sample)
    # The second would have been 0 of 1 like the first; it is not there at all.
    assert result.sums[0].tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("reply", "mark"),
    [("4", 4), ("Score: 4 out of 5", 4), ("none", 3), ("", 3), ("10", 10), ("0", 0), ("3.5", 3),
     ("The answer deserves a 4 out of 5.", 5), ("I think it is worth a 2", 2), ("１", 3)],
)  # fmt: skip
def test_marks(reply: str, mark: float) -> None:
    """Of a reply longer than 20 characters only the last ten are looked at."""
    assert reference_mark(reply) == mark


def test_the_first_hundred_answers_with_a_graph() -> None:
    graph, empty = shown(("spouse", "A")), ShownGraphs("question?", (), (), ())
    each = [empty] * 3 + [graph] * 101
    readings = [read_reference(i, s, "Good [Q1].", ()) for i, s in enumerate(each)]
    world: Any = World([f"q{i}" for i in range(104)], [[] for _ in range(104)])
    llm = marking_llm({"Good.": "4"})
    tools = ScoringTools(llm=llm).with_options(protocol="reference")
    inputs = KalmaInputs(world, [readings], frozenset(), tools)
    result = graph_samples(inputs, "GEval.fluency")["GEval.fluency"]
    assert len(llm.asked) == 100
    assert isinstance(result, Sample)
    assert estimate_value(result).value == 4
