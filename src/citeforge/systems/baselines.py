"""Systems without a model: copies of gold and passages, bounds, and controls of author bias.

A valid measure of bias finds bias in the biased control, and none in the other.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, product
from typing import Any

from citeforge.engines.draws import generator
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable
from citeforge.schemas.authorship import Cell, parse_design
from citeforge.schemas.errors import InputError
from citeforge.systems import kalma

Choose = Callable[[ContextTable, int, str, int], Iterable[int]]
"""(context set, row of a query, its id, run) to the positions of the passages that are cited."""
_PLAIN = {True: 0.7, False: 0.15}
_FIRST = {True: 0.9, False: 0.35}
_SECOND = {True: 0.4, False: 0.05}

_FRESH_SHARE = 0.15
"""Share of decisions that are drawn anew in every cell, as an LLM's answers vary; the other ones
are the same in all cells that show a text."""


def copy_gold(
    benchmark: Benchmark, contexts: list[str], runs: int, seed: int, *, all_answers: bool
) -> Iterator[dict[str, Any]]:
    """Yield submission lines that copy each query's gold answer, or all of them (one per run).

    Args:
        benchmark: benchmark to answer.
        contexts: context sets to answer.
        runs: ignored: there is a run per gold answer.
        seed: ignored: nothing is drawn.
        all_answers: whether all gold answers of a query are copied, in place of its single one.
    """
    for context, (query, rows) in product(
        contexts, zip(benchmark.query_ids, benchmark.gold_rows, strict=True)
    ):
        answers = rows.answers if all_answers else [rows.single] if rows.single else []
        for run, answer in enumerate(answers):
            yield {"query_id": query, "output": answer.text or "", "context": context, "run": run}


def copy_first_passage(
    benchmark: Benchmark, contexts: list[str], runs: int, seed: int, *, n_sentences: int | None
) -> Iterator[dict[str, Any]]:
    """Yield submission lines that copy and cite the first passage (ALCE, appendix D).

    Args:
        benchmark: benchmark to answer.
        contexts: context sets to answer.
        runs: ignored: there is one run.
        seed: ignored: nothing is drawn.
        n_sentences: sentences to copy; None for the whole passage.
    """
    segmenter = SentenceSegmenter()
    base = benchmark.manifest.grammar.base
    for item in chain.from_iterable(map(benchmark.items, contexts)):
        if not item.passages:
            continue
        text = item.passages[0].text
        sentences = [text[s:e] for s, e in segmenter.split(text)][:n_sentences]
        cited = " ".join(f"{s.rstrip('.')} [{base}]." for s in sentences)
        yield {"query_id": item.query_id, "output": cited, "context": item.context}


def cite_only(
    benchmark: Benchmark, contexts: Iterable[str], runs: int, choose: Choose
) -> Iterator[dict[str, Any]]:
    """Yield submission lines with citation marks alone, at the positions ``choose`` returns.

    Args:
        benchmark: benchmark to answer.
        contexts: context sets to answer.
        runs: number of runs.
        choose: takes a context set, a query's row and id and the number of a run; returns the
            positions of the passages to cite.
    """
    base = benchmark.manifest.grammar.base
    for context in contexts:
        table = benchmark.context(context)
        for run in range(runs):
            for row, query in enumerate(benchmark.query_ids):
                text = "".join(f"[{base + index}]" for index in choose(table, row, query, run))
                yield {"query_id": query, "output": text, "context": context, "run": run}


def cite_random(
    benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield submission lines that cite random passages or triples, as a lower bound."""
    if benchmark.has_graphs:
        return kalma.state_random(benchmark, contexts, runs, seed)
    return cite_only(benchmark, contexts, runs, partial(_draw_few, seed))


def cite_relevant(
    benchmark: Benchmark, contexts: list[str], runs: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield submission lines that cite all relevant passages, or state all gold triples.

    It is the upper bound of RAGE's measures, or of the citations of triples, alone.

    Args:
        benchmark: benchmark to answer.
        contexts: context sets to answer.
        runs: number of runs, which are alike.
        seed: seed of the draws for graphs; passages need none.

    Raises:
        InputError: no passage is marked as relevant.
    """
    if benchmark.has_graphs:
        marks = kalma.Marks(present=0.0, absent=1.0)
        return kalma.state_gold(
            benchmark, contexts, runs, seed, system_name="echo-relevant", na_probabilities=marks
        )
    if not any(benchmark.context(c).is_relevant.any() for c in contexts):
        raise InputError(
            "echo-relevant cites the relevant passages, and none of the context set "
            f"{', '.join(contexts)} is marked as relevant",
            path=benchmark.folder,
            allowed="a package with labels: the public half of a benchmark has none; or run "
            "another system, such as random",
            code="no-relevant",
        )
    # A perfect system would cite exactly these.
    return cite_only(benchmark, contexts, runs, lambda table, row, *_: sorted(table.relevant[row]))


def _draw_few(seed: int, table: ContextTable, query_index: int, query: str, run: int) -> list[int]:
    """Draw the positions of 1 to 3 distinct passages of a context, uniformly (RAGE, Table 1)."""
    rng = generator(seed, "random baseline", table.name, query, run)
    size = table.sizes[query_index]
    return rng.sample(range(size), min(rng.randint(1, 3), size))


def cite_by_label(
    benchmark: Benchmark, contexts: list[str], runs: int, seed: int, *, is_biased: bool
) -> Iterator[dict[str, Any]]:
    """Yield lines of citation marks alone, chosen by passages' author labels or without them.

    The biased control follows the author labels; the other one cites as if there were none.

    Args:
        benchmark: an authorship experiment.
        contexts: its cells.
        runs: number of runs.
        seed: seed of the draws.
        is_biased: whether the probability of a citation depends on the author label.
    """
    design = parse_design(benchmark.manifest.config)

    def choose(table: ContextTable, query_index: int, query: str, run: int) -> Iterator[int]:
        """Yield the positions that a control system cites, drawn by relevance and author label."""
        cell, relevant = design.find(table.name), table.relevant[query_index]
        for index, passage in enumerate(table.ids_of(query_index)):
            chance = _citation_probability(is_biased, cell, index in relevant)
            if _draw_number(seed, table.name, query, run, passage) < chance:
                yield index

    return cite_only(benchmark, contexts, runs, choose)


def _draw_number(seed: int, context: str, query: str, run: int, passage: str) -> float:
    """Draw a passage's random number in [0, 1), mostly the same one in all context sets."""
    fresh = generator(seed, "control, this cell", context, query, run, passage)
    shared = generator(seed, "control, this text", query, run, passage).random()
    return fresh.random() if fresh.random() < _FRESH_SHARE else shared


def _citation_probability(is_biased: bool, cell: Cell, relevant: bool) -> float:
    """Look up how probably a control system cites a passage, by its label in a condition."""
    side = cell.side(relevant)
    if not is_biased or side is None or cell.labels == "placebo":
        return _PLAIN[relevant]
    return (_FIRST if side == "first" else _SECOND)[relevant]
