"""``build kalma``: from a graph, or from BioKaLMA's published files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from citeforge.builders.kalma.check import ExtensionCheck
from citeforge.builders.kalma.contexts import QueryGraphs
from citeforge.builders.kalma.evolve import Evolution, Evolver
from citeforge.builders.kalma.package import KalmaQuestion, write_tables
from citeforge.builders.kalma.published import read_published
from citeforge.builders.kalma.retrieved import RetrievedGraphs, retrieve_graphs
from citeforge.builders.kalma.selection import (
    Selected,
    disambiguate,
    from_graph,
    read_stated,
)
from citeforge.builders.kalma.tasks import prompt_hashes, template_writer_templates
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.stages.skeleton import Build, Stats
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.folders import beside
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.writers import make_llm
from citeforge.engines.models.perplexity.records import Perplexity, make_perplexity, perplexity_name
from citeforge.engines.plugins import warn
from citeforge.engines.setup import client_options, judge_session, replay_store
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.kg.domain import load_domain
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.setup import open_graph
from citeforge.schemas.benchmarks.manifest import GrammarInfo, Manifest
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes import KalmaRecipe, RunOptions
from citeforge.schemas.recipes.base import model_name

_GRAMMAR = GrammarInfo(name="triples-1", form="[QID, relation: value]")


def build_kalma(
    recipe: KalmaRecipe,
    run: RunOptions,
    kg: KnowledgeGraph | None = None,
    llm: Llm | None = None,
    perplexity: Callable[[list[str]], Perplexity] | None = None,
    judge: JudgeSession | None = None,
) -> Manifest:
    """Select pairs, evolve questions, freeze contexts; or take BioKaLMA's own files.

    Args:
        recipe: everything that the tables depend on.
        run: where and how.
        kg: the graph; None for the recipe's, and so on.
        llm: the writer.
        perplexity: trains or opens what measures perplexity.
        judge: checks sentences.

    Raises:
        InputError: the graph, the pairs file or the writer's store is at fault, or nothing is left.
        UsageError: neither a file nor relations.
    """
    if recipe.source is not None:
        return _Published(recipe, run).make()
    if kg is None:
        kg = open_graph(recipe.kg, recipe.domain, recipe.languages, run)
    if (recipe.pairs is None) == (not recipe.pairs_from_kg):
        raise UsageError("give --pairs FILE, or --pairs-from-kg RELATION,…")
    store = replay_store(run, recipe.writer, recipe.perplexity) if llm is None else None
    if judge is None:
        judge = judge_session(recipe.judging, run, beside(run.folder, ".verdicts.db"), store)
    client = client_options(run)
    templates = template_writer_templates(kg.domain)
    writer = llm or make_llm(recipe.writer, store=store, options=client, templates=templates)

    def measure(texts: list[str]) -> Perplexity:
        return make_perplexity(
            recipe.perplexity, texts, device=run.device, options=client, store=store
        )

    return _Grown(recipe, run, kg, writer, perplexity or measure, judge).make()


class _Grown(Build[KalmaRecipe]):
    """Questions that grow from a graph."""

    def __init__(
        self,
        recipe: KalmaRecipe,
        run: RunOptions,
        kg: KnowledgeGraph,
        llm: Llm,
        perplexity: Callable[[list[str]], Perplexity],
        judge: JudgeSession | None,
    ) -> None:
        super().__init__(recipe, run)
        self.kg = kg
        self.models: dict[str, dict[str, Any]] = {"writer": llm.identity()}
        self.models["perplexity"] = {"name": perplexity_name(recipe.perplexity)}
        if judge is not None:
            self.models["judge of sentences"] = judge.judge.identity()
        self.check = ExtensionCheck(kg.domain, SentenceSegmenter(), judge)
        self.evolver = Evolver(kg, llm, perplexity, self.check, recipe.choices)

    def draft(self) -> Manifest:
        recipe, kg, models = self.recipe, self.kg, self.models
        source = graph_source(kg, recipe.licence)
        judging = recipe.judging.model_copy(
            update={"judge": model_name(models, "judge of sentences")}
        )
        told = recipe.model_copy(
            update={
                "kg": _spec_of(source),
                "domain": kg.domain.model_dump(mode="json"),
                "languages": kg.languages,
                "pairs": recipe.pairs and Path(recipe.pairs.name),
                "writer": model_name(models, "writer"),
                "perplexity": model_name(models, "perplexity"),
                "judging": judging,
            }
        )
        config = told.recorded(
            pairs_sha256=None if recipe.pairs is None else sha256_file(recipe.pairs),
            prompts=prompt_hashes(),
            checked_by=self.check.checked_by,
        )
        return self.manifest(config, [source], recipe.licence, models, _GRAMMAR)

    def stages(self) -> None:
        self.selected = self._select()
        self.evolutions = self.evolver.evolve(self.selected.pairs)

    def _select(self) -> Selected:
        recipe, kg = self.recipe, self.kg
        if recipe.pairs is None:
            return from_graph(kg, recipe.kg, recipe.pairs_from_kg, recipe.limit, recipe.seed)
        selected = disambiguate(kg, read_stated(recipe.pairs))
        if recipe.limit is not None:
            selected.pairs = selected.pairs[: recipe.limit]
        if not selected.pairs:
            reasons = "; ".join(f"{what}: {n}" for what, n in selected.counts.items())
            raise InputError(f"no pair is left ({reasons})", path=recipe.pairs)
        return selected

    def tables(self, writer: PackageWriter) -> Stats:
        evolver, selected = self.evolver, self.selected
        kept = [e for e in self.evolutions if not e.dropped]
        dropped = Counter(e.dropped for e in self.evolutions if e.dropped)
        if not kept:
            reasons = "; ".join(f"{what}: {n}" for what, n in dropped.items())
            refused = ", ".join(f"{why} ({n})" for why, n in evolver.asker.refused.most_common(3))
            raise InputError(
                f"no question is left ({reasons}"
                + (f"; replies refused: {refused})" if refused else ")"),
                path=self.recipe.pairs or self.recipe.kg,
                allowed="a writer that does what it is asked, more --attempts, or --stand-in",
            )
        questions = [_question(e) for e in kept]
        entries = [
            QueryGraphs(e.pair.id, (e.pair.first, e.pair.second), tuple(t for t, _ in e.gold))
            for e in kept
        ]
        retrieved = _retrieved(self.recipe, self.kg, questions, entries)
        gold, domain = [e.gold for e in kept], self.kg.domain
        stats, contexts = write_tables(
            writer, questions, entries, gold, kept, domain, self.recipe.seed, retrieved
        )
        counts = {"pairs selected": len(selected.pairs), **selected.counts, **self.kg.counts}
        counts |= {f"pairs dropped: {what}": n for what, n in dropped.items()}
        asker = evolver.asker
        counts |= {f"replies refused: {what}": n for what, n in sorted(asker.refused.items())}
        counts |= {
            f"texts of the template in the writer's place: {task}": n
            for task, n in sorted(asker.stood_in.items())
        }
        counts |= retrieved.counts if retrieved is not None else {}
        counts |= self._wordless(len(kept))
        self.found = {"contexts": contexts, "counts": counts}
        if evolver.perplexity is not None:
            self.found["models"] = self.models | {"perplexity": evolver.perplexity.identity()}
        return stats

    def _wordless(self, n_kept: int) -> dict[str, int]:
        """What the template writer had no words for, counted and told."""
        evolver, name = self.evolver, self.kg.domain.name
        if not evolver.asker.is_template:
            return {}
        if evolver.composer is None:
            warn(
                f"the domain {name!r} has no words for questions: all {2 * n_kept:,} read as "
                "forms; citeforge kg profile helps to write some"
            )
            return {"questions without words of the domain": 2 * n_kept}
        wordless = evolver.composer.wordless
        if not wordless:
            return {}
        listed = ", ".join(relation for relation, _ in wordless.most_common(5))
        warn(
            f"the domain {name!r} has no words for {len(wordless)} relations, asked for "
            f"{wordless.total():,} times ({listed}); citeforge kg profile helps to write some"
        )
        return {"facts asked for without words of the domain": wordless.total()}


def _question(e: Evolution) -> KalmaQuestion:
    return KalmaQuestion(
        e.specific,
        e.general,
        {
            "entities": [e.pair.first.qid, e.pair.second.qid],
            "names": [e.pair.first.name, e.pair.second.name],
            "relation": e.pair.link.relation,
        },
    )


def _retrieved(
    recipe: KalmaRecipe,
    kg: KnowledgeGraph,
    questions: Sequence[KalmaQuestion],
    entries: Sequence[QueryGraphs],
) -> RetrievedGraphs | None:
    """What the baseline's retrieval finds, where the recipe asks for it."""
    if not recipe.retrieved:
        return None
    return retrieve_graphs(kg, [q.specific for q in questions], entries, recipe.ner)


