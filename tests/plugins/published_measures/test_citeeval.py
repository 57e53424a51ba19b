"""CiteEval by hand, with replies of an LLM that are given."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from citeforge.engines.llm.records import Failure, Request
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.measures.results import compute
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.package.items import Passage
from citeforge.plugins.published_measures.citeeval_edits import Edit, rate_edits, read_edits
from citeforge.plugins.published_measures.citeeval_reference import (
    Sentence,
    fill_prompt,
    rate_edited,
    rate_sentences,
    read_categories,
    read_ratings,
    read_sentences,
)
from peers.hard_answers import _punkt, make_inputs
from stand_ins import RuleLlm

NAMES = ["CiteEval.Full", "CiteEval.Cited"]
ALL = [*NAMES, "CiteEval.Edits.Full", "CiteEval.Edits.Cited"]
ALL += ["CiteEval.Both.Full", "CiteEval.Both.Cited"]
KEPT, BIAS = 1.00298631, -0.010901728784493359
OFF_TOPIC, WEAKER, NEEDLESS = 0.06935712, 0.79767963, 0.5318322
EVIDENCE, BETTER, SUPPORT = 0.0, 0.01623296, 0.43404136
SHOWN = (Passage("p1", "", "Rome is old."), Passage("p2", "", "Paris is new."))
EXAMPLE = "Rome is old [1]. Paris is new. What is old? Bonn is small [2]."
SOURCES = {"2": "passages", "3": "question"}
RATINGS = {
    "1": {"delete": [], "add": [], "rating": 4},
    "4": {"delete": [{"passage": 2, "why": "off-topic"}], "add": [], "rating": 1},
}


def inputs_of(
    outputs: Sequence[str], sources: object, ratings: object, missing: Sequence[int] = ()
) -> tuple[Inputs, RuleLlm]:
    """Answers in ``strict``; the LLM's replies to both prompts are JSON, a text or a failure."""

    def reply(request: Request) -> str | Failure:
        ((_, prompt),) = request.messages
        said = ratings if "edit and rate" in prompt.lower() else sources
        return said if isinstance(said, str | Failure) else json.dumps(said)

    inputs, llm = make_inputs([("What is old?", o, SHOWN) for o in outputs]), RuleLlm(reply)
    inputs.tools = replace(inputs.tools, llm=llm).with_options(protocol="strict")
    inputs.runs = [
        [
            AnswerItem(i.row, i.query, i.output, i.passages, i.row in missing, i.gold)
            for i in inputs.runs[0]
        ]
    ]
    return inputs, llm


def score(
    inputs: Inputs, names: Sequence[str] = tuple(NAMES)
) -> dict[str, list[tuple[float, float]] | str]:
    """Lowest and highest value of each answer, or why there is none."""
    computed, missing = compute(inputs, select(names), None, has_hidden_gold=False)
    found: dict[str, list[tuple[float, float]] | str] = {m.name: m.reason for m in missing}
    for measure, sample in computed:
        upper = (sample.upper or sample).per_query[0]
        found[measure.name] = list(zip(sample.per_query[0].tolist(), upper.tolist(), strict=True))
    return found


def test_the_example_of_the_page() -> None:
    inputs, llm = inputs_of([EXAMPLE], SOURCES, RATINGS)
    full, cited = (3 / 4 + 0 + 0) / 3, (3 / 4 + 0) / 2
    assert score(inputs) == {"CiteEval.Full": [(full, full)], "CiteEval.Cited": [(cited, cited)]}
    # Statements that cite are rated, and the others attributed; each once.
    asked = [request.messages[0][1] for request in llm.asked]
    assert len(asked) == 2
    assert "statements 2, 3 where it comes from" in asked[0]
    assert "statements 1, 4, first" in asked[1]
    assert "4. cites 2:" in asked[1] and "2. cites nothing:" in asked[1]


def test_ratings_by_the_edits() -> None:
    inputs, llm = inputs_of([EXAMPLE], SOURCES, RATINGS)
    marks, edits = (3 / 4 + 0) / 2, (1 + OFF_TOPIC + BIAS) / 2
    of_all = {
        "CiteEval.Cited": marks,
        "CiteEval.Edits.Cited": edits,
        "CiteEval.Both.Cited": (marks + edits) / 2,
        # The second statement needs a citation, and has none.
        "CiteEval.Full": marks * 2 / 3,
        "CiteEval.Edits.Full": edits * 2 / 3,
        "CiteEval.Both.Full": (marks + edits) / 3,
    }
    found = score(inputs, ALL)
    assert found == {name: [(pytest.approx(v), pytest.approx(v))] for name, v in of_all.items()}
    assert len(llm.asked) == 2


