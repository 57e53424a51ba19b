"""``build documents``: write questions about documents, check them, package those that pass."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from citeforge.builders.build import Build, open_build
from citeforge.builders.changes import open_earlier
from citeforge.builders.rage.build import freeze_contexts, label_passages, write_rage_tables
from citeforge.builders.rage.kept_queries import find_kept
from citeforge.builders.rage.material import Material, drop_dangling
from citeforge.builders.rage.mixture import OneSize, Pools
from citeforge.builders.rage.sources import RageSources, recipe_embedder
from citeforge.engines.files import sha256_file, write_text
from citeforge.engines.folders import path_beside
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.replay import replayed_note
from citeforge.engines.llm.writers import require_askable
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.retrieval.certain import CorpusModel
from citeforge.engines.retrieval.dense import DenseCorpus
from citeforge.engines.running.names import make_llm
from citeforge.engines.running.setup import build_judge, make_runner, replay_store
from citeforge.engines.tables import table_of
from citeforge.ir_convert.registry import info_of
from citeforge.ir_convert.source import Source
from citeforge.package.manifest import load_manifest
from citeforge.plugins.documents.checks import CHECKS, PERSON, is_language_clear
from citeforge.plugins.documents.corpus import PassagePool, open_documents, read_documents
from citeforge.plugins.documents.decisions import apply_decisions, decision_stats, read_key_file
from citeforge.plugins.documents.design import ABSENT, LIST
from citeforge.plugins.documents.kept import (
    has_same_contexts,
    read_kept_questions,
)
from citeforge.plugins.documents.llm_requests import PromptedLlm
from citeforge.plugins.documents.outcome import design_stats, diversity_stats, mix_stats
from citeforge.plugins.documents.question_specs import draw_specs
from citeforge.plugins.documents.questions import Question, accepted_texts, apply_labels
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.rounds import QuestionMaker, count_questions
from citeforge.plugins.documents.seeds import find_seed_evidence, make_prompted_llm, read_seeds
from citeforge.plugins.documents.tables import QUESTIONS
from citeforge.plugins.documents.topics import find_topics
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import GrammarInfo, Manifest
from citeforge.schemas.recipes.base import RunOptions, make_record, model_name
from citeforge.schemas.recipes.flags import list_flags
from citeforge.schemas.recipes.rage import Mixture, RageRecipe
from citeforge.schemas.tables import (
    GOLD,
    IRRELEVANT,
    MAPPING,
    QUERIES,
    RELEVANT,
    SEEMINGLY_RELEVANT,
    UNSURE,
)

WRITER, READER, JUDGE = "question writer", "question reader", "relevance judge"
"""Roles in manifests."""
_SURE, _UNSURE = 1.0, 0.0
"""Scores of judgements; an unsure passage is shown neither as relevant nor as a negative."""


@dataclass(frozen=True)
class Models:
    """LLM, judge and embedder of a build.

    Attributes:
        prompted_llm: the LLM, with the prompts.
        judge: decides what passages entail; None for no judge.
        rage: recipe of the mining of negatives.
        embedder: makes vectors of questions and passages.
    """

    prompted_llm: PromptedLlm
    judge: JudgeSession | None
    rage: RageRecipe
    embedder: Embedder


def build_documents(
    recipe: DocumentsRecipe,
    run: RunOptions,
    llm: Llm | None = None,
    judge: JudgeSession | None = None,
    reader: Llm | None = None,
) -> Manifest:
    """Build a benchmark: an LLM writes questions about documents, and checks reject bad ones.

    Args:
        recipe: documents, models, and numbers of questions.
        run: output folder, devices, and how endpoints are reached.
        llm: writes and answers questions; None for the recipe's.
        judge: decides what passages entail; None for the recipe's, if it names one.
        reader: answers questions; None for the recipe's checker, if it names one, else the writer.

    Raises:
        InputError: the documents or the output folder are at fault, or no question was accepted.
    """
    recipe = recipe.with_design_inputs()
    rejects = _choose_rejects_file(recipe, run)
    if recipe.decided_questions is not None:
        read_key_file(recipe.decided_questions)  # before anything is made or paid
    with open_build(recipe, run) as build:
        source = open_documents(recipe, build.workspace.stage("archives"))
        models = _open_models(recipe, run, build, llm, judge, reader)
        draft = _draft_manifest(recipe, build, source, models)
        if (finished := build.finished(draft)) is not None:
            return finished
        require_askable(models.prompted_llm.llm, models.prompted_llm.reader)
        info, corpus, tables = read_documents(recipe, source, build.workspace)
        folder = run.embeddings or build.workspace.stage("embeddings")
        passages = PassagePool(corpus, recipe.seed)
        if run.compute == "auto" or models.prompted_llm.design.found_topics is not None:
            # Questions are searched in rounds and then mined: one precision, so that passages are
            # embedded once. Of clusters it decides which passages need exact vectors.
            run = run.model_copy(update={"compute": "fp32"})
        model = CorpusModel(
            models.embedder, corpus, folder, run.compute, run.shard_rows,
            make_runner(run).first_stage(run.device), folder / "ranking",
        )  # fmt: skip
        search = DenseCorpus(model)
        topics = find_topics(recipe, models.prompted_llm, passages, model)
        specs = draw_specs(models.prompted_llm.design, recipe.n_queries, recipe.seed, topics.shares)
        maker = QuestionMaker(
            recipe, specs, models.prompted_llm, models.judge, passages, search, topics
        )
        counts: dict[str, int] = {}
        old = open_earlier(recipe, recipe.keep_from)
        old_questions = [] if old is None else read_kept_questions(old, passages, specs, counts)
        maker.check(old_questions, ())
        questions = maker.make(old_questions)
        seeds = read_seeds(recipe.seeds) if recipe.seeds is not None else ()
        if recipe.keep_seeds:
            found = find_seed_evidence(maker, seeds)
            maker.check(found, questions)
            questions += found
        texts, decided = accepted_texts(questions), dict[str, str]()
        if recipe.decided_questions is not None:
            decisions = apply_decisions(questions, recipe.decided_questions)
            edited = {q.id for q in decisions.edited}
            maker.check(decisions.edited, (q for q in questions if q.id not in edited))
            decided = decision_stats(decisions, questions)
        _require_accepted(questions, rejects, models.prompted_llm.llm)
        rejects.unlink(missing_ok=True)  # of an earlier build that accepted none
        if old is not None:
            counts["questions_kept"] = sum(q.is_accepted for q in old_questions)
        counts |= count_questions(specs, questions) | apply_labels(questions, recipe.labels, texts)
        counts["passages_too_short"] = passages.n_short
        counts["questions_language_unclear"] = sum(
            q.is_accepted and not is_language_clear(q, models.prompted_llm.design)
            for q in questions
        )
        sources = RageSources(models.rage, run, source, None, None, models.embedder, None)
        material = Material(sources, *_make_tables(questions, counts), counts, [info], corpus)
        material = drop_dangling(material)
        kept = None
        if old is not None and has_same_contexts(recipe, old):
            kept = find_kept(material, old, material.relevant)
        labelled = label_passages(material, kept, build.workspace, recipe.seed)
        made, judged = labelled.made, labelled.mappings[RELEVANT]
        sure, unsure = (judged.filter(pc.equal(judged["score"], s)) for s in (_SURE, _UNSURE))
        unsure = pa.concat_tables([labelled.unsure, unsure.cast(MAPPING)]).combine_chunks()
        material = replace(material, relevant=sure)
        mappings = {**labelled.mappings, RELEVANT: sure}
        frozen = freeze_contexts(material, mappings, recipe.seed, _choose_size)
        writer = build.package()
        writer.add("mapping", UNSURE, unsure)
        stats, learnt = write_rage_tables(writer, material, frozen)
        tables["questions"] = pa.Table.from_pylist([q.row() for q in questions], schema=QUESTIONS)
        for name, table in tables.items():
            writer.add(name, name, table)
        n_accepted = sum(q.is_accepted for q in questions)
        stats |= {
            "questions_accepted_share": round(n_accepted / len(questions), 4),
            "prompt_tokens": models.prompted_llm.tokens[0],
            "reply_tokens": models.prompted_llm.tokens[1],
            **decided,
            **design_stats(models.prompted_llm.design),
            **mix_stats(
                specs, questions, models.prompted_llm.design.shares | {"topic": topics.shares}
            ),
            **(
                diversity_stats("seeds", (s.question for s in seeds), models.embedder)
                if seeds
                else {}
            ),
            **diversity_stats(
                "questions", (q.text for q in questions if q.is_accepted), models.embedder
            ),
        }
        return build.finish(
            draft,
            writer,
            stats,
            sources=[info],
            models=draft.models | made.models,
            computed=made.computed,
            **learnt,
        )


def _open_models(
    recipe: DocumentsRecipe,
    run: RunOptions,
    build: Build,
    llm: Llm | None,
    judge: JudgeSession | None,
    reader: Llm | None,
) -> Models:
    """Load a build's LLMs, judge and embedder: those passed in, else those of the recipe.

    Args:
        recipe: names the models.
        run: devices, and how endpoints are reached.
        build: folder of the build.
        llm: LLM to use; None for the recipe's.
        judge: judge to use; None for the recipe's.
        reader: LLM that answers questions; None for the recipe's, if it names one.
    """
    named = [recipe.writer, *([] if recipe.checker is None else [recipe.checker])]
    store = replay_store(run, *named) if llm is None else None
    if judge is None:
        judge = build_judge(recipe.judging, run, store)
    if recipe.checker is not None and reader is None:
        reader = make_llm(recipe.checker, option="--checker", store=store, options=run)
    llm = llm or make_llm(recipe.writer, store=store, options=run)
    fields = "seed embedder embedder_revision mining mixtures decided licence name source"
    rage = make_record(RageRecipe, **{name: getattr(recipe, name) for name in fields.split()})
    prompted_llm = make_prompted_llm(recipe, llm, reader)
    return Models(prompted_llm, judge, rage, recipe_embedder(rage, run))


def _draft_manifest(
    recipe: DocumentsRecipe, build: Build, source: Source, models: Models
) -> Manifest:
    """Make the package's manifest before any question is written; counts are added later."""
    identities = {WRITER: models.prompted_llm.llm.identity()}
    if recipe.checker is not None:
        identities[READER] = models.prompted_llm.reader.identity()
    if models.judge is not None:
        identities[JUDGE] = models.judge.judge.identity()
    judge, sheet = model_name(identities, JUDGE), recipe.decided_questions
    named = recipe.model_copy(
        update={
            "llm": model_name(identities, WRITER),
            "checker": model_name(identities, READER),
            "labels": tuple(Path(path.name) for path in recipe.labels),
            "design": recipe.recorded_design(),
            "decided_questions": sheet and Path(sheet.name),
            "seeds": recipe.seeds and Path(recipe.seeds.name),
            "keep_from": recipe.keep_from and Path(recipe.keep_from.name),
            "judging": recipe.judging.model_copy(update={"judge": judge}),
        }
    )
    info = info_of(source, recipe.licence)
    labels = [sha256_file(path) for path in recipe.labels]
    config = named.recorded(
        prompts=models.prompted_llm.prompts,
        corpus="all",
        labels_sha256=labels,
        **_design_file_field(recipe),
        **_earlier_package_field(recipe),
        seeds_sha256=None if recipe.seeds is None else sha256_file(recipe.seeds),
        decided_questions_sha256=None if sheet is None else sha256_file(sheet),
    )
    return build.draft(
        config, [info], recipe.licence or info.licence, identities,
        GrammarInfo(base=models.rage.base),
    )  # fmt: skip


