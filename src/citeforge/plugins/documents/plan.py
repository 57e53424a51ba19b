"""``build documents --dry-run``: count the calls of writer, reader, judge and embedder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from citeforge.builders.build import open_build
from citeforge.engines.judge.llm import llm_judge_of
from citeforge.engines.judge.records import Pair
from citeforge.engines.ledger import open_ledger
from citeforge.engines.llm.budget import RunPlan, merge_plans, planned_total, total_plan
from citeforge.engines.llm.records import Llm, Request
from citeforge.engines.llm.writers import CHAT, OpenAiLlm
from citeforge.engines.models.embedder import Role
from citeforge.engines.running.names import llm_for_dry_run, make_llm
from citeforge.engines.running.setup import (
    build_judge,
    is_served,
    replay_path,
    replay_store,
    run_embedder,
)
from citeforge.engines.tables import iter_batches, rows_of
from citeforge.engines.textfiles import read_csv
from citeforge.plugins.documents.corpus import (
    SHORTEST,
    PassagePool,
    open_documents,
    read_documents,
)
from citeforge.plugins.documents.decisions import EDIT, read_key_file
from citeforge.plugins.documents.design import (
    ABSENT,
    LIST,
    PAIR,
    SINGLE,
    Design,
    built_in_forms,
)
from citeforge.plugins.documents.llm_requests import ANSWER, USUAL_CHARACTERS, PromptedLlm
from citeforge.plugins.documents.question_specs import (
    QuestionSpec,
    draw_passages,
    draw_specs,
    spread_specs,
)
from citeforge.plugins.documents.questions import Evidence, Question
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.seeds import make_prompted_llm, read_seeds
from citeforge.plugins.documents.topics import NAME_TRIES, SHOWN, read_topics
from citeforge.schemas.counts import count_line
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.text import premise_of

_USUAL_QUOTES = 2
"""Quotes of a pair or a list, for estimates."""
_SHARD = 8192
_REPLAYED = (
    "the store has the replies about the questions of the sheet's build: LLM and judge are asked "
    "about edited ones alone if models and options are the same; at most is without these replies"
)
_Parts = dict[str, RunPlan]
"""Plans of models, by role and name."""


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
    """Plan a build's model calls: as few as it takes without rejections, and at most.

    Rejected questions are replaced, until --tries times the wanted number were written.

    Raises:
        InputError: the documents are at fault.
        UsageError: no model is asked over a network.
    """
    recipe = recipe.with_design_inputs()
    if recipe.decided_questions is not None:
        read_key_file(recipe.decided_questions)
    named = [recipe.writer, *([] if recipe.checker is None else [recipe.checker])]
    path = replay_path(run, *named)
    llm = _open_llm(named[0], run, path, "--llm")
    reader = llm if recipe.checker is None else _open_llm(recipe.checker, run, path, "--checker")
    judge = llm_judge_of(build_judge(recipe.judging, run, replay_store(run, *named)))
    models = (*named, recipe.embedder_name)
    if judge is None and not any(map(is_served, models)):
        raise UsageError(
            f"--dry-run: {' and '.join(models)} cost nothing; the option is for openai: models",
            code="option-without-effect",
        )
    design = recipe.load_design()
    prompted_llm, tries = make_prompted_llm(recipe, llm), recipe.asking.tries
    with TemporaryDirectory(prefix="citeforge-") as scratch:
        planned = run.model_copy(update={"out": Path(scratch) / "plan"})
        with open_build(recipe, planned) as build:
            source = open_documents(recipe, build.workspace.stage("archives"))
            info, corpus, _ = read_documents(recipe, source, build.workspace)
            passages = PassagePool(corpus, recipe.seed)
            topics = read_topics(recipe, design.topics, passages)
            wanted = draw_specs(design, recipe.n_queries, recipe.seed, topics.shares)
            drawn = draw_passages(spread_specs(wanted), topics.split(passages.order))
            texts = passages.texts([name for _, name in drawn])
            edited = _read_edited_specs(recipe, design)
            seeds = [] if recipe.seeds is None else [s.question for s in read_seeds(recipe.seeds)]
            partners = [texts[name].text for spec, name in drawn if spec.form.base == PAIR]
            parts = _plan_embedding(recipe, run, corpus, partners, len(drawn), len(edited), seeds)
            build.workspace.package_folder.mkdir(exist_ok=True)
    n_near = max(0, min(recipe.asking.neighbours, len(passages.order) + passages.n_short - 1))
    asked = [
        _plan_question(
            prompted_llm,
            recipe,
            recipe.judging.judge is not None,
            n_near,
            number,
            spec,
            texts[name],
        )
        for number, (spec, name) in enumerate(drawn)
    ]
    known = [texts[name] for _, name in drawn]
    first_writes = [
        one.requests[0] for one, (spec, _) in zip(asked, drawn, strict=True)
        if spec.form.base != PAIR  # its other passage is not searched here
    ]  # fmt: skip
    if recipe.keep_seeds and known:
        asked += [
            _plan_seed(prompted_llm, recipe, n_near, number, known[number % len(known)])
            for number in range(len(seeds))
        ]
    edits: list[_PlannedCalls] = []
    if known:
        edits = [
            _plan_check(prompted_llm, recipe, n_near, len(drawn) + n, spec, known[n % len(known)])
            for n, spec in enumerate(edited)
        ]
    naming: list[Request] = []
    if design.found_topics is not None and known:
        groups = [known[:SHOWN]] * design.found_topics.number
        naming = [prompted_llm.to_name_topics(groups, n) for n in range(NAME_TRIES)]

    def plan_models(calls: Sequence[_PlannedCalls], naming_requests: Sequence[Request]) -> _Parts:
        """Plan the calls of writer, reader and judge, those to name topics included, by model."""
        requests, further, pairs = (
            [one for some in calls for one in getattr(some, name)]
            for name in ("requests", "further", "pairs")
        )
        requests = [*naming_requests[:1], *requests]
        parts: _Parts = {}
        if recipe.checker is None:
            if isinstance(llm, OpenAiLlm):
                parts[llm.bill_label(CHAT)] = llm.plan(
                    requests, [*naming_requests[1:], *further], tries
                )
        else:
            written = [request for request in requests if request.task != ANSWER]
            answered = [request for request in requests if request.task == ANSWER]
            if isinstance(llm, OpenAiLlm):
                parts[f"{llm.bill_label(CHAT)}, writer"] = llm.plan(
                    written, naming_requests[1:], tries
                )
            if isinstance(reader, OpenAiLlm):
                parts[f"{reader.bill_label(CHAT)}, reader"] = reader.plan(answered, further, tries)
        if judge is not None:
            parts[judge.llm.bill_label(CHAT)] = judge.plan_calls(pairs, max_rounds=tries)
        return parts

    parts = plan_models([*asked, *edits], naming) | parts
    notes: list[str] = []
    if (
        recipe.decided_questions is not None
        and isinstance(llm, OpenAiLlm)
        and first_writes
        and llm.plan(first_writes).about.calls == 0
    ):
        # The store is that of the build that the sheet is about.
        left = plan_models(edits, ())
        parts |= {who: replace(parts[who], about=part.about) for who, part in left.items()}
        notes.append(_REPLAYED)
    plan = total_plan(parts)
    notes += [count_line(key, number) for key, number in info.counts.items() if number]
    if len(drawn) < recipe.n_queries:
        notes.append(
            f"passages for {len(drawn):,} of {recipe.n_queries:,} questions: each is asked about "
            f"once, and {passages.n_short:,} of less than {SHORTEST} characters are not"
        )
    return replace(plan, notes=(*plan.notes, *notes))


def _open_llm(name: str, run: RunOptions, store: Path | None, option: str) -> Llm:
    """Make an LLM (named by ``option``) for planning; a served one finds its stored replies."""
    if is_served(name):
        return llm_for_dry_run(name, run, store, option=option)
    return make_llm(name, option=option, options=run)


def _read_edited_specs(recipe: DocumentsRecipe, design: Design) -> list[QuestionSpec]:
    """List a specification (question form only) per question that a decision sheet edits.

    Raises:
        InputError: the sheet cannot be read.
    """
    if recipe.decided_questions is None:
        return []
    forms = {form.name: form for form in design.forms}
    other = built_in_forms()[SINGLE]  # of seeds, or of a sheet without this column
    return [
        QuestionSpec(forms.get(row.get("form", ""), other))
        for _, row in read_csv(recipe.decided_questions, ("label",))
        if row["label"].strip().lower() == EDIT
    ]


def _plan_question(
    prompted_llm: PromptedLlm, recipe: DocumentsRecipe, has_judge: bool, n_nearest: int,
        question_number: int,
    spec: QuestionSpec, passage: Evidence,
) -> _PlannedCalls:  # fmt: skip
    """Plan the model calls to write one question and check it against its nearest passages.

    Args:
        n_nearest: number of nearest passages that are searched.
        question_number: number of the question, which makes its texts differ from those of others.
        spec: form of the question, and its user.
        passage: its evidence.

    Returns:
        Requests to the LLM, further ones that judge verdicts may cause, and pairs for the judge.
    """

    def stand_in(prefix: str) -> str:
        """Make up a text of usual length with a prefix, different for every question."""
        return f"{prefix} {question_number}".ljust(USUAL_CHARACTERS, "?")

    shown = min(recipe.asking.shown, n_nearest)
    question = Question(f"q{question_number + 1}", spec, (passage,), text=stand_in("question"))
    several = [[passage] * shown] if shown else []
    if question.base == ABSENT:
        answering = [prompted_llm.to_answer(question, p, n) for n in range(2) for p in several]
        denied = Pair(premise_of(passage.title, passage.text), stand_in("premise"))
        pairs = [denied] if spec.form.check == "premise" else []
        return _PlannedCalls([prompted_llm.to_write(question), *answering], [], pairs)
    # With a judge the reader reads the nearest passages, and further ones that are entailed.
    n_read = min(shown, n_nearest) if has_judge else n_nearest
    n_halves = 2 if question.base == PAIR else 0
    one = [prompted_llm.to_answer(question, [passage], n) for n in range(1 + n_halves + n_nearest)]
    requests = [
        prompted_llm.to_write(question),
        *one[: 1 + n_halves + n_read],
        *(prompted_llm.to_answer(question, (), n) for n in range(recipe.asking.closed_book)),
        *(prompted_llm.to_answer(question, p) for p in several),
    ]
    quotes = _USUAL_QUOTES if question.base in (PAIR, LIST) else 0
    premise = premise_of(passage.title, passage.text)
    evidence = "\n\n".join([premise] * len(question.evidence) * (2 if question.base == PAIR else 1))
    pairs = [Pair(evidence, stand_in("statement"))]
    pairs += [
        Pair(f"{premise} {n}", stand_in(f"statement {k}"))
        for n in range(n_nearest)
        for k in range(1 + quotes)
    ]
    return _PlannedCalls(requests, one[1 + n_halves + n_read :], pairs)


def _plan_seed(
    prompted_llm: PromptedLlm,
    recipe: DocumentsRecipe,
    n_nearest: int,
    seed_number: int,
    passage: Evidence,
) -> _PlannedCalls:
    """Plan the model calls about a user's seed question: find its evidence, then check it.

    Args:
        n_nearest: number of nearest passages that are searched.
        seed_number: number of the seed.
        passage: stands in for the nearest passages.
    """
    spec = QuestionSpec(built_in_forms()[SINGLE])
    checks = _plan_check(prompted_llm, recipe, n_nearest, -1 - seed_number, spec, passage)
    question = Question(
        f"seed{seed_number}", spec, (), text=f"seed {seed_number}".ljust(USUAL_CHARACTERS)
    )
    rows = [replace(passage, title=f"{passage.title} {n}") for n in range(recipe.asking.shown)]
    finding = [prompted_llm.to_find_evidence(question, row) for row in rows]
    return replace(checks, requests=[*finding, *checks.requests])


def _plan_check(
    prompted_llm: PromptedLlm, recipe: DocumentsRecipe, n_nearest: int, question_number: int,
    spec: QuestionSpec, passage: Evidence,
) -> _PlannedCalls:  # fmt: skip
    """Plan the model calls to check one question that the LLM does not write.

    Args:
        n_nearest: number of nearest passages that are searched.
        question_number: number of the question.
        spec: its form.
        passage: its evidence.
    """
    has_judge = recipe.judging.judge is not None
    planned = _plan_question(
        prompted_llm, recipe, has_judge, n_nearest, question_number, spec, passage
    )
    return replace(planned, requests=planned.requests[1:])


def _plan_embedding(
    recipe: DocumentsRecipe, run: RunOptions, corpus: Sequence[Path], pair_texts: Sequence[str],
    n_questions: int, n_edited: int, seeds: Sequence[str],
) -> dict[str, RunPlan]:  # fmt: skip
    """Plan a build's embedding calls, by model; empty if vectors are computed locally.

    Each round searches the other passages of its pairs, and those near its questions. A round may
    be of one question, so that each further try is a call of its own.

    Args:
        pair_texts: passages of pairs, for which another one is searched.
        n_questions: number of questions of the first round.
        n_edited: number of questions that a person edited.
        seeds: questions of users.

    Returns:
        Plan of the calls, by name of the model; empty if vectors are computed here.
    """
    if not is_served(recipe.embedder_name):
        return {}
    questions, edited = (
        [f"{start}{n}".ljust(USUAL_CHARACTERS, "?") for n in range(number)]
        for start, number in (("", n_questions), ("edited ", n_edited))
    )
    kept = list(seeds) if recipe.keep_seeds else []
    accepted = [*questions, *kept]
    batches = iter_batches(corpus, ["title", "text"], _SHARD)
    passages = ([premise_of(*row) for row in rows_of(batch)] for batch in batches)
    # Evidence of seeds is searched, then the passages near them; negatives are mined for all.
    encoded: list[Sequence[str]] = [pair_texts, questions, kept, kept, edited, accepted]
    # For cosines; a store has the replies already.
    encoded += [accepted] if run.store is None else []
    encoded += [seeds] if run.store is None or not kept else []
    plan = merge_plans([
        _rehearse_embedding(recipe, run, passages, "passage"),
        *(_rehearse_embedding(recipe, run, [texts], "query") for texts in encoded if texts),
    ])  # fmt: skip
    again = _rehearse_embedding(
        recipe, run, [[text] for text in (*pair_texts, *questions)], "query"
    )
    further = again.most.times(recipe.asking.tries - 1)
    return {f"embedding {recipe.embedder_name}": replace(plan, most=plan.most + further)}


def _rehearse_embedding(
    recipe: DocumentsRecipe, run: RunOptions, batches: Iterable[Sequence[str]], text_role: Role
) -> RunPlan:
    """Plan the calls to embed batches of queries or passages; equal texts cost once."""
    with open_ledger() as ledger:
        rehearsed = run.model_copy(update={"dry_run": True})
        embedder = run_embedder(recipe.embedder_name, rehearsed, recipe.embedder_revision)
        for texts in batches:
            embedder.encode(texts, text_role)
    return planned_total(ledger)
