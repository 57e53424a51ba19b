"""Edit finished answers (ALCE, section 3.2): keep the best of several, and cite afterwards."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.judging import CitationJudging
from citeforge.evaluator.statements.split import Statement, split_statements
from citeforge.evaluator.statements.strict import read_strict
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.inputs import AnswerItem as Answered
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.package.items import Passage
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import UsageError
from citeforge.schemas.text import splice
from citeforge.systems.system import Reply, Task
from citeforge.systems.system_options import EditedOptions

_STOPS = ".!?。！？…"
Replies = Sequence[Reply | Failure]


def require_editing(options: EditedOptions, judge: JudgeSession | None) -> None:
    """Raise an error if ``--rerank`` has no judge, or temperature 0 makes answers equal.

    Raises:
        UsageError: there is no judge, or all answers would be the same.
    """
    if options.rerank is None:
        return
    if judge is None:
        raise UsageError(
            "--rerank chooses by citation recall; give --judge, e.g. hf:MODEL", code="missing-judge"
        )
    if options.temperature == 0:
        raise UsageError(
            f"--rerank {options.rerank}: at --temperature 0 all answers are the same; the paper "
            "draws at 0.5",
            code="conflicting-options",
        )


def keep_best(
    n: int, tasks: Sequence[Task], replies: Replies, benchmark: Benchmark, judge: JudgeSession
) -> tuple[list[Task], list[Reply | Failure]]:
    """Keep the best of every n answers by citation recall; the first on a tie.

    Args:
        n: answers per query and run, one after the other.
        tasks: what was asked.
        replies: the reply to each task.
        benchmark: benchmark that they answer.
        judge: decides whether passages support a statement.

    Returns:
        The tasks and replies that are kept; a failure if all n failed.
    """
    recalls = _citation_recalls(tasks, replies, benchmark, judge)
    best = [
        max(range(start, start + n), key=lambda i: (recalls[i], -i))
        for start in range(0, len(tasks), n)
    ]
    return [tasks[i] for i in best], [replies[i] for i in best]


def _citation_recalls(
    tasks: Sequence[Task], replies: Replies, benchmark: Benchmark, judge: JudgeSession
) -> list[float]:
    """Compute the citation recall (ALCE) of each answer, in [0, 1]; -inf for a failure."""
    tools = ScoringTools(judge, SentenceSegmenter())
    inputs = Inputs(benchmark, [], benchmark.grammar, benchmark.data_set, tools)
    recalls = [-math.inf] * len(tasks)
    indexes, answers = [], []
    for index, (task, reply) in enumerate(zip(tasks, replies, strict=True)):
        if isinstance(reply, Reply):
            row = benchmark.row_of[task.item.query_id]
            answered = Answered(row, task.item.query, reply.text, counted_passages(task, reply))
            indexes.append(index)
            answers.append((answered, read_strict(answered, inputs)))
    judge.begin()
    for index, scores in zip(indexes, CitationJudging(judge, True).score(answers), strict=True):
        recalls[index] = 0.0 if scores.recall is None else scores.recall.low
    return recalls


def counted_passages(task: Task, reply: Reply) -> tuple[Passage, ...]:
    """List the passages that an answer's citation numbers refer to, in order."""
    return task.item.passages if reply.passages is None else reply.passages


def cites_candidates(options: EditedOptions, benchmark: Benchmark) -> bool:
    """Whether ``--post-cite`` chooses among all candidates retrieved for a query."""
    applies = options.post_cite and options.post_cite_over == "candidates"
    return applies and "candidates" in benchmark.splits


def _add_candidates(
    tasks: Sequence[Task], replies: Replies, benchmark: Benchmark
) -> tuple[list[Reply | Failure], dict[int, Sequence[Passage]]]:
    """Let answers cite retrieved candidates, too: (replies, reply's index to citable passages).

    Passages that were shown keep their numbers. Citation numbers without a passage are raised, so
    that no candidate gets one of them.

    Args:
        tasks: what was asked.
        replies: the reply to each task; failures stay.
        benchmark: benchmark that they answer, with candidates.

    Returns:
        The replies, and index of each to the passages that it may cite.
    """
    queries = {task.item.query_id for task in tasks}
    ranked = {query: row for query, row in benchmark.candidates().items() if query in queries}
    texts = benchmark.texts({r.docid for row in ranked.values() for r in row})
    results = list(replies)
    pools: dict[int, Sequence[Passage]] = {}
    for index, (task, reply) in enumerate(zip(tasks, replies, strict=True)):
        if isinstance(reply, Reply):
            passages = counted_passages(task, reply)
            names = {p.id for p in passages}
            others = (r.docid for r in ranked[task.item.query_id] if r.docid not in names)
            pools[index] = [*passages, *(Passage(i, *texts[i]) for i in others)]
            text = _raise_numbers(reply.text, benchmark.grammar, len(passages), len(pools[index]))
            results[index] = replace(reply, text=text, passages=passages)
    return results, pools


