"""ragas' quoted spans beside our ``reference``."""

import random
from pathlib import Path
from typing import Any

import pytest

from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program, load_module

EVALUATOR = Program(
    "ragas_quotes",
    "vibrantlabsai/ragas",
    "extract_quoted_spans() and count_matched_spans() of collections/quoted_spans/util.py with the "
    "rule of metric.py for no spans, and quoted_spans_alignment() of quoted_spans.py",
    "test_quotes_peer.py",
)
N_QUESTIONS = 20
MARKS = ('"{}"', "“{}”", "„{}“", "'{}'", "‘{}’", "`{}`", '"{}”', '"{}', "it's {} 'twas", "«{}»")


def run_evaluator(checkout: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Values of each answer, and of all together."""
    metrics = checkout / "src" / "ragas" / "metrics"
    util = load_module(metrics / "collections" / "quoted_spans" / "util.py", "ragas_util")
    older = load_module(metrics / "quoted_spans.py", "ragas_quoted_spans")
    values = []
    for row in rows:
        spans = util.extract_quoted_spans(row["answer"])
        matched, total = util.count_matched_spans(spans, row["sources"])
        values.append(matched / total if spans else 1.0)
    pooled = older.quoted_spans_alignment(
        [row["answer"] for row in rows], [row["sources"] for row in rows]
    )
    return {"values": values, "pooled": pooled}


def quoting(rng: random.Random, output: str, sources: list[str]) -> str:
    """An answer with quotations from its sources, some changed, in all kinds of marks."""
    words = output.split(" ")
    for _ in range(rng.randint(0, 3)):
        source = rng.choice(sources).split(" ")
        start = rng.randrange(len(source))
        span = source[start : start + rng.randint(1, 6)]
        if rng.random() < 0.3:
            span[rng.randrange(len(span))] = rng.choice(["quagga", "  ", "\n"])
        if rng.random() < 0.3:
            span = [word.upper() for word in span]
        words.insert(rng.randrange(len(words) + 1), rng.choice(MARKS).format(" ".join(span)))
    return " ".join(words)


@pytest.mark.parametrize("kind", hard.KINDS)
def test_hard_answers(printed: FrozenNumbers, kind: str) -> None:
    rows = []
    for i, (question, output, shown) in enumerate(hard.make_items(kind, N_QUESTIONS, seed=9)):
        rng = random.Random(f"{kind} {i}")
        rows.append((question, quoting(rng, output, [p.text for p in shown]), shown))
    drawn = [{"answer": text, "sources": [p.text for p in shown]} for _, text, shown in rows]
    theirs = printed(EVALUATOR, kind, run_evaluator, drawn)
    inputs = hard.make_inputs(rows)
    ours = hard.per_query(inputs, ["Quotes", "Quotes.Shown"])
    assert ours["Quotes"] == ours["Quotes.Shown"] == pytest.approx(theirs["values"], abs=1e-9)
    pooled = theirs["pooled"]
    expected = pooled["citation_alignment_quoted_spans"] if pooled["total"] else float("nan")
    total = hard.totals(inputs, ["Quotes@all"])["Quotes@all"]
    assert total == pytest.approx(expected, abs=1e-9, nan_ok=True)