def graph_source(kg: KnowledgeGraph, licence: str | None) -> SourceInfo:
    """The graph as a source of the manifest."""
    identity = kg.identity()
    files = {identity["file"]: identity["sha256"]} if "file" in identity else {}
    spec = identity.get("endpoint") or identity.get("file", "graph")
    return SourceInfo(kind="kg", spec=f"kg:{spec}", licence=licence, files=files)


def _spec_of(graph: SourceInfo) -> str:
    """``--kg`` without folders."""
    spec = graph.spec.removeprefix("kg:")
    return f"{'sparql' if spec.startswith('http') else 'file'}:{spec}"


class _Published(Build[KalmaRecipe]):
    """BioKaLMA's own questions and sub-graphs, without rounds."""

    def draft(self) -> Manifest:
        recipe = self.recipe
        scheme, _, argument = (recipe.source or "").partition(":")
        if scheme != "kalma" or not argument:
            raise UsageError(f"--source {recipe.source!r}: expected kalma:PATH")
        self.published = read_published(
            Path(argument), recipe.general, recipe.gold, recipe.limit, recipe.gold_later
        )
        self.domain = load_domain(recipe.domain)
        told: dict[str, Any] = {
            field: path and Path(path.name)
            for field in ("general", "gold", "gold_later")
            for path in (getattr(recipe, field),)
        }
        if str(recipe.domain).endswith((".yaml", ".yml")):
            told["domain"] = self.domain.model_dump(mode="json")
        source = self.published.source
        sources, licence = [source], recipe.licence or source.licence
        if recipe.retrieved:
            self.kg = open_graph(recipe.kg, recipe.domain, recipe.languages, self.run)
            sources.append(graph_source(self.kg, None))
            told["kg"] = _spec_of(sources[-1])
        config = recipe.model_copy(update=told).recorded()
        return self.manifest(config, sources, licence, {}, _GRAMMAR)

    def tables(self, writer: PackageWriter) -> Stats:
        found = self.published
        recipe, retrieved = self.recipe, None
        if recipe.retrieved:
            retrieved = _retrieved(recipe, self.kg, found.questions, found.entries)
        stats, contexts = write_tables(
            writer, found.questions, found.entries, found.gold, [], self.domain, recipe.seed,
            retrieved,
        )  # fmt: skip
        counts = dict(found.source.counts) | (retrieved.counts if retrieved is not None else {})
        self.found = {"contexts": contexts, "counts": counts}
        return stats
