"""DeepScholar-Bench's verifiability beside ours: splitting, marks, premises, one judge for both.

Their LLM is one function, ``get_support``; a verdict by the hash of both texts stands in for it.
The title and abstract that they put into a premise are the text of our query. Their repository is
``deepscholar-bench``.
"""

import math
import random
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from citeforge.package.items import Passage
from peers.frozen import FrozenNumbers, Program, load_module
from peers.hard_answers import KINDS, WORDS, entails, install_punkt, make_inputs, make_items
from peers.hard_answers import per_query as our_values

VERIFIABILITY = Program(
    "deepscholar",
    "guestrin-lab/deepscholar-bench",
    "eval/evaluator: CitePEvaluator and ClaimCoverageEvaluator, _calculate(); a hash of both texts "
    "stands in for get_support()",
    "test_deepscholar_peer.py",
)
NAMES = ("DeepScholar.P", "DeepScholar.Claims")
MARKS = ["", " [1]", "[2][1]", " [3], [1]", "[1][1]", " [2, 3]", " [9]", " [0]", "[01]", " [12-3]",
         " [1] |", " [a]", " [ 2]", "[2] [4]", " [١]"]  # fmt: skip
Answers = list[tuple[str, str, list[tuple[str, str]]]]
"""Query, output, and title and text of each passage."""


def _report(rng: random.Random) -> str:
    """Sentences on both sides of fifty characters, with marks of every form."""
    sentences = []
    for _ in range(rng.randrange(1, 9)):
        words = " ".join(rng.choices(WORDS, k=rng.randint(4, 16)))
        middle = f" {words}{rng.choice(MARKS)}," if rng.random() < 0.3 else ""
        sentences.append(f"As Smith et al.{middle} {words}{rng.choice(MARKS)}.")
    return rng.choice([" ", "\n", "  "]).join(sentences)


def _plain(rows: list[tuple[str, str, tuple[Passage, ...]]]) -> Answers:
    return [(q, output, [(p.title, p.text) for p in shown]) for q, output, shown in rows]


def _stand_in(name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(members)
    return module


def run(checkout: Path, punkt: str, answers: Answers) -> list[list[float | None]]:
    """What both evaluators of theirs say of each answer; None for not a number."""

    class Evaluator:
        """In place of their base class, which aggregates."""

    with pytest.MonkeyPatch.context() as patch:
        install_punkt(Path(punkt), patch)
        functions = SimpleNamespace(CITE_P="", CLAIM_COVERAGE="")
        patch.setitem(sys.modules, "evaluator", _stand_in(
            "evaluator", Evaluator=Evaluator, EvaluationFunction=functions))  # fmt: skip
        patch.setitem(sys.modules, "parsers", _stand_in("parsers", Parser=object))
        patch.setitem(sys.modules, "prompts", _stand_in("prompts"))
        patch.setitem(sys.modules, "prompts.support", _stand_in(
            "prompts.support", get_support=lambda *pair: int(entails(*pair))))  # fmt: skip
        folder = checkout / "eval" / "evaluator"
        precise = load_module(folder / "cite_p.py", "cite_p").CitePEvaluator()
        covered = load_module(folder / "claim_coverage.py", "claim_coverage")
        values = []
        for query, output, passages in answers:
            parser = SimpleNamespace(
                clean_text=output, docs=passages, citations_for_cite_quality=passages,
                s_map_groundtruth={"title": "", "abstract": query},
            )  # fmt: skip
            both = (precise._calculate(parser),
                    covered.ClaimCoverageEvaluator()._calculate(parser, 1))  # fmt: skip
            values.append([None if math.isnan(v) else float(v) for v in both])
    return values


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("kind", [*KINDS, "reports"])
def test_every_answer(printed: FrozenNumbers, tmp_path: Path, kind: str) -> None:
    """Answers of each kind; where their mean is not a number, their table has 0, as ours."""
    rows = make_items("long" if kind == "reports" else kind, 30 if kind == "reports" else 6)
    if kind == "reports":
        rng = random.Random(5)
        rows = [(f"Title {i}. ", _report(rng), shown) for i, (_, _, shown) in enumerate(rows)]
    plain = _plain(rows)
    theirs = printed(VERIFIABILITY, kind, lambda at, given: run(at, str(tmp_path), given), plain)
    ours = our_values(make_inputs(rows), NAMES)
    for at, pair in enumerate(theirs):
        assert [ours[n][at] for n in NAMES] == pytest.approx([v or 0 for v in pair], abs=1e-9)
    if kind == "reports":
        assert len({tuple(pair) for pair in theirs}) > 15
