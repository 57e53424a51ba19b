"""``build twins``: a benchmark whose passages have LLM-written twins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.packaging.stats import context_stats, corpus_stats, mapping_stats
from citeforge.builders.recipes.derive import Base, Docs
from citeforge.builders.stages.skeleton import Build, Stats
from citeforge.builders.twins.checks import CHECKS, ENTAILMENT, Checker, SourcePassage
from citeforge.builders.twins.facts import Entities
from citeforge.builders.twins.write import Twin, TwinWriter
from citeforge.engines.io.folders import beside
from citeforge.engines.io.tables import shard_paths
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.budget import RunPlan
from citeforge.engines.llm.client import OpenAiLlm
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.writers import make_llm
from citeforge.engines.setup import client_options, judge_session, replay_store
from citeforge.schemas.benchmarks.manifest import SECRET, Manifest
from citeforge.schemas.benchmarks.tables import (
    CONTEXTS,
    CORPUS,
    GOLD,
    MAPPING,
    QUERIES,
    RELEVANT,
    TWINS,
)
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes import RunOptions, TwinsRecipe
from citeforge.schemas.recipes.base import model_name


def build_twins(
    recipe: TwinsRecipe, run: RunOptions, llm: Llm | None = None, judge: JudgeSession | None = None
) -> Manifest:
    """Rewrite every passage that the contexts name, and keep the pairs.

    A passage whose twin fails every attempt is replaced, when it is not relevant, by the next
    negative of its query; otherwise the query is dropped and counted, or kept (``keep_failed``).

    Args:
        recipe: everything that the tables depend on.
        run: where and how.
        llm: the writer; None for the recipe's.
        judge: checks entailment; None for the recipe's, if it names one.

    Raises:
        InputError: the package, the writer's store or the output folder is at fault.
        UnknownValueError: no such context set.
    """
    store = replay_store(run, recipe.llm) if llm is None else None
    if judge is None:
        judge = judge_session(recipe.judging, run, beside(run.folder, ".verdicts.db"), store)
    writer = llm or make_llm(recipe.llm, store=store, options=client_options(run))
    return _Twins(recipe, run, writer, judge).make()


def plan_twins(recipe: TwinsRecipe, run: RunOptions) -> RunPlan:
    """What the first attempt would ask, and what it would cost; further attempts come on top.

    Raises:
        InputError: not a package.
        UnknownValueError: no such context set.
        UsageError: a writer that is not asked over a network.
    """
    llm = make_llm(recipe.llm, store=replay_store(run, recipe.llm), options=client_options(run))
    if not isinstance(llm, OpenAiLlm):
        raise UsageError("--dry-run: only openai: models are asked")
    base = Base(recipe.benchmark)
    docs = [d for c in _contexts(base, recipe).values() for row in c.values() for d in row]
    texts = base.shown_texts(d["corpus-id"] for d in docs)
    checker = Checker(recipe.thresholds, Entities(recipe.ner))
    writer = TwinWriter(llm, checker, recipe.attempts)
    return llm.plan([writer.request(SourcePassage(i, *texts[i]), 0) for i in texts])


def _contexts(base: Base, recipe: TwinsRecipe) -> dict[str, dict[str, Docs]]:
    return {n: base.context(n) for n in recipe.contexts or base.manifest.contexts}


class _Twins(Build[TwinsRecipe]):
    def __init__(
        self, recipe: TwinsRecipe, run: RunOptions, llm: Llm, judge: JudgeSession | None
    ) -> None:
        super().__init__(recipe, run)
        self.llm, self.judge = llm, judge
        self.base = Base(recipe.benchmark)
        if recipe.hidden and SECRET not in self.base.manifest.files:
            raise UsageError(
                f"--hidden: {self.base.manifest.name} was drawn without a secret, so its contexts "
                "tell their labels; build it with --hidden, too"
            )
        self.contexts = _contexts(self.base, recipe)
        self.entities = Entities(recipe.ner)
        checker = Checker(recipe.thresholds, self.entities, judge)
        self.writer = TwinWriter(llm, checker, recipe.attempts)
        self.twins: dict[str, Twin] = {}
        self.replaced = 0
        self.dropped: dict[str, str] = {}
        self.relevant = {q: set(ids) for q, ids in self.base.relevant.items()}

    def draft(self) -> Manifest:
        base = self.base.manifest
        models = base.models | {"twin author": self.llm.identity()}
        if self.judge is not None:
            models["entailment judge"] = self.judge.judge.identity()
        # As models call themselves: answers of a store are those of the model that gave them.
        judging = self.recipe.judging.model_copy(
            update={"judge": model_name(models, "entailment judge")}
        )
        told = self.recipe.model_copy(
            update={
                "ner": self.entities.model,
                "benchmark": Path(base.name),
                "llm": model_name(models, "twin author"),
                "contexts": tuple(self.contexts),
                "judging": judging,
            }
        )
        config = told.recorded(
            benchmark_hash=base.benchmark_hash,
            made_of={"kind": base.kind, "config": base.config},
            entities=self.entities.name,
            prompts={"twin": self.writer.prompt_sha256},
        )
        return self.manifest(config, base.sources, base.licence, models, base.grammar)

    def stages(self) -> None:
        """Write twins until every context is settled."""
        asked = self._named()
        while asked:
            self._write(asked)
            asked = self._replace()
        failing = {
            (query, doc["corpus-id"])
            for docs in self.contexts.values()
            for query, row in docs.items()
            for doc in row
            if not self.twins[doc["corpus-id"]].accepted
        }
        for query, passage in sorted(failing):
            reasons = ", ".join(self.twins[passage].failed)
            self.dropped.setdefault(query, f"passage {passage!r} has no accepted twin ({reasons})")

    def _named(self) -> list[str]:
        docs = [d for c in self.contexts.values() for row in c.values() for d in row]
        named = dict.fromkeys(d["corpus-id"] for d in docs)
        return [n for n in named if n not in self.twins]

    def _write(self, ids: Sequence[str]) -> None:
        texts = self.base.shown_texts(ids)
        present: dict[str, list[tuple[str, ...]]] = {}
        absent: dict[str, list[tuple[str, ...]]] = {}
        for query, answers in self.base.answers.items():
            if not answers:
                continue
            for passage in self._around(query):
                side = present if passage in self.relevant[query] else absent
                side.setdefault(passage, []).append(tuple(answers))
        passages = [
            SourcePassage(i, *texts[i], tuple(present.get(i, ())), tuple(absent.get(i, ())))
            for i in ids
        ]
        for twin in self.writer.write(passages):
            self.twins[twin.passage.id] = twin

    def _around(self, query: str) -> Iterable[str]:
        """Every passage that may be shown with a query."""
        shown = (d["corpus-id"] for c in self.contexts.values() for d in c.get(query, ()))
        listed = (d["corpus-id"] for d in self.base.negatives[query])
        return dict.fromkeys([*self.relevant[query], *shown, *listed])

    def _replace(self) -> list[str]:
        """Put the query's next negative in the place of every failing non-relevant passage.

        Returns:
            Passages that have to be rewritten now.
        """
        for docs in self.contexts.values():
            for query, row in docs.items():
                used = {d["corpus-id"] for d in row}
                for at, doc in enumerate(row):
                    failed = not self.twins[doc["corpus-id"]].accepted
                    if not failed or doc["corpus-id"] in self.relevant[query]:
                        continue
                    following = self._next(query, used, doc["label"])
                    if following is not None:
                        row[at] = following
                        used.add(following["corpus-id"])
                        self.replaced += 1
        return self._named()

    def _next(self, query: str, used: set[str], label: str) -> dict[str, str] | None:
        def usable(doc: dict[str, str]) -> bool:
            twin = self.twins.get(doc["corpus-id"])
            return doc["corpus-id"] not in used and (twin is None or twin.accepted)

        candidates = [d for d in self.base.negatives[query] if usable(d)]
        same = [d for d in candidates if d["label"] == label]
        return next(iter([*same, *candidates]), None)

    def tables(self, writer: PackageWriter) -> Stats:
        base, keep_failed = self.base, self.recipe.keep_failed
        kept = [q for q in base.query_ids if keep_failed or q not in self.dropped]
        if not kept:
            reason = next(iter(self.dropped.values()))
            raise InputError(
                f"no query has an accepted twin of all its passages (first: {reason})",
                path=self.recipe.benchmark,
                allowed="another writer, looser thresholds, or --keep-failed",
            )
        contexts = {n: {q: docs[q] for q in kept} for n, docs in self.contexts.items()}
        mappings = {n: base.only(t, "query-id", kept) for n, t in base.mappings.items()}
        named = {i for t in mappings.values() for i in t["corpus-id"].to_pylist()}
        named |= {d["corpus-id"] for c in contexts.values() for row in c.values() for d in row}
        rows, passages = self._rows(named)
        files, _ = base.write_corpus(writer.folder / "corpus", named, passages)
        writer.note("corpus", "corpus", files)
        queries = base.only(base.queries, "_id", kept)
        writer.add("queries", "queries", queries.cast(QUERIES))
        stats: Stats = {
            "queries": len(kept),
            **corpus_stats(shard_paths(writer.folder / "corpus", "corpus")),
        }
        for label, table in mappings.items():
            writer.add("mapping", label, table.cast(MAPPING))
        stats |= mapping_stats(RELEVANT, mappings[RELEVANT], len(kept))
        for name, docs in contexts.items():
            table = pa.Table.from_pylist(
                [{"query_id": q, "docs": row} for q, row in docs.items()], schema=CONTEXTS
            )
            writer.add("contexts", name, table)
            stats |= context_stats(name, table)
        writer.add("gold", "gold", base.only(base.gold, "query_id", kept).cast(GOLD))
        table = pa.Table.from_pylist(rows, schema=TWINS)
        writer.add("twins", "twins", table)
        stats |= twin_stats(table, self.judge is not None)
        self.found = {
            "contexts": {n: base.manifest.contexts[n] for n in contexts},
            "counts": self._counts(kept),
            "libraries": {n: version(n) for n in ("spacy", "rapidfuzz", "py3langid")},
        }
        return stats

    def _rows(self, named: set[str]) -> tuple[list[dict[str, object]], pa.Table]:
        """Rows of the twins table, and the twins as passages."""
        author = str(self.llm.identity()["name"])
        rows, passages = [], []
        taken = set(self.base.texts(f"{i}~twin" for i in self.twins))
        for name in sorted(self.twins):
            twin = self.twins[name]
            stays = name in named and bool(twin.text)
            stays = stays and (twin.accepted or self.recipe.keep_failed)
            new = f"{name}~twin"
            while new in taken:
                new += "~"
            m = twin.report.measured if twin.report else None
            rows.append(
                {
                    "_id": name,
                    "twin_id": new if stays else "",
                    "author": author,
                    "prompt_sha256": self.writer.prompt_sha256,
                    "attempts": twin.attempts,
                    "temperature": twin.temperature,
                    "accepted": twin.accepted,
                    "failed": list(twin.failed) if not twin.accepted else [],
                    "notes": [f"{k}: {v}" for k, v in twin.failed.items()]
                    if not twin.accepted
                    else [],
                    "length_ratio": m.length_ratio if m else math.nan,
                    "edit_similarity": m.edit_similarity if m else math.nan,
                    "ngram_overlap": m.ngram_overlap if m else math.nan,
                }
            )
            if stays:
                passages.append({"_id": new, "title": twin.passage.title, "text": twin.text})
        return rows, pa.Table.from_pylist(passages, schema=CORPUS)

    def _counts(self, kept: Sequence[str]) -> dict[str, int]:
        counts = {
            "queries in the benchmark": len(self.base.query_ids),
            "passages rewritten": sum(t.accepted for t in self.twins.values()),
            "passages without an accepted twin": sum(not t.accepted for t in self.twins.values()),
            "failing passages replaced by the next negative": self.replaced,
        }
        without = "queries with a passage that has no accepted twin"
        counts[f"{without}, {'kept' if self.recipe.keep_failed else 'dropped'}"] = len(self.dropped)
        if not any(self.base.answers.values()):
            counts["answer checks made (the benchmark has no gold short answers)"] = 0
        failed = Counter(name for t in self.twins.values() if not t.accepted for name in t.failed)
        return counts | {f"failed check: {n}": c for n, c in sorted(failed.items())}


def twin_stats(table: pa.Table, judged: bool) -> dict[str, object]:
    """Statistics of the twins table: acceptance, in all and by check, attempts, likeness.

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
        return round(math.fsum(r[column] for r in good) / len(good), 4) if good else 0.0

    written = [set(r["failed"]) for r in rows if not math.isnan(r["length_ratio"])]
    asked = [failed for failed in written if failed <= {ENTAILMENT}] if judged else []
    passing = {
        f"twins that pass {name}, share": round(sum(name not in f for f in of) / len(of), 4)
        for names, of in ((CHECKS, written), ((ENTAILMENT,), asked))
        for name in names
        if of
    }
    return {
        "twins": len(good),
        "twins accepted, share": round(len(good) / len(rows), 4),
        **passing,
        "twins: attempts, mean": mean("attempts"),
        "twins: length ratio, mean": mean("length_ratio"),
        "twins: edit similarity, mean": mean("edit_similarity"),
        "twins: n-gram overlap, mean": mean("ngram_overlap"),
    }