@pytest.mark.parametrize(
    ("output", "delete", "add", "expected"),
    [
        ("Rome is old [1].", [], [], 1),
        ("Rome is old [1].", [], [(2, "support")], (KEPT + SUPPORT) / 2 + BIAS),
        ("Rome is old [1].", [(1, "weaker")], [(2, "better")], (WEAKER + BETTER) / 2 + BIAS),
        ("Rome is old [1][2].", [("2", "needless")], [], (KEPT + NEEDLESS) / 2 + BIAS),
        # Passages that are not shown, or not cited, change nothing.
        ("Rome is old [1].", [(2, "off-topic"), (7, "needless")], [(0, "evidence")], KEPT + BIAS),
        # A citation of no passage is off topic.
        ("Rome is old [1][9].", [], [], (KEPT + OFF_TOPIC) / 2 + BIAS),
        # What is deleted, then added again, is kept.
        ("Rome is old [1].", [(1, "off-topic")], [(1, "evidence")], KEPT + BIAS),
        ("Rome is old [1].", [(1, "boring")], [], (0, 1)),
        ("Rome is old [1].", [(1, ["off-topic"])], [], (0, 1)),
        ("Rome is old [1].", [("one", "off-topic")], [], (0, 1)),
        ("Rome is old [1].", None, [], (0, 1)),
    ],
)
def test_the_rating_of_edits(
    output: str, delete: list[tuple[object, object]] | None, add: list[tuple[object, object]],
    expected: float | tuple[float, float],
) -> None:  # fmt: skip
    pairs = {"delete": delete, "add": add}
    verdict = {
        action: rows if rows is None else [{"passage": p, "why": why} for p, why in rows]
        for action, rows in pairs.items()
    }
    inputs, _ = inputs_of([output], {}, {"1": {**verdict, "rating": 3}})
    low, high = expected if isinstance(expected, tuple) else (expected, expected)
    if isinstance(expected, float):
        low = high = min(1.0, expected)
    assert score(inputs, ["CiteEval.Edits.Cited"]) == {
        "CiteEval.Edits.Cited": [(pytest.approx(low), pytest.approx(high))]
    }


def test_a_statement_without_a_verdict_leaves_bounds() -> None:
    inputs, _ = inputs_of([EXAMPLE], {"2": "passages", "3": "who knows"}, {"1": {"rating": 4}})
    # S3 may need a citation, and S4 may have any rating.
    assert score(inputs) == {
        "CiteEval.Full": [((3 / 4 + 0) / 4, (3 / 4 + 1) / 3)],
        "CiteEval.Cited": [((3 / 4 + 0) / 2, (3 / 4 + 1) / 2)],
    }


@pytest.mark.parametrize(
    ("source", "value"), [("passages", [(0, 0)]), ("model", "no query defines it")]
)
def test_without_citations_the_attribution_decides(source: str, value: object) -> None:
    inputs, llm = inputs_of(["Rome is old."], {"1": source}, "nothing is rated")
    assert score(inputs) == dict.fromkeys(NAMES, value)
    assert len(llm.asked) == 1


def test_missing_answers_have_nothing_and_are_not_asked_about() -> None:
    inputs, llm = inputs_of(["", "Rome is old [1]."], {}, {"1": {"rating": 5}}, missing=[0])
    assert score(inputs) == {name: [(0, 0), (1, 1)] for name in NAMES}
    assert len(llm.asked) == 1


def test_a_citation_of_no_passage_is_named() -> None:
    inputs, llm = inputs_of(["Rome is old [1][9]."], {}, {"1": {"rating": 3}})
    assert score(inputs) == {name: [(1 / 2, 1 / 2)] for name in NAMES}
    assert "1. cites 1, 1 that no passage has:" in llm.asked[0].messages[0][1]


def test_an_llm_that_fails_on_all_is_reported() -> None:
    inputs, _ = inputs_of(["Rome is old [1]."], {}, Failure("billing", "no credit left"))
    assert score(inputs) == dict.fromkeys(NAMES, "the LLM failed on all answers: no credit left")


