"""``build twins``: a benchmark whose passages have LLM-written twins."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.builders.authorship.checks import (
    CHECKS,
    ENTAILMENT,
    WORDED,
    Checker,
    SourcePassage,
    Twin,
    TwinWriter,
    twin_request,
)
from citeforge.builders.authorship.facts import Entities
from citeforge.builders.authorship.meaning import SentenceVectors
from citeforge.builders.authorship.roles import NO_PARSER, Parser
from citeforge.builders.authorship.wording import count_denials
from citeforge.builders.build import Stats, open_build
from citeforge.builders.derive import Base, Docs
from citeforge.builders.package import PackageWriter, corpus_stats, mapping_stats
from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.judge.llm import llm_judge_of
from citeforge.engines.judge.records import Pair
from citeforge.engines.llm.budget import RunPlan, total_plan
from citeforge.engines.llm.records import Llm, Request
from citeforge.engines.llm.replay import replayed_note
from citeforge.engines.llm.writers import CHAT
from citeforge.engines.running.names import llm_for_dry_run, make_llm
from citeforge.engines.running.setup import build_judge, replay_path, replay_store, run_embedder
from citeforge.engines.tables import rows_with
from citeforge.engines.text.languages import detect_language
from citeforge.schemas.counts import count_key
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import SECRET, Manifest
from citeforge.schemas.recipes.base import RunOptions, model_name
from citeforge.schemas.recipes.twins import TwinsRecipe
from citeforge.schemas.tables import CORPUS, MAPPING, QUERIES, RELEVANT, TWINS


def build_twins(recipe: TwinsRecipe, run: RunOptions, llm: Llm | None = None) -> Manifest:
    """Build a package in which each passage of the contexts has a rewrite by an LLM (twin).

    A passage whose twin fails every attempt is replaced, if it is not relevant, by the next
    negative of its query; otherwise the query is dropped and counted, or kept (``keep_failed``).

    Args:
        recipe: everything that the tables depend on.
        run: where and how.
        llm: the writer; None for the recipe's.

    Raises:
        InputError: the package, the writer's store or the output folder is at fault.
        UnknownValueError: no such context set.
    """
    _refuse_lexical(recipe)
    store = replay_store(run, recipe.llm) if llm is None else None
    judge = build_judge(recipe.judging, run, store)
    llm = llm or make_llm(recipe.llm, store=store, options=run)
    base = Base(recipe.benchmark)
    if recipe.hidden and SECRET not in base.manifest.files:
        raise UsageError(
            f"--hidden: {base.manifest.name} was built without a secret, so its contexts "
            "reveal their labels; build it with --hidden, too",
            code="wrong-benchmark",
        )
    contexts, entities = _read_contexts(base, recipe), Entities(recipe.ner)
    parser, embedder = Parser(recipe.parser), None
    if recipe.embedder is not None:
        embedder = run_embedder(recipe.embedder, run)
    vectors = None if embedder is None else SentenceVectors(embedder)
    checker = Checker(recipe.thresholds, entities, judge, parser, vectors)
    writer = TwinWriter(llm, checker, recipe.attempts)
    models = base.manifest.models | {"twin author": llm.identity()}
    if judge is not None:
        models["entailment judge"] = judge.judge.identity()
    if embedder is not None:
        models["sentence embedder"] = embedder.fingerprint()
    with open_build(recipe, run) as build:
        own, facts = base.manifest, {**base.facts(), "entities": entities.name}
        facts["parsed_by"] = parser.name
        facts["prompts"] = {"twin": writer_prompt("twin").sha256}
        # Models as they call themselves: answers of a store are those of the model that gave them.
        judging = {"judge": model_name(models, "entailment judge")}
        update = {
            "ner": entities.model,
            "parser": parser.model or NO_PARSER,
            "benchmark": Path(own.name),
            "llm": model_name(models, "twin author"),
            "contexts": tuple(contexts),
            "judging": recipe.judging.model_copy(update=judging),
        }
        config = recipe.model_copy(update=update).recorded(**facts)
        draft = build.draft(config, own.sources, own.licence, models, own.grammar)
        if (finished := build.finished(draft)) is not None:
            return finished
        rewriting = Rewriting(base, contexts, writer)
        package = build.package()
        names, counts, stats = _write_tables(package, recipe, rewriting, models)
        return build.finish(
            draft, package, stats,
            contexts={n: own.contexts[n] for n in names},
            counts=counts,
            libraries={n: version(n) for n in ("spacy", "rapidfuzz", "py3langid")},
        )  # fmt: skip


NOT_CHECKED = (
    "not checked by a judge: rules compared numbers, names, negations, opposites, units, hedges, "
    "connectives, quantifiers, roles, and what was lost or added. Only a judge (--judge) sees the "
    "rest: of 331 wrong free rewrites by an author who did not know the rules, rules alone refused "
    "242 and 15 of 40 good ones. Rules that keep all of these good ones refuse 207 wrong ones: 1 "
    "of 20 inverted causes, 5 of 18 negations, 6 of 16 dropped clauses, 8 of 20 exchanged names, "
    "13 of 23 opposite adjectives, 8 of 16 added sentences"
)
"""Statistic of the card for twins that no judge checked."""


def _refuse_lexical(recipe: TwinsRecipe) -> None:
    """Raise an error for the judge ``lexical``, which cannot see a change of meaning."""
    if recipe.judging.judge == "lexical":
        raise UsageError(
            "--judge lexical: counts shared words, and does not notice a twin that says the "
            "opposite; give hf:MODEL, openai:MODEL or table:FILE, or no judge",
            code="unsupported",
        )


def plan_twins(recipe: TwinsRecipe, run: RunOptions) -> RunPlan:
    """Count the fewest and the most LLM calls that a build of rewrites (twins) can need.

    The fewest: every first twin is accepted. The most: each attempt asks for every passage of the
    contexts and every negative that could replace one.

    Raises:
        InputError: not a package.
        UnknownValueError: no such context set.
        UsageError: the writer is no endpoint.
    """
    _refuse_lexical(recipe)
    llm = llm_for_dry_run(recipe.llm, run, replay_path(run, recipe.llm))
    base = Base(recipe.benchmark)
    contexts = _read_contexts(base, recipe).values()
    shown = dict.fromkeys(d["corpus-id"] for c in contexts for row in c.values() for d in row)
    queries = dict.fromkeys(query for c in contexts for query in c)
    others = dict.fromkeys(d["corpus-id"] for q in queries for d in base.negatives[q])
    temperature = recipe.attempts.get_temperature(0)

    def requests(ids: Iterable[str]) -> list[Request]:
        """Make the LLM requests for the first attempt to rewrite passages."""
        texts = base.shown_texts(ids)
        return [twin_request(*both, temperature, 0) for both in texts.values()]

    replacing = [i for i in others if i not in shown]
    tries = recipe.attempts.limit
    writer = llm.plan(requests(shown), requests(replacing), tries)
    judge = llm_judge_of(build_judge(recipe.judging, run, replay_store(run, recipe.llm)))
    if judge is None:
        return writer
    texts = base.shown_texts(dict.fromkeys([*shown, *replacing]))

    def pairs(ids: Iterable[str]) -> list[Pair]:
        """Make entailment pairs of each passage with itself as rewrite, for a cost estimate."""
        return [pair for i in ids for pair in _twin_pairs(i, texts[i][1])]

    checked = judge.plan_calls(pairs(shown), pairs(replacing), tries)
    return total_plan({llm.bill_label(CHAT): writer, judge.llm.bill_label(CHAT): checked})


def _twin_pairs(name: str, text: str) -> list[Pair]:
    """Make a passage's two entailment pairs with itself as rewrite, for a cost estimate."""
    return [Pair(text, f"{name} {text}"), Pair(f"{name} {text}", text)]