def _raise_numbers(text: str, grammar: Grammar, n_shown: int, offset: int) -> str:
    """Add an offset to the citation numbers in a text that exceed the passages shown."""
    first = grammar.base + n_shown
    for mark in reversed(grammar.parse(text, n_shown).markers):
        if any(n >= first for n in mark.numbers):
            numbers = (n + offset if n >= first else n for n in mark.numbers)
            marks = "".join(f"[{n}]" for n in numbers)
            text = text[: mark.start] + marks + text[mark.end :]
    return text


def post_cite(
    tasks: Sequence[Task], replies: Replies, benchmark: Benchmark, embedder: Embedder,
    only_shown: bool,
) -> tuple[list[Reply | Failure], int]:  # fmt: skip
    """Cite the nearest passage in each statement without citation: (replies, number added).

    Args:
        tasks: what was asked.
        replies: the reply to each task; failures stay.
        benchmark: benchmark that they answer.
        embedder: compares statements, as queries, with passages (title and text).
        only_shown: choose among the passages shown, not among the candidates of the question.

    Returns:
        The replies, and the number of statements that were given a citation.
    """
    edited = list(replies)
    pools: dict[int, Sequence[Passage]] = {
        index: counted_passages(task, reply)
        for index, (task, reply) in enumerate(zip(tasks, replies, strict=True))
        if isinstance(reply, Reply)
    }
    if not only_shown:
        edited, pools = _add_candidates(tasks, replies, benchmark)
    segmenter, grammar = SentenceSegmenter(), benchmark.grammar
    uncited: list[tuple[int, Statement]] = []
    for index, reply in enumerate(edited):
        if isinstance(reply, Reply) and (pool := pools[index]):
            reading = split_statements(reply.text, grammar, segmenter, len(pool))
            uncited += [(index, s) for s in reading.statements if not s.numbers]
    nearest = _nearest_passages(uncited, pools, embedder)
    for index, pairs in groupby(zip(uncited, nearest, strict=True), key=lambda pair: pair[0][0]):
        reply = edited[index]
        assert isinstance(reply, Reply)
        counted = list(counted_passages(tasks[index], reply))
        marks = []
        for (_, statement), passage in pairs:
            if passage not in counted:
                counted.append(passage)
            number = counted.index(passage) + grammar.base
            marks.append((*_span_before_stop(reply.text, statement), f" [{number}]"))
        passages = reply.passages if only_shown else tuple(counted)
        text = splice(reply.text, marks)
        edited[index] = replace(reply, text=text, passages=passages, logprobs=None)
    return edited, len(uncited)


def _nearest_passages(
    uncited: Sequence[tuple[int, Statement]],
    passages_by_answer: Mapping[int, Sequence[Passage]],
    embedder: Embedder,
) -> list[Passage]:
    """Find the passage of highest cosine per (answer index, uncited statement); first on a tie.

    Args:
        uncited: statements, each with the index of its answer.
        passages_by_answer: index of an answer to the passages that it may cite.
        embedder: compares statements, as queries, with passages.
    """
    if not uncited:
        return []
    words = {
        p: f"{p.title} {p.text}".strip() for index, _ in uncited for p in passages_by_answer[index]
    }
    row = {text: i for i, text in enumerate(sorted(set(words.values())))}
    passages = embedder.encode(list(row), "passage")
    statements = embedder.encode([s.text for _, s in uncited], "query")
    nearest = []
    for (index, _), vector in zip(uncited, statements, strict=True):
        rows = [row[words[p]] for p in passages_by_answer[index]]
        cosines = passages[rows].astype("float64") @ vector
        nearest.append(passages_by_answer[index][int(cosines.round(6).argmax())])
    return nearest


def _span_before_stop(text: str, statement: Statement) -> tuple[int, int]:
    """Find where a citation goes in a text: the span before a statement's final punctuation."""
    end = len(text[: statement.spans[-1][1]].rstrip(_STOPS))
    return len(text[:end].rstrip()), end