def _earlier_package_field(recipe: DocumentsRecipe) -> dict[str, str]:
    """Make the manifest's field that names the package to keep questions of; empty for none.

    Raises:
        InputError: it is no package.
    """
    if recipe.keep_from is None:
        return {}
    return {"kept_from_hash": load_manifest(recipe.keep_from).benchmark_hash}


def _design_file_field(recipe: DocumentsRecipe) -> dict[str, dict[str, str]]:
    """Make the manifest's field on the file of question settings (name, sha256); {} without one."""
    if not isinstance(recipe.design, str):
        return {}
    path = Path(recipe.design)
    return {"design_file": {"name": path.name, "sha256": sha256_file(path)}}


def _choose_size(pools: Pools, mixture: Mixture) -> OneSize | None:
    """Choose one number of passages for all contexts; None if numbers per label must vary.

    With one size, a smaller context does not reveal that no passage answers. Empty slots are filled
    with the nearest passages first, as in contexts with an answer. Sizes differ if the mixture has
    no negatives, or a question has fewer passages than the mixture has relevant ones.
    """
    size = min(mixture.total, pools.smallest_pool(mixture))
    if mixture.total == mixture.relevant or size < max(1, mixture.relevant):
        return None
    return OneSize(size, (SEEMINGLY_RELEVANT, IRRELEVANT))


