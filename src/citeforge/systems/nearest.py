"""Copies of the sources that share most words with the question: the line for systems to beat.

A system that knows nothing can cite what resembles the question, and each copied sentence entails
itself.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.items import Item
from citeforge.schemas.citations.triples import render
from citeforge.schemas.matching.tokens import separate_signs
from citeforge.schemas.text import match_form

Shown = Sequence[tuple[str, str]]
"""(text, citation mark) of each passage or triple that a system is shown; triples as sentences."""


def list_shown(item: Item, first_number: int) -> Shown:
    """List (text, citation mark) of each passage or triple that is shown for a query."""
    shown = [(p.text, f"[{first_number + n}]") for n, p in enumerate(item.passages)]
    for t in (t for graph in item.graphs for t in graph.triples):
        mark = render(t.qid, [(t.relation, t.value)])
        shown.append((f"The {t.relation} of {t.name} is {t.value}.", mark))
    return shown


def copy_nearest(
    benchmark: Benchmark, contexts: list[str], runs: int, seed: int, *, n_sources: int
) -> Iterator[dict[str, Any]]:
    """Yield submission lines: the first sentence of each nearest source, cited, in shown order.

    Args:
        benchmark: benchmark to answer.
        contexts: context sets to answer.
        runs: ignored: there is one run.
        seed: ignored: nothing is drawn.
        n_sources: sources to copy from.
    """
    base = benchmark.manifest.grammar.base
    for item in chain.from_iterable(map(benchmark.items, contexts)):
        output = answer_by_nearest(item.query, list_shown(item, base), n_sources)
        yield {"query_id": item.query_id, "output": output, "context": item.context}


def answer_by_nearest(question: str, shown: Shown, n_sources: int) -> str:
    """Write an answer of first sentences from the sources that share most words with a question.

    Of equally near sources the first ones are taken.

    Args:
        question: the question.
        shown: (text, citation mark) of each source.
        n_sources: number of sources to copy from.
    """
    asked = _words(question)
    nearness = [len(asked & _words(text)) for text, _ in shown]
    indexes = sorted(range(len(shown)), key=lambda index: (-nearness[index], index))[:n_sources]
    segmenter = SentenceSegmenter()
    sentences = []
    for text, mark in (shown[index] for index in sorted(indexes)):
        start, end = next(iter(segmenter.split(text)), (0, len(text)))
        sentences.append(cite_sentence(text[start:end], mark))
    return " ".join(sentences)


def cite_sentence(sentence: str, mark: str) -> str:
    """Put a citation mark before the full stop of a sentence."""
    return f"{sentence.rstrip('. ')} {mark}."


def _words(text: str) -> frozenset[str]:
    """Get the distinct words of a text; in scripts without spaces, each character is one."""
    return frozenset(match_form(separate_signs(text)).split())
