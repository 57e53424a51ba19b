"""rage_toolkit's evaluator and our ``reference`` protocol on the same answers."""

import importlib
import json
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from citeforge.evaluator.measures.rage.citations import reference_scorer
from citeforge.schemas.citations.grammar import Grammar

N_QUERIES = 400
SHOWN = 9

SHORT = [
    None, "[]", '["Schindler’s List"]', '["1939–1945", "six years"]', '["Ada", "Lovelace"]',
    '[""]', '["10°C"]', '["ada"]',
]  # fmt: skip


@pytest.fixture(scope="module")
def toolkit(peer: Callable[[str], Path]) -> ModuleType:
    sys.path.insert(0, str(peer("rage_toolkit")))
    try:
        return importlib.import_module("rage_toolkit.cite_evaluation_utils")
    finally:
        sys.path.pop(0)


def _answer(rng: random.Random, word: str) -> str:
    """One answer of one of fourteen kinds."""

    def n() -> int:
        return rng.randrange(1, SHOWN + 1)

    kinds: list[Callable[[], str]] = [
        lambda: "",
        lambda: f"It is {word}, and nobody is cited.",
        lambda: f"It is {word} [{n()}].",
        lambda: f"One [{n()}][{n()}] and  {word}   [{n()}].",
        lambda: f"The same [{(k := n())}] again [{k}][{k}] {word}.",
        lambda: f"Beyond [{SHOWN + 1}], [0], [{rng.randrange(11, 999)}] and [{n()}] {word}.",
        lambda: f"[{n()}] {word} stands behind. [{n()}]",
        lambda: f"Lists [{n()}, {n()}] and ranges [1-{n()}] and {word}; [{n()}]",
        lambda: f"[[{n()}]] [ {n()} ] [{n()} {word} ] ][{n()}][ (3) {{{n()}}}",
        lambda: f"Line [{n()}]\n\n{word}\r\n- [{n()}]\u2028[{n()}]\t[{n()}]",
        lambda: f"“{word}” — ‘[{n()}]’ … [２] [٣] [0{n()}]",
        lambda: f"In [2019] {word} was [NA]; see [{n()}](http://a.b/c) and `[{n()}]`.",
        lambda: f"[-1] [+2] [1.0] [{n()}. ] {word.upper()} [Document {n()}]",
        lambda: f"[{'9' * 300}] {word}\u00a0[{n()}] {'It goes on. ' * 40}",
    ]
    return rng.choice(kinds)()


def test_every_figure_of_every_answer(toolkit: ModuleType, capsys: pytest.CaptureFixture) -> None:  # type: ignore[type-arg]
    import pandas as pd

    rng = random.Random(5)
    score = reference_scorer(Grammar(1))
    seen = {"em": 0, "em undefined": 0, "out of range": 0}
    sums = dict.fromkeys(("cite_precision", "cite_recall"), 0.0)
    for q in range(N_QUERIES):
        ids = [f"d{i}" for i in range(SHOWN)]
        rng.shuffle(ids)
        relevant = rng.sample(ids, rng.randrange(1, 5))
        table = pd.DataFrame(
            {
                "query-id": [f"q{q}"] * len(relevant),
                "corpus-id": relevant,
                "short_answers": [rng.choice(SHORT) for _ in relevant],
            }
        )
        known = {
            ids.index(passage): json.loads(answers)
            for passage, answers in zip(relevant, table["short_answers"], strict=True)
            if isinstance(answers, str)
        }
        words = [w for group in known.values() for w in group] or ["nothing"]
        output = _answer(rng, rng.choice([*words, "Ada", "nothing of it"]))
        info = {
            "query_id": f"q{q}", "answer": output, "doc_ids": ids,
            "rel_doc_ids_for_query": relevant,
            "answer_citations": toolkit.parse_citations(output),
        }  # fmt: skip
        theirs = toolkit.calculate_evaluation_result_for_query(info, table)
        ours = score(output, SHOWN, frozenset(ids.index(r) for r in relevant), known)
        assert ours.precision == pytest.approx(theirs["cite_precision"], abs=1e-9), output
        assert ours.recall == pytest.approx(theirs["cite_recall"], abs=1e-9), output
        assert ours.distinct == theirs["num_cited_distinct"], output
        assert ours.length == theirs["answer_length"], output
        em = theirs["short-answer-exact-match"]
        assert math.isnan(ours.short_em) if em is None else ours.short_em == em, output
        seen["em"] += em == 1
        seen["em undefined"] += em is None
        seen["out of range"] += ours.n_out_of_range > 0
        for key in sums:
            sums[key] += theirs[key]
    capsys.readouterr()  # they print every comparison
    assert all(n >= 30 for n in seen.values()), seen
    assert all(0.1 < total / N_QUERIES < 0.9 for total in sums.values())
