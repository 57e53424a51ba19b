"""Systems that only copy: HAGRID's own answers, and ALCE's shortcuts."""

from collections.abc import Iterator
from typing import Any

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.submissions.benchmark import Benchmark


def lines(
    name: str, benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a submission that copies gold answers or first passages."""
    for context in contexts:
        if name in ("gold", "all-gold"):
            yield from _copy_gold(benchmark, context, name == "all-gold")
        else:
            yield from _copy_first_passage(benchmark, context, 2 if "two" in name else None)


def _copy_gold(benchmark: Benchmark, context: str, all_answers: bool) -> Iterator[dict[str, Any]]:
    """Yield submission lines with each query's gold answer, or with all, one per run."""
    for query, rows in zip(benchmark.query_ids, benchmark.gold_rows, strict=True):
        answers = rows.answers if all_answers else [rows.single] if rows.single else []
        for run, answer in enumerate(answers):
            yield {"query_id": query, "output": answer.text or "", "context": context, "run": run}


def _copy_first_passage(
    benchmark: Benchmark, context: str, n_sentences: int | None
) -> Iterator[dict[str, Any]]:
    """Yield lines that copy and cite the best passage (ALCE, appendix D), which scores high."""
    segmenter = SentenceSegmenter()
    base = benchmark.manifest.grammar.base
    for item in benchmark.items(context):
        if not item.passages:
            continue
        text = item.passages[0].text
        sentences = [text[s:e] for s, e in segmenter.split(text)][:n_sentences]
        cited = " ".join(f"{s.rstrip('.')} [{base}]." for s in sentences)
        yield {"query_id": item.query_id, "output": cited, "context": context}