def _choose_rejects_file(recipe: DocumentsRecipe, run: RunOptions) -> Path:
    """Choose the path of the file that lists rejected questions if a build accepts none.

    Raises:
        InputError: the build reads that file, or the folder of documents that it is in.
    """
    rejects = path_beside(run.folder, ".questions.jsonl")
    place = rejects.resolve()
    for flag in list_flags(DocumentsRecipe):
        value = flag.read_from(recipe)
        for one in value if isinstance(value, tuple) else (value,):
            if not flag.option.input or flag.option.names or not isinstance(one, str | Path):
                continue  # no file; or the name of a model
            # A source is named by a word, a colon and a path.
            named = {Path(one).resolve(), Path(str(one).partition(":")[2] or one).resolve()}
            if place in named or (rejects.exists() and named & {*place.parents}):
                raise InputError(
                    f"is read for {flag.name}, and builds write or remove the file of this name",
                    path=rejects, allowed="another --out, or the file under another name",
                    code="output-exists",
                )  # fmt: skip
    return rejects


def _require_accepted(questions: Sequence[Question], rejects_file: Path, llm: Llm) -> None:
    """Raise an error if no answerable question was accepted; write all to a file before that.

    Args:
        questions: all questions, with the checks that rejected them.
        rejects_file: JSON Lines file to write if none was accepted.
        llm: model that wrote them, for advice.

    Raises:
        InputError: there is none; counts the rejected ones by check.
    """
    if any(q.is_accepted and q.base != ABSENT for q in questions):
        return
    rows = (json.dumps(q.row(), ensure_ascii=False) for q in questions)
    write_text(rejects_file, "".join(f"{row}\n" for row in rows))
    taken = [f"{n} {check}" for check in CHECKS if (n := sum(q.check == check for q in questions))]
    n_absent = sum(q.is_accepted for q in questions)
    allowed = "a stronger --llm, more --tries or longer documents" + replayed_note(llm)
    if not questions:
        found = "none of 0 questions was accepted: no passage is long enough for a question"
    elif n_absent:
        were = (
            "question without an answer was"
            if n_absent == 1
            else "questions without an answer were"
        )
        found = (
            f"{n_absent} {were} accepted, but none of {len(questions) - n_absent} others: nothing "
            "can be shown as evidence"
        )
        if all(q.base == ABSENT for q in questions):
            allowed = "a question with an answer: --single 1, or a further form in the design"
    else:
        found = f"none of {len(questions)} questions was accepted"
    if taken:
        found += f" (rejected by the checks: {', '.join(taken)})"
    if any(q.check == PERSON for q in questions):
        allowed = "the label keep, or edit, for more rows of the --decided-questions"
    raise InputError(
        f"{found}; {rejects_file} lists all with the reasons", allowed=allowed, code="no-queries"
    )


