"""``build alce`` with retrieval, oracle passages, sub-claims, summaries and snippets."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.alce.contexts import ContextWriter, relevant_table
from citeforge.builders.alce.coverage import (
    Coverage,
    QueryPassages,
    Texts,
    covered_answers,
    entailed_claims,
    judged_relevant,
    mean_recalls,
)
from citeforge.builders.alce.questions import (
    DOCUMENTS,
    QuestionSet,
    add_gold_rows,
    name_retrievers,
    open_questions,
    passage_chunks,
    rank_documents,
    read_question_set,
    retrieve_all,
    whole_id,
)
from citeforge.builders.alce.writing import condense, sub_claims
from citeforge.builders.build import Stats, Workspace, open_build
from citeforge.builders.package import (
    copy_corpus,
    corpus_stats,
    link_corpus,
    mapping_stats,
    write_corpus,
)
from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.files import sha256_file
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.writers import require_askable
from citeforge.engines.retrieval.records import Rankings
from citeforge.engines.running.names import make_llm
from citeforge.engines.running.setup import build_judge, replay_store
from citeforge.engines.tables import rows_of, shard_paths, table_of
from citeforge.ir_convert.alce import AlceSource
from citeforge.ir_convert.registry import check_extra_fields, info_of, open_corpus
from citeforge.ir_convert.source import ReadOptions, Source
from citeforge.package.items import GoldRows
from citeforge.package.package import read_texts
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.answers import AlceRecipe
from citeforge.schemas.recipes.base import RunOptions, model_name
from citeforge.schemas.tables import CANDIDATES, GOLD, MAPPING, QUERIES, RELEVANT
from citeforge.schemas.version import __version__

Models = dict[str, dict[str, Any]]
"""Role in the build to the identity of the model in it."""


@dataclass(frozen=True)
class _Findings:
    """Retrieved candidates per query, and the gold that they contain.

    Attributes:
        rankings: retriever to query to the passages that it found, best first.
        ids: query to the passages that some retriever found.
        texts: (title, text) of these passages.
        gold: gold of each query, with sub-claims.
        coverages: gold units that these passages contain, per kind of gold; the first decides.
    """

    rankings: dict[str, dict[str, list[str]]]
    ids: QueryPassages
    texts: Texts
    gold: Mapping[str, GoldRows]
    coverages: list[Coverage]

    @property
    def queries_with_lists(self) -> frozenset[str]:
        """Ids of the queries whose gold is a list of answers (as in QAMPARI)."""
        return frozenset(query for query, gold in self.gold.items() if gold.answer_lists)


def build_retrieved(
    recipe: AlceRecipe, run: RunOptions, llm: Llm | None = None, judge: JudgeSession | None = None
) -> Manifest:
    """Build an ALCE package: questions with gold, and the passages retrieved for each of them.

    Args:
        recipe: everything that the tables depend on.
        run: options of the run.
        llm: the writer; None for the recipe's, if it names one.
        judge: decides entailment; None for the recipe's, if it names one.

    Raises:
        InputError: a source, a run, a store or the output folder is at fault; or there is no gold.
        UsageError: a source of questions without documents, and no corpus.
    """
    name = recipe.writing.llm
    store = replay_store(run, *([name] if name else []))
    if llm is None and name is not None:
        llm = make_llm(name, store=store, options=run)
    if judge is None:
        judge = build_judge(recipe.judging, run, store)
    models: Models = {} if llm is None else {"writer": llm.identity()}
    if judge is not None:
        models["entailment judge"] = judge.judge.identity()
    counts: Counter[str] = Counter()
    with open_build(recipe, run) as build:
        workspace = build.workspace
        sources = _open_sources(recipe, workspace)
        infos = [info_of(source, recipe.licence) for source in sources]
        licence = recipe.licence or infos[-1].licence
        draft = build.draft(_recorded_config(recipe, models), infos, licence, models)
        if (finished := build.finished(draft)) is not None:
            return finished
        require_askable(llm)
        questions = read_question_set(sources[0], recipe)
        corpus = _write_corpus(recipe, sources[-1], workspace)
        if recipe.corpus is None:
            items = sources[0].items if isinstance(sources[0], AlceSource) else []
            rankings, retrievers = {DOCUMENTS: rank_documents(items)}, Models()
        else:
            folder = run.embeddings or workspace.stage("embeddings")
            rankings, retrievers = retrieve_all(
                recipe.retrieving, run, questions.texts, corpus, folder, counts
            )
        gold = questions.gold
        if recipe.writing.sub_claims and llm is not None and judge is not None:
            own, n = questions.grouped(gold), recipe.writing.sub_claims
            if rows := sub_claims(questions.texts, own, n, llm, judge, counts):
                gold = add_gold_rows(gold, rows)
        findings = _find_gold(recipe, questions, gold, rankings, corpus, judge, counts)
        writer = build.package()
        judgements = questions.judged if recipe.chunk is None else MAPPING.empty_table()
        relevant, n_unknown = relevant_table(
            judgements, corpus, findings.coverages, findings.gold, findings.texts
        )
        if n_unknown:
            counts["judged_passages_of_no_corpus"] = n_unknown
        if recipe.passages == "retrieved":
            passages = {name for ids in findings.ids.values() for name in ids}
            passages.update(relevant["corpus-id"].to_pylist())
            files = copy_corpus(writer.folder, corpus, passages)
        else:
            files = link_corpus(writer.folder, corpus)
        writer.add_shards("corpus", "corpus", files)
        writer.add("queries", "queries", questions.table.cast(QUERIES))
        writer.add("mapping", RELEVANT, relevant)
        writer.add("gold", "gold", gold.cast(GOLD))
        for name, ranking in rankings.items():
            ranks = [(r.query_id, r.docid, r.rank, r.score) for q in ranking.values() for r in q]
            writer.add("candidates", name, table_of(ranks, CANDIDATES))
        contexts = ContextWriter(writer, relevant)
        _write_contexts(recipe, questions, findings, contexts, llm, counts)
        n = len(questions.texts)
        stats: Stats = {
            "queries": n,
            **corpus_stats(writer.folder),
            **mapping_stats(RELEVANT, relevant, n),
            "gold_rows": gold.num_rows,
            **_recall_stats(recipe, findings),
            **contexts.stats,
        }
        return build.finish(
            draft, writer, stats, sources=[info_of(s, recipe.licence) for s in sources],
            models=models | retrievers, contexts=contexts.sets, counts=dict(counts),
        )  # fmt: skip


def _open_sources(recipe: AlceRecipe, workspace: Workspace) -> list[Source]:
    """Open the source of the questions and, if the recipe names a corpus, that of the passages.

    Returns:
        The sources: the first one has the questions, the last one the passages.
    """
    check_extra_fields(recipe.extra_fields, recipe.source, recipe.corpus)
    read = ReadOptions(
        skip_empty=recipe.skip_empty, skip_dangling=recipe.skip_dangling,
        workdir=workspace.stage("archives"), extra_fields=recipe.extra_fields,
    )  # fmt: skip
    sources = [open_questions(recipe, read)]
    if recipe.corpus is not None:
        sources.append(open_corpus(recipe.corpus, recipe.corpus_split, read, "--corpus"))
    return sources


def _recorded_config(recipe: AlceRecipe, models: Models) -> dict[str, Any]:
    """Make the ``config`` of the manifest: the recipe, prompt hashes and names of models.

    Args:
        recipe: recipe of the build.
        models: role (``writer``, ``entailment judge``) to the identity of the model.
    """
    writing, retrievers = recipe.writing, recipe.retrieving.retrievers
    splits = {DOCUMENTS: ""} if recipe.corpus is None else name_retrievers(retrievers)
    facts: dict[str, Any] = {"candidates": list(splits)}
    tasks = [*(["subclaims"] if writing.sub_claims else []), *writing.condense]
    if tasks:
        facts["prompts"] = {task: writer_prompt(f"alce/{task}").sha256 for task in tasks}
    runs = [s.removeprefix("run:") for s in splits.values() if s.startswith("run:")]
    if runs:
        facts["runs_sha256"] = [sha256_file(Path(path)) for path in runs]
    # As models call themselves: answers of a store are those of the model that gave them.
    judge = model_name(models, "entailment judge")
    update = {
        "writing": writing.model_copy(update={"llm": model_name(models, "writer")}),
        "judging": recipe.judging.model_copy(update={"judge": judge}),
    }
    return recipe.model_copy(update=update).recorded(**facts)


def _write_corpus(recipe: AlceRecipe, source: Source, workspace: Workspace) -> list[Path]:
    """Write the corpus, or reuse one that an interrupted build finished; return its files."""
    info = source.info()
    key = {
        "source": [info.spec, info.files, info.revision],
        "chunk": recipe.chunk,
        "skip_empty": recipe.skip_empty,
        "extra_fields": recipe.extra_fields,
        "citeforge": __version__,
    }
    record = workspace.read_finished("corpus", key)
    if record is not None:
        info.counts.update(record["counts"])
    else:
        chunk = recipe.chunk
        batches = source.passages() if chunk is None else passage_chunks(source, chunk)
        files = write_corpus(workspace.start("corpus"), batches, source)
        workspace.finish("corpus", key, files, {"counts": source.info().counts})
    return shard_paths(workspace.stage("corpus"), "corpus")


def _find_gold(
    recipe: AlceRecipe,
    questions: QuestionSet,
    gold: pa.Table,
    rankings: dict[str, Rankings],
    corpus: list[Path],
    judge: JudgeSession | None,
    counts: Counter[str],
) -> _Findings:
    """Find the gold answers and claims of its query that each retrieved passage contains.

    Args:
        recipe: recipe of the build.
        questions: questions, with the judgements of their source.
        gold: gold rows, with claims that an LLM wrote (schema GOLD).
        rankings: retriever to the passages that it found for each query.
        corpus: Parquet files.
        judge: decides which claims a passage entails; None to look at short answers alone.
        counts: the number of failed decisions is added.
    """
    ranked = {
        name: {query: [r.docid for r in ranking.get(query, [])] for query in questions.texts}
        for name, ranking in rankings.items()
    }
    candidates = {
        query: list(dict.fromkeys(i for ids in ranked.values() for i in ids[query]))
        for query in questions.texts
    }
    texts = read_texts(corpus, {name for ids in candidates.values() for name in ids})
    rows = questions.grouped(gold)
    relevant: dict[str, list[str]] = {query: [] for query in questions.texts}
    if recipe.corpus is not None:
        for query, passage in rows_of(questions.judged, "query-id", "corpus-id"):
            relevant[query].append(passage)
    whole = {name: name if recipe.chunk is None else whole_id(name) for name in texts}
    coverages = [
        covered_answers(rows, candidates, texts),
        *([] if judge is None else [entailed_claims(rows, candidates, texts, judge)]),
        judged_relevant(relevant, candidates, whole),
    ]
    if failed := sum(coverage.failures for coverage in coverages):
        counts["claims_that_the_judge_failed_on"] = failed
    return _Findings(ranked, candidates, texts, rows, [c for c in coverages if c.sizes])


def _recall_stats(recipe: AlceRecipe, findings: _Findings) -> Stats:
    """Compute each retriever's mean recall of gold answers, claims and judged passages.

    Args:
        recipe: how deep passages were retrieved.
        findings: passages found, and the gold that they contain.
    """
    stats: Stats = {}
    for name, ranked in findings.rankings.items():
        longest = max(map(len, ranked.values()), default=0)
        depth = longest if recipe.corpus is None else recipe.retrieving.depth
        for coverage in findings.coverages:
            stats |= mean_recalls(name, ranked, coverage, findings.queries_with_lists, depth)
    return stats


def _write_contexts(
    recipe: AlceRecipe,
    questions: QuestionSet,
    findings: _Findings,
    contexts: ContextWriter,
    llm: Llm | None,
    counts: Counter[str],
) -> None:
    """Write the context sets (retrieved, oracle, summaries, snippets); add to ``counts``.

    Args:
        recipe: recipe of the build.
        questions: questions of the build.
        findings: passages found, and the gold that they contain.
        contexts: writes the sets, and keeps their descriptions and statistics.
        llm: writes summaries and snippets; None for none of these sets.
        counts: counts of what was written are added.

    Raises:
        InputError: oracle passages, and no gold that tells passages apart.
    """
    name, ids = next(iter(findings.rankings.items()))
    where = "documents of each item" if recipe.corpus is None else f"passages by {name}"
    first = {query: row[: recipe.k] for query, row in ids.items()}
    contexts.add(f"top{recipe.k}", first, f"the first {recipe.k} {where}, in their order")
    if recipe.corpus is not None or recipe.oracle:
        if not findings.coverages:
            raise InputError(
                "has no gold that tells passages apart: neither short answers, nor claims and a "
                "judge, nor judged passages",
                path=recipe.source,
                allowed="--judge JUDGE for claims; --sub-claims 3 with --llm for long answers",
                code="no-relevant",
            )
        contexts.add_oracle(findings.coverages[0], ids, findings.queries_with_lists, recipe.k)
    if llm is None:
        return
    writing, texts = recipe.writing, findings.texts
    top = {query: row[: writing.condense_top] for query, row in ids.items()}
    for text_type in writing.condense:
        table = condense(text_type, questions.texts, top, texts, llm, counts)
        origin = f"of the first {writing.condense_top} {where}"
        contexts.add_condensed(text_type, table, top, texts, writing.condense_k, origin)
