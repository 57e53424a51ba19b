"""Systems that only copy: HAGRID's own answers, and ALCE's shortcuts."""

from collections.abc import Iterator
from typing import Any

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.submissions.benchmark import Benchmark


def lines(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Lines of a submission; copying has one run."""
    for context in contexts:
        if name in ("gold", "all-gold"):
            yield from _gold(benchmark, context, name == "all-gold")
        else:
            yield from _first_passage(benchmark, context, 2 if "two" in name else None)


def _gold(benchmark: Benchmark, context: str, everything: bool) -> Iterator[dict[str, Any]]:
    for query, rows in zip(benchmark.query_ids, benchmark.gold_rows, strict=True):
        answers = rows.answers if everything else [rows.single] if rows.single else []
        for run, answer in enumerate(answers):
            yield {"query_id": query, "output": answer.text or "", "context": context, "run": run}


def _first_passage(
    benchmark: Benchmark, context: str, n_sentences: int | None
) -> Iterator[dict[str, Any]]:
    """ALCE, appendix D: copying the best passage already scores high on citation measures."""
    segmenter = SentenceSegmenter()
    base = benchmark.manifest.grammar.base
    for item in benchmark.items(context):
        if not item.passages:
            continue
        text = item.passages[0].text
        sentences = [text[s:e] for s, e in segmenter.split(text)][:n_sentences]
        cited = " ".join(f"{s.rstrip('.')} [{base}]." for s in sentences)
        yield {"query_id": item.query_id, "output": cited, "context": context}