def _make_tables(
    questions: Sequence[Question], counts: dict[str, int]
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Make tables of accepted (questions, relevant passages, gold); add a number to ``counts``.

    Args:
        questions: all questions of the build.
        counts: the number of passages that may answer is added.
    """
    queries, judged, gold = [], [], []
    for question in questions:
        if not question.is_accepted:
            continue
        user, topic = question.spec.user, question.spec.topic
        fields = {"form": question.spec.form.name} | ({"user": user.name} if user else {})
        fields |= {"topic": topic} if topic else {}
        queries.append((question.id, question.text, json.dumps(fields, ensure_ascii=False)))
        if question.base == ABSENT:
            continue
        short = json.dumps(question.answers, ensure_ascii=False)
        evidence = [e.id for e in question.evidence]
        for score, names in ((_SURE, [*evidence, *question.relevant]), (_UNSURE, question.unsure)):
            judged += [(question.id, n, short, score, None) for n in dict.fromkeys(names)]
        gold += _gold_rows(question, evidence)
    unsure = sum(len(q.unsure) for q in questions if q.is_accepted)
    counts["passages_that_may_answer"] = unsure
    gold_table = pa.Table.from_pylist(gold, schema=GOLD)
    return table_of(queries, QUERIES), table_of(judged, MAPPING), gold_table


def _gold_rows(question: Question, evidence: list[str]) -> list[dict[str, Any]]:
    """Make the rows of a question's gold: statement with citations, and each short answer.

    Args:
        question: an accepted question.
        evidence: ids of the passages that its answer is in.
    """
    sure = {"informative": 1, "attributable": 1}
    sentence = {"text": question.statement, "index": 0, "citations": evidence, **sure}
    rows: list[dict[str, Any]] = [
        {"kind": "answer", "text": question.statement, "citations": evidence,
         "sentences": [sentence], **sure}
    ]  # fmt: skip
    rows += [
        {"kind": "qa_pair", "aliases": [answer, *question.aliases]} for answer in question.answers
    ]
    if question.base == LIST:
        rows += [{"kind": "answer_list", "aliases": [answer]} for answer in question.answers]
    return [{"query_id": question.id, "position": n, **row} for n, row in enumerate(rows)]
