"""LongBench-Cite's scorer beside ours: grades of hard answers, and lengths of citations.

Its LLM is replaced by a rule, and both sides start from our statements: the authors' are those that
their models write between tags. `cnt_citation_len.py` adds to a counter that it never sets, which
is set to 0 for it, and the tokenizer is replaced by a count of words.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.script_words import count_text_words
from citeforge.evaluator.statements.strict import read_strict
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.schemas.citations.grammar import without_markers
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program, load_module
from stand_ins import AskedJudge

LONGCITE = Program(
    "longcite",
    "THUDM/LongCite",
    "LongBench-Cite: auto_scorer.get_citation_score() and cnt_citation_len.py; a rule stands in "
    "for the LLM, a count of words for the tokenizer",
    "test_longcite_peer.py",
)
Rows = list[dict[str, Any]]
NAMES = ["LongCite.R", "LongCite.P", "LongCite.F1"]
ANSWERS = 8


def decide(question: str, premise: str, text: str) -> float:
    """A verdict by the hash of all texts: 1, 1/2 or 0 for grades of support, else 1 or 0."""
    texts = "\0".join((question, premise.strip(), text.strip()))
    n = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).digest()[0]
    return (0.0, 0.5, 1.0)[n % 3] if question == "llm-half-support" else float(n % 2)


def judge_pair(pair: Pair) -> bool | float:
    said = decide(pair.question, pair.premise, pair.hypothesis)
    return said if pair.question == "llm-half-support" else bool(said)


def reply(messages: list[dict[str, str]], **options: Any) -> tuple[str, dict[str, int]]:
    """What the LLM replies to a prompt of theirs."""
    prompt = messages[0]["content"]
    parts = {
        name: (re.search(rf"<{name}>\n(.*?)\n</{name}>", prompt, re.DOTALL) or [None, ""])[1]
        for name in ("question", "response", "sentence", "statement", "snippet")
    }
    if "Need Citation" in prompt:
        shown = f"Question: {parts['question']}\n\nAnswer: {parts['response']}"
        said = decide("llm-need-citation", shown, parts["sentence"])
        words = "Need Citation: [[Yes]]" if said else "Need Citation: [[No]]"
    elif "[[Relevant]]" in prompt:
        said = decide("llm-relevant", parts["snippet"], parts["statement"])
        words = "Rating: [[Relevant]]" if said else "Rating: [[Unrelevant]]"
    else:
        said = decide("llm-half-support", parts["snippet"], parts["statement"])
        grade = {1.0: "Fully supported", 0.5: "Partially supported", 0.0: "No support"}[said]
        words = f"Rating: [[{grade}]]"
    return words, {"prompt_tokens": 1, "completion_tokens": 1}


def run_scorer(checkout: Path, rows: Rows) -> list[list[float]]:
    """Recall, precision and F1 of each answer by their code."""
    with pytest.MonkeyPatch.context() as patch:
        api = ModuleType("utils.llm_api")
        api.query_llm = reply  # type: ignore[attr-defined]
        patch.setitem(sys.modules, "utils", ModuleType("utils"))
        patch.setitem(sys.modules, "utils.llm_api", api)
        patch.setattr(sys, "path", list(sys.path))
        scorer = load_module(checkout / "LongBench-Cite" / "auto_scorer.py", "longcite_scorer")
        scored = [scorer.get_citation_score(row, max_statement_num=40) for row in rows]
    return [[s[f"citation_{n}"] for n in ("recall", "precision", "f1")] for s in scored]


def run_lengths(checkout: Path, rows: Rows) -> float:
    """Mean length of citations, as their script prints it."""

    class Tokenizer:
        """Counts words."""

        @staticmethod
        def from_pretrained(name: str, **options: Any) -> type["Tokenizer"]:
            return Tokenizer

        @staticmethod
        def encode(text: str, **options: Any) -> range:
            return range(count_text_words(text))

    said: list[float] = []
    source = (checkout / "LongBench-Cite" / "cnt_citation_len.py").read_text()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        transformers = ModuleType("transformers")
        transformers.AutoTokenizer = Tokenizer  # type: ignore[attr-defined]
        transformers.AutoModelForCausalLM = None  # type: ignore[attr-defined]
        patch.setitem(sys.modules, "transformers", transformers)
        given = Path(folder, "scores.json")
        given.write_text(json.dumps(rows))
        code = source.replace('# "./scores_cite/LongCite-glm4-9b.json"', repr(str(given)))
        exec(code, {"num_statement": 0, "print": lambda *words: said.extend(words)})
    return said[-1]


def describe(inputs: Inputs) -> Rows:
    """The answers as their scorer reads them, with our statements."""
    rows = []
    for item in inputs.runs[0]:
        markers = inputs.grammar.parse(item.output, item.n_passages).markers
        statements = [
            {"statement": s.text, "citation": [{"cite": item.passages[c].text} for c in s.cited]}
            for s in read_strict(item, inputs)
        ]
        text = without_markers(item.output, markers)
        rows.append({"query": item.query, "prediction": text, "statements": statements})
    return rows


@pytest.mark.parametrize("kind", hard.KINDS)
def test_grades_of_hard_answers(kind: str, printed: FrozenNumbers) -> None:
    inputs = hard.make_inputs(hard.make_items(kind, ANSWERS), judge=AskedJudge(judge_pair))
    rows = describe(inputs)
    theirs = printed(LONGCITE, kind, run_scorer, rows)
    ours = hard.per_query(inputs, NAMES)
    for name, column in zip(NAMES, zip(*theirs, strict=True), strict=True):
        assert ours[name] == pytest.approx(list(column), abs=1e-9), name
        mean = sum(column) / len(column)  # as their eval_cite.py averages
        assert hard.totals(inputs, [name])[name] == pytest.approx(mean, abs=1e-9)


def test_lengths_of_citations(printed: FrozenNumbers) -> None:
    items = [item for kind in hard.KINDS for item in hard.make_items(kind, ANSWERS)]
    inputs = hard.make_inputs(items)
    theirs = printed(LONGCITE, "lengths", run_lengths, describe(inputs))
    ours = hard.totals(inputs, ["LongCite.Length"])["LongCite.Length"]
    assert ours == pytest.approx(theirs, abs=1e-9)
