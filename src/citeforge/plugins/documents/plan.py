"""``build documents --dry-run``: count the calls of writer, reader, judge and embedder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from citeforge.builders.build import open_build
from citeforge.engines.judge.llm import llm_judge_of
from citeforge.engines.judge.records import Pair
from citeforge.engines.ledger import open_ledger
from citeforge.engines.llm.budget import RunPlan, planned_total, total_plan
from citeforge.engines.llm.records import Request
from citeforge.engines.llm.writers import CHAT
from citeforge.engines.running.names import llm_for_dry_run
from citeforge.engines.running.setup import (
    build_judge,
    is_served,
    replay_path,
    replay_store,
    run_embedder,
)
from citeforge.engines.tables import iter_batches, rows_of
from citeforge.plugins.documents.cells import Cell, draw_cells, spread_cells
from citeforge.plugins.documents.corpus import PassagePool, open_documents, read_documents
from citeforge.plugins.documents.design import ABSENT, LIST, PAIR, SINGLE, built_in_forms
from citeforge.plugins.documents.llm_requests import ANSWER, USUAL_CHARACTERS, PromptedLlm
from citeforge.plugins.documents.questions import Evidence, Question
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.seeds import make_asker, read_seeds
from citeforge.schemas.counts import describe_count
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.text import premise_of

_USUAL_QUOTES = 2
"""Quotes of a pair or a list, for estimates."""
_SHARD = 8192


@dataclass(frozen=True)
class _PlannedCalls:
    """Calls about one question.

    Attributes:
        requests: to the LLM, if every check passes.
        further: those to the LLM that verdicts may add.
        pairs: for the judge.
    """

    requests: list[Request]
    further: list[Request]
    pairs: list[Pair]


def plan_documents(recipe: DocumentsRecipe, run: RunOptions) -> RunPlan:
    """Plan a build's calls to all models: if each first question is accepted, and at most.

    Rejected questions are replaced, until --tries times the wanted number were written.

    Raises:
        InputError: the documents are at fault.
        UsageError: the LLM is not asked over a network.
    """
    named = [name for name in (recipe.llm, recipe.checker) if name is not None]
    path = replay_path(run, *named)
    llm, reader = (llm_for_dry_run(name, run, path) for name in (named[0], named[-1]))
    judge = llm_judge_of(build_judge(recipe.judging, run, replay_store(run, *named)))
    design = recipe.load_design()
    asker, tries = make_asker(recipe, llm), recipe.asking.tries
    with TemporaryDirectory(prefix="citeforge-") as scratch:
        planned = run.model_copy(update={"out": Path(scratch) / "plan"})
        with open_build(recipe, planned) as build:
            source = open_documents(recipe, build.workspace.stage("archives"))
            info, corpus, _ = read_documents(recipe, source, build.workspace)
            passages = PassagePool(corpus, recipe.seed)
            names = iter(passages.order)
            wanted = draw_cells(design, recipe.n_queries, recipe.seed)
            drawn = list(zip(spread_cells(wanted), names, strict=False))
            texts = passages.texts([name for _, name in drawn])
            parts = _plan_embedding(recipe, run, corpus, len(drawn))
            build.workspace.package_folder.mkdir(exist_ok=True)
    n_near = max(0, min(recipe.asking.neighbours, len(passages.order) + passages.n_short - 1))
    asked = [
        _plan_question(
            asker, recipe, recipe.judging.judge is not None, n_near, number, cell, texts[name]
        )
        for number, (cell, name) in enumerate(drawn)
    ]
    if recipe.keep_seeds and recipe.seeds is not None and drawn:
        asked += [
            _plan_seed(asker, recipe, n_near, number, texts[drawn[number % len(drawn)][1]])
            for number in range(len(read_seeds(recipe.seeds)))
        ]
    requests, further, pairs = (
        [one for some in asked for one in getattr(some, name)]
        for name in ("requests", "further", "pairs")
    )
    if recipe.checker is None:
        parts = {llm.who(CHAT): llm.plan(requests, further, tries), **parts}
    else:
        written = [request for request in requests if request.task != ANSWER]
        answered = [request for request in requests if request.task == ANSWER]
        parts |= {
            f"{llm.who(CHAT)}, writer": llm.plan(written, (), tries),
            f"{reader.who(CHAT)}, reader": reader.plan(answered, further, tries),
        }
    if judge is not None:
        parts[judge.llm.who(CHAT)] = judge.bill(pairs, times=tries)
    plan = total_plan(parts)
    files = [f"{number:,} {describe_count(key)}" for key, number in info.counts.items() if number]
    return replace(plan, notes=(*plan.notes, *files))


def _plan_question(
    asker: PromptedLlm, recipe: DocumentsRecipe, has_judge: bool, n_near: int, number: int,
    cell: Cell, passage: Evidence,
) -> _PlannedCalls:  # fmt: skip
    """Plan the calls about one question; texts not yet written are made up in their usual length.

    Args:
        n_near: number of nearest passages that are searched.
        number: number of the question, which makes its texts differ from those of others.
        cell: form of the question, and its user.
        passage: its evidence.

    Returns:
        Requests to the LLM, further ones that judge verdicts may cause, and pairs for the judge.
    """

    def stand_in(start: str) -> str:
        """Make a text of usual length that differs from those of other questions."""
        return f"{start} {number}".ljust(USUAL_CHARACTERS, "?")

    shown = min(recipe.asking.shown, n_near)
    question = Question(f"q{number}", cell, (passage,), text=stand_in("question"))
    several = [[passage] * shown] if shown else []
    if question.base == ABSENT:
        return _PlannedCalls(
            [asker.to_write(question), *(asker.to_answer(question, p, n) for n in range(2)
                                         for p in several)],
            [], [Pair(premise_of(passage.title, passage.text), stand_in("premise"))]
            if cell.form.check == "premise" else [],
        )  # fmt: skip
    # With a judge the reader reads the nearest passages, and further ones that are entailed.
    n_read = min(shown, n_near) if has_judge else n_near
    n_halves = 2 if question.base == PAIR else 0
    one = [asker.to_answer(question, [passage], n) for n in range(1 + n_halves + n_near)]
    requests = [
        asker.to_write(question),
        *one[: 1 + n_halves + n_read],
        *(asker.to_answer(question, (), n) for n in range(recipe.asking.closed_book)),
        *(asker.to_answer(question, p) for p in several),
    ]
    quotes = _USUAL_QUOTES if question.base in (PAIR, LIST) else 0
    premise = premise_of(passage.title, passage.text)
    evidence = "\n\n".join([premise] * len(question.evidence) * (2 if question.base == PAIR else 1))
    pairs = [Pair(evidence, stand_in("statement"))]
    pairs += [
        Pair(f"{premise} {n}", stand_in(f"statement {k}"))
        for n in range(n_near)
        for k in range(1 + quotes)
    ]
    return _PlannedCalls(requests, one[1 + n_halves + n_read :], pairs)


def _plan_seed(
    asker: PromptedLlm, recipe: DocumentsRecipe, n_near: int, number: int, passage: Evidence
) -> _PlannedCalls:
    """Plan the calls about one seed question: to find its evidence, then those of all checks.

    Args:
        n_near: number of nearest passages that are searched.
        number: number of the seed.
        passage: stands in for the nearest passages.
    """
    has_judge, cell = recipe.judging.judge is not None, Cell(built_in_forms()[SINGLE])
    checks = _plan_question(asker, recipe, has_judge, n_near, -1 - number, cell, passage)
    question = Question(f"seed{number}", cell, (), text=f"seed {number}".ljust(USUAL_CHARACTERS))
    rows = [replace(passage, title=f"{passage.title} {n}") for n in range(recipe.asking.shown)]
    finding = [asker.to_find(question, row) for row in rows]
    _, *others = checks.requests  # a seed is not written
    return replace(checks, requests=[*finding, *others])


def _plan_embedding(
    recipe: DocumentsRecipe, run: RunOptions, corpus: Sequence[Path], n_questions: int
) -> dict[str, RunPlan]:
    """Plan the calls that embed passages and questions; empty if that happens in this process.

    Returns:
        Plan of the calls, by name of the model; empty if vectors are computed here.
    """
    if not is_served(recipe.embedder):
        return {}
    with open_ledger() as ledger:
        rehearsed = run.model_copy(update={"dry_run": True})
        embedder = run_embedder(recipe.embedder, rehearsed, recipe.embedder_revision)
        for batch in iter_batches(corpus, ["title", "text"], _SHARD):
            embedder.encode([premise_of(*row) for row in rows_of(batch)], "passage")
        questions = [f"{n}".ljust(USUAL_CHARACTERS, "?") for n in range(n_questions)]
        embedder.encode(questions, "query")
        embedder.encode(questions[::-1], "query")  # all accepted ones together, for their cosines
    who = f"embedding {recipe.embedder}"
    return {who: planned_total(ledger)}