def test_it_needs_an_llm_and_reference_the_authors_prompts() -> None:
    inputs, _ = inputs_of(["Rome is old [1]."], {}, {})
    tools = inputs.tools
    inputs.tools = replace(tools, llm=None)
    assert score(inputs) == dict.fromkeys(NAMES, "needs --llm openai:MODEL or replay:FILE")
    inputs, _ = inputs_of(["Rome is old [1]."], {}, {})
    inputs.tools = inputs.tools.with_options(protocol="reference")
    assert score(inputs) == dict.fromkeys(
        NAMES,
        "needs the authors' wording 'citeeval_no_answer': --wordings FILE.yaml with the line "
        "`citeeval_no_answer: TEXT`",
    )


def test_reference_weighs_answers_by_their_statements(tmp_path: Path) -> None:
    path = tmp_path / "wordings.yaml"
    path.write_text("citeeval_attribution: A {x.sentences}\nciteeval_rating: R {x.citations}\n"
                    "citeeval_no_answer: Nothing.\n")  # fmt: skip
    reply = (
        '<category sentence_id="1">1</category><category sentence_id="2">2</category>'
        '<rating sentence_id="1">3</rating>'
    )
    outputs = ["It is known that Rome is old [1]. It is known that Paris is new.",
               "It is known that Rome is old."]  # fmt: skip
    inputs, _ = inputs_of(outputs, reply, reply)
    inputs.tools = inputs.tools.with_options(protocol="reference", wordings=path)
    computed, _ = compute(inputs, select(NAMES), None, has_hidden_gold=False)
    values = {m.name: float(s.combine(s.sums.sum(axis=1))[0]) for m, s in computed}
    # The first has 1/2 for S1, and 0 for S2; of the second nothing needs a citation, so 1.
    assert values == {
        "CiteEval.Full": (2 * (1 / 2 + 0) / 2 + 1 * 1) / 3,
        "CiteEval.Cited": (2 * (1 / 2) + 1 * 1) / 3,
    }


def test_sentences_as_the_authors_code_reads_them() -> None:
    output = "<thinking>No.</thinking> [3] One sentence about gold. [1] Short [2][12].\nTin is it!"
    assert read_sentences(output, _punkt(), "Nothing.") == [
        # The first mark is its own, the second opens the next one, which is too short to stand.
        Sentence("One sentence about gold. Short.", [1, 2, 3]),
        Sentence("Tin is it!", []),
    ]
    assert read_sentences("There is no such information [1].", _punkt(), "Nothing.") == [
        Sentence("Nothing.", [])
    ]


def test_edits_of_the_authors_prompt() -> None:
    reply = (
        '<editing sentence_id="1"> <DELETE citation="2"> DELETE REASON 2 </DELETE>\n'
        '<ADD citation="4"> REASON 3 </ADD> <ADD citation="5"> ADD REASON 9 </ADD></editing>'
        '<editing sentence_id="2"> N/A </editing>'
    )
    edits = {"1": [Edit("delete", "2", "2"), Edit("add", "4", "3")]}
    assert read_edits(reply) == edits
    sentences = [Sentence("Rome is old.", [1, 2]), Sentence("Why?", [1])]
    # Passages 1 and 2 are 2 and 3 to their code.
    assert rate_edited(sentences, edits) == {"1": (WEAKER + KEPT + SUPPORT) / 3 + BIAS}
    # Deleted, then added again; added, then deleted; nothing is left of the one citation.
    again = [Edit("delete", "1", "1"), Edit("add", "1", "1")]
    assert rate_edits(["1"], again) == KEPT + BIAS
    assert rate_edits([], [Edit("add", "2", "1"), Edit("delete", "2", "3")]) == 1


def test_prompts_and_replies_of_the_authors() -> None:
    sentences = [Sentence("Rome is old.", [1, 2]), Sentence("Why?", [])]
    template = "{x.question} {{edit}} {x.passages} {x.sentences} {x.answer} {x.citations} {x.other}"
    assert fill_prompt(template, "Q?", [Passage("p", "T", "text")], sentences) == (
        'Q? {{edit}} <passage id="1" title="T">\ntext\n</passage> '
        '<sentence sentence_id="1"> Rome is old. </sentence>\n'
        '<sentence sentence_id="2"> Why? </sentence> Rome is old. Why? '
        '<citation sentence_id="1" sentence="Rome is old."> 1, 2 </citation>\n'
        '<citation sentence_id="2" sentence="Why?"> None </citation> {x.other}'
    )
    categories = read_categories('<category sentence_id="2"> 31 </category>')
    assert categories == {"2": "3"}
    assert read_ratings('<rating sentence_id="1"> 4 </rating>') == {"1": 3 / 4}
    assert rate_sentences(sentences, categories, {}) == [1, None]
    assert rate_sentences(sentences, {}, {"1": 3 / 4}) == [3 / 4, 0]