def _read_contexts(base: Base, recipe: TwinsRecipe) -> dict[str, dict[str, Docs]]:
    """Read the context sets that a recipe names, or all: set to query to its passages."""
    return {n: base.shown_passages(n) for n in recipe.contexts or base.manifest.contexts}


class Rewriting:
    """Twins of the passages in contexts; passages without an accepted twin are replaced.

    Attributes:
        base: package that the passages come from.
        contexts: context set to query to its passages, after replacements.
        writer: writes and checks twins.
        twins: passage to its twin, or to the best attempt at one.
        replaced: number of replaced passages.
        dropped: query to the reason why one of its passages has no twin.
    """

    def __init__(
        self, base: Base, contexts: dict[str, dict[str, Docs]], writer: TwinWriter
    ) -> None:
        """Let ``writer`` rewrite all passages; replace non-relevant ones whose rewrites failed."""
        self.base, self.contexts, self.writer = base, contexts, writer
        self.twins: dict[str, Twin] = {}
        self.replaced = 0
        self._relevant = {q: set(ids) for q, ids in base.relevant.items()}
        while ids := [i for i in dict.fromkeys(d["corpus-id"] for _, d in self._iterate_passages())
                      if i not in self.twins]:  # fmt: skip
            written = writer.write(self._collect_passages(ids))
            self.twins |= {twin.passage.id: twin for twin in written}
            self._replace_failing()
        failing = {
            (q, d["corpus-id"])
            for q, d in self._iterate_passages()
            if not self.twins[d["corpus-id"]].report.accepted
        }
        self.dropped: dict[str, str] = {}
        for query, passage in sorted(failing):
            reasons = ", ".join(self.twins[passage].report.failed)
            self.dropped.setdefault(query, f"passage {passage!r} has no accepted twin ({reasons})")

    def _iterate_passages(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield (query, passage) for every position in every context of the package."""
        for docs in self.contexts.values():
            for query, row in docs.items():
                yield from ((query, doc) for doc in row)

    def _collect_passages(self, ids: Sequence[str]) -> list[SourcePassage]:
        """Get passages with the gold answers that a rewrite must not lose, and must not gain."""
        answers_of: dict[bool, dict[str, list[tuple[str, ...]]]] = {True: {}, False: {}}
        for query, answers in self.base.answers.items():
            listed = [
                *(d for c in self.contexts.values() for d in c.get(query, ())),
                *self.base.negatives[query],
            ]
            around = dict.fromkeys([*self._relevant[query], *(d["corpus-id"] for d in listed)])
            for passage in around if answers else ():
                side = answers_of[passage in self._relevant[query]]
                side.setdefault(passage, []).append(tuple(answers))
        texts = self.base.shown_texts(ids)
        return [
            SourcePassage(i, *texts[i], *(tuple(answers_of[s].get(i, ())) for s in (True, False)))
            for i in ids
        ]

    def _replace_failing(self) -> None:
        """Replace each non-relevant passage whose rewrite failed by the query's next negative."""
        for docs in self.contexts.values():
            for query, row in docs.items():
                ids = {d["corpus-id"] for d in row}
                for at, doc in enumerate(row):
                    passes = self.twins[doc["corpus-id"]].report.accepted
                    if passes or doc["corpus-id"] in self._relevant[query]:
                        continue
                    following = self._next_negative(query, ids, doc["label"])
                    if following is not None:
                        row[at] = following
                        ids.add(following["corpus-id"])
                        self.replaced += 1

    def _next_negative(self, query: str, ids: set[str], label: str) -> dict[str, str] | None:
        """Find a query's best usable negative not in ``ids``, preferring ``label``; or None."""

        def usable(doc: dict[str, str]) -> bool:
            """Whether a negative is not in the query's context yet, and no rewrite of it failed."""
            twin = self.twins.get(doc["corpus-id"])
            return doc["corpus-id"] not in ids and (twin is None or twin.report.accepted)

        candidates = filter(usable, self.base.negatives[query])
        return min(candidates, key=lambda doc: doc["label"] != label, default=None)


def _write_tables(
    writer: PackageWriter,
    recipe: TwinsRecipe,
    rewriting: Rewriting,
    models: dict[str, dict[str, Any]],
) -> tuple[list[str], dict[str, int], Stats]:
    """Write a package's tables; return (names of context sets, manifest's counts, statistics)."""
    base, dropped = rewriting.base, rewriting.dropped
    queries = [q for q in base.query_ids if recipe.keep_failed or q not in dropped]
    if not queries:
        raise InputError(
            f"no query has an accepted twin of all its passages (first: "
            f"{next(iter(dropped.values()))})",
            allowed="another writer, looser thresholds, or --keep-failed"
            + replayed_note(rewriting.writer.llm),
            code="no-queries",
        )
    contexts = {n: {q: docs[q] for q in queries} for n, docs in rewriting.contexts.items()}
    mappings = {
        label: rows_with(table, "query-id", queries).cast(MAPPING)
        for label, table in base.mappings.items()
    }
    in_contexts = {d["corpus-id"] for c in contexts.values() for row in c.values() for d in row}
    ids = in_contexts.union(*(t["corpus-id"].to_pylist() for t in mappings.values()))
    author = str(models["twin author"]["name"])
    rows, passages = _make_twin_rows(rewriting, ids, author, recipe.keep_failed)
    base.add_judged(writer, queries, mappings, in_contexts, passages)
    writer.add("queries", "queries", rows_with(base.queries, "_id", queries).cast(QUERIES))
    stats: Stats = {
        "queries": len(queries),
        **corpus_stats(writer.folder),
        **mapping_stats(RELEVANT, mappings[RELEVANT], len(queries)),
    }
    for name, docs in contexts.items():
        stats |= writer.add_contexts(name, docs)
    table = pa.Table.from_pylist(rows, schema=TWINS)
    writer.add("twins", "twins", table)
    stats |= twin_stats(table, "entailment judge" in models)
    if "entailment judge" not in models:
        stats["meaning_of_twins"] = NOT_CHECKED
    return list(contexts), _count_outcomes(rewriting, recipe.keep_failed), stats


def _make_twin_rows(
    rewriting: Rewriting, ids: set[str], author: str, keep_failed: bool
) -> tuple[list[dict[str, object]], pa.Table]:
    """Make (rows of the table of rewrites, corpus table of the rewrites to add to the corpus)."""
    twins = rewriting.twins
    rows, passages = [], []
    existing = set(rewriting.base.texts(f"{i}~twin" for i in twins))
    for name in sorted(twins):
        twin = twins[name]
        stays = name in ids and bool(twin.text) and (twin.report.accepted or keep_failed)
        new = f"{name}~twin"
        while new in existing:
            new += "~"
        rows.append(
            {
                "_id": name,
                "twin_id": new if stays else "",
                "author": author,
                "prompt_sha256": writer_prompt("twin").sha256,
                "attempts": twin.attempts,
                "temperature": twin.temperature,
                "accepted": twin.report.accepted,
                "failed": list(twin.report.failed),
                "notes": [f"{k}: {v}" for k, v in twin.report.failed.items()],
                **asdict(twin.report.measured),
            }
        )
        if stays:
            passages.append({"_id": new, "title": twin.passage.title, "text": twin.text})
    return rows, pa.Table.from_pylist(passages, schema=CORPUS)


def _count_outcomes(rewriting: Rewriting, keep_failed: bool) -> dict[str, int]:
    """Count rewritten, replaced and failed passages and affected queries, for the manifest."""
    base, twins = rewriting.base, list(rewriting.twins.values())
    reports = [t.report for t in twins]
    counts = {
        "queries_in_the_benchmark": len(base.query_ids),
        "passages_rewritten": sum(r.accepted for r in reports),
        "passages_of_failed_twins": sum(not r.accepted for r in reports),
        "passages_replaced": rewriting.replaced,
    }
    done = "queries_of_failed_twins_kept" if keep_failed else "queries_of_failed_twins_dropped"
    counts[done] = len(rewriting.dropped)
    if not any(base.answers.values()):
        counts["answer_checks_without_gold"] = 0
    human = [(t.passage.text, t.text, detect_language(t.passage.text)) for t in twins if t.text]
    if n := sum(language not in WORDED for *_, language in human):
        counts["twins_not_in_english"] = n
        counts["twins_with_other_negations"] = sum(
            count_denials(a, language) != count_denials(b, language)
            for a, b, language in human
            if language is not None
        )
    if rewriting.writer.checker.parser.model is None:
        counts["twins_not_parsed"] = len(human)
    failed = Counter(name for report in reports for name in report.failed)
    return counts | {count_key("twin_checks_failed", n): c for n, c in sorted(failed.items())}


def twin_stats(table: pa.Table, judged: bool) -> dict[str, object]:
    """Compute shares of rewrites that pass each check; mean attempts, lengths, similarities.

    Args:
        table: schema TWINS, with the best attempt at each passage.
        judged: whether entailment was checked.

    Returns:
        Statistics by name. Shares of a check are of all twins that were written; those of
        entailment are of the twins that pass all other checks, which alone are judged.
    """
    rows = table.to_pylist()
    good = [r for r in rows if r["accepted"]]

    def mean(column: str) -> float:
        """Compute the mean of a column over accepted rewrites; 0 if there are none."""
        return round(math.fsum(r[column] for r in good) / len(good), 4) if good else 0.0

    failures = [set(r["failed"]) for r in rows if not math.isnan(r["length_ratio"])]
    judged_failures = [failed for failed in failures if failed <= {ENTAILMENT}] if judged else []
    passing = {
        count_key("twin_checks_passed_share", name): round(
            sum(name not in failed for failed in failure_sets) / len(failure_sets), 4
        )
        for names, failure_sets in ((CHECKS, failures), ((ENTAILMENT,), judged_failures))
        for name in names
        if failure_sets
    }
    return {
        "twins": len(good),
        "twins_accepted_share": round(len(good) / len(rows), 4),
        **passing,
        "twin_attempts_mean": mean("attempts"),
        "twin_length_ratio_mean": mean("length_ratio"),
        "twin_edit_similarity_mean": mean("edit_similarity"),
        "twin_ngram_overlap_mean": mean("ngram_overlap"),
    }
