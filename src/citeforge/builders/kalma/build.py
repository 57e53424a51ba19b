"""``build kalma``: from a graph, or from BioKaLMA's published files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from citeforge.builders.kalma.check import ExtensionCheck
from citeforge.builders.kalma.contexts import KalmaQuestion
from citeforge.builders.kalma.evolve import Evolution, Evolver
from citeforge.builders.kalma.package import write_tables
from citeforge.builders.kalma.published import read_published
from citeforge.builders.kalma.retrieved import retrieve_graphs
from citeforge.builders.kalma.selection import Selected, disambiguate, from_graph, read_stated
from citeforge.builders.kalma.tasks import prompt_hashes, template_writer_templates
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.stages.build import Stats, building
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.folders import beside
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.writers import make_llm
from citeforge.engines.models.perplexity.records import Perplexity, make_perplexity, perplexity_name
from citeforge.engines.plugins import warn
from citeforge.engines.setup import client_options, judge_session, replay_store
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.kg.domain import Domain, load_domain
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.setup import open_graph
from citeforge.schemas.benchmarks.manifest import ContextSet, GrammarInfo, Manifest
from citeforge.schemas.benchmarks.sources import SourceInfo
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import model_name
from citeforge.schemas.recipes.records import KalmaRecipe, RunOptions

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
        return _build_published(recipe, run)
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

    models: dict[str, dict[str, Any]] = {"writer": writer.identity()}
    models["perplexity"] = {"name": perplexity_name(recipe.perplexity)}
    if judge is not None:
        models["judge of sentences"] = judge.judge.identity()
    check = ExtensionCheck(kg.domain, SentenceSegmenter(), judge)
    evolver = Evolver(kg, writer, perplexity or measure, check, recipe.choices)
    with building(recipe, run) as build:
        source = graph_source(kg, recipe.licence)
        config = _config(recipe, kg, models, check)
        draft = build.draft(config, [source], recipe.licence, models, _GRAMMAR)
        if (finished := build.finished(draft)) is not None:
            return finished
        selected = _select(recipe, kg)
        evolutions = evolver.evolve(selected.pairs)
        package = build.package()
        usable = _usable_evolutions(recipe, evolutions, evolver)
        questions = [_question(e) for e in usable]
        stats, contexts, retrieved = _write(package, recipe, kg.domain, questions, usable, kg)
        counts = _counts(kg, selected, evolutions, evolver)
        counts |= retrieved | _wordless(kg, evolver, len(usable))
        if evolver.perplexity is not None:
            models = models | {"perplexity": evolver.perplexity.identity()}
        return build.finish(draft, package, stats, contexts=contexts, counts=counts, models=models)


def _config(
    recipe: KalmaRecipe,
    kg: KnowledgeGraph,
    models: dict[str, dict[str, Any]],
    check: ExtensionCheck,
) -> dict[str, Any]:
    """``config`` of the manifest."""
    judge = model_name(models, "judge of sentences")
    update = {
        "kg": _spec_of(graph_source(kg, None)),
        "domain": kg.domain.model_dump(mode="json"),
        "languages": kg.languages,
        "pairs": recipe.pairs and Path(recipe.pairs.name),
        "writer": model_name(models, "writer"),
        "perplexity": model_name(models, "perplexity"),
        "judging": recipe.judging.model_copy(update={"judge": judge}),
    }
    return recipe.model_copy(update=update).recorded(
        pairs_sha256=None if recipe.pairs is None else sha256_file(recipe.pairs),
        prompts=prompt_hashes(),
        checked_by=check.checked_by,
    )


def _select(recipe: KalmaRecipe, kg: KnowledgeGraph) -> Selected:
    """The pairs that questions grow from.

    Raises:
        InputError: none is left.
    """
    if recipe.pairs is None:
        return from_graph(kg, recipe.kg, recipe.pairs_from_kg, recipe.limit, recipe.seed)
    selected = disambiguate(kg, read_stated(recipe.pairs))
    if recipe.limit is not None:
        selected.pairs = selected.pairs[: recipe.limit]
    if not selected.pairs:
        reasons = "; ".join(f"{what}: {n}" for what, n in selected.counts.items())
        raise InputError(f"no pair is left ({reasons})", path=recipe.pairs)
    return selected


def _dropped(evolutions: Sequence[Evolution]) -> Counter[str]:
    return Counter(e.dropped for e in evolutions if e.dropped)


def _usable_evolutions(
    recipe: KalmaRecipe, evolutions: Sequence[Evolution], evolver: Evolver
) -> list[Evolution]:
    """Evolutions that became questions.

    Raises:
        InputError: none did.
    """
    usable = [e for e in evolutions if not e.dropped]
    if usable:
        return usable
    reasons = "; ".join(f"{what}: {n}" for what, n in _dropped(evolutions).items())
    refused = ", ".join(f"{why} ({n})" for why, n in evolver.asker.refused.most_common(3))
    raise InputError(
        f"no question is left ({reasons}" + (f"; replies refused: {refused})" if refused else ")"),
        path=recipe.pairs or recipe.kg,
        allowed="a writer that does what it is asked, more --attempts, or --stand-in",
    )


def _write(
    writer: PackageWriter,
    recipe: KalmaRecipe,
    domain: Domain,
    questions: Sequence[KalmaQuestion],
    evolutions: Sequence[Evolution],
    kg: KnowledgeGraph | None,
) -> tuple[Stats, dict[str, ContextSet], dict[str, int]]:
    """Write all tables; statistics, contexts, and counts of what the baseline's retrieval finds,
    where the recipe asks for it."""
    retrieved = None
    if recipe.retrieved and kg is not None:
        retrieved = retrieve_graphs(kg, questions, recipe.ner)
    stats_contexts = write_tables(writer, questions, evolutions, domain, recipe.seed, retrieved)
    return *stats_contexts, {} if retrieved is None else retrieved.counts


def _counts(
    kg: KnowledgeGraph, selected: Selected, evolutions: Sequence[Evolution], evolver: Evolver
) -> dict[str, int]:
    asker = evolver.asker
    counts = {"pairs selected": len(selected.pairs), **selected.counts, **kg.counts}
    counts |= {f"pairs dropped: {what}": n for what, n in _dropped(evolutions).items()}
    counts |= {f"replies refused: {what}": n for what, n in sorted(asker.refused.items())}
    return counts | {
        f"texts of the template in the writer's place: {task}": n
        for task, n in sorted(asker.stood_in.items())
    }


def _wordless(kg: KnowledgeGraph, evolver: Evolver, n_kept: int) -> dict[str, int]:
    """What the template writer had no words for, counted and told."""
    name = kg.domain.name
    if not evolver.asker.is_template:
        return {}
    if kg.domain.questions is None:
        warn(
            f"the domain {name!r} has no words for questions: all {2 * n_kept:,} ask for "
            "relations by their labels; citeforge kg profile helps to write some"
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
    pair = e.pair
    graphs = (pair.first, pair.second)
    metadata = {
        "entities": [g.qid for g in graphs],
        "names": [g.name for g in graphs],
        "relation": pair.link.relation,
    }
    return KalmaQuestion(pair.id, graphs, tuple(e.gold), e.specific, e.general, metadata)


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


def _build_published(recipe: KalmaRecipe, run: RunOptions) -> Manifest:
    """BioKaLMA's own questions and sub-graphs, without rounds."""
    with building(recipe, run) as build:
        scheme, _, argument = (recipe.source or "").partition(":")
        if scheme != "kalma" or not argument:
            raise UsageError(f"--source {recipe.source!r}: expected kalma:PATH")
        questions, source = read_published(
            Path(argument), recipe.general, recipe.gold, recipe.limit, recipe.gold_later
        )
        domain, kg = load_domain(recipe.domain), None
        update: dict[str, Any] = {
            field: path and Path(path.name)
            for field in ("general", "gold", "gold_later")
            for path in (getattr(recipe, field),)
        }
        if str(recipe.domain).endswith((".yaml", ".yml")):
            update["domain"] = domain.model_dump(mode="json")
        sources, licence = [source], recipe.licence or source.licence
        if recipe.retrieved:
            kg = open_graph(recipe.kg, recipe.domain, recipe.languages, run)
            sources.append(graph_source(kg, None))
            update["kg"] = _spec_of(sources[-1])
        config = recipe.model_copy(update=update).recorded()
        draft = build.draft(config, sources, licence, {}, _GRAMMAR)
        if (finished := build.finished(draft)) is not None:
            return finished
        writer = build.package()
        stats, contexts, retrieved = _write(writer, recipe, domain, questions, [], kg)
        counts = source.counts | retrieved
        return build.finish(draft, writer, stats, contexts=contexts, counts=counts)
