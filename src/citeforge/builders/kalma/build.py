"""``build kalma``: from a graph, or from BioKaLMA's published files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citeforge import __version__
from citeforge.builders.kalma.check import ExtensionCheck
from citeforge.builders.kalma.contexts import Entry
from citeforge.builders.kalma.evolve import Choices, Evolution, Evolver
from citeforge.builders.kalma.package import Question, write_package
from citeforge.builders.kalma.published import Published
from citeforge.builders.kalma.selection import (
    Selected,
    disambiguate,
    from_graph,
    read_stated,
)
from citeforge.builders.kalma.tasks import prompt_hashes
from citeforge.builders.recipe import package_name
from citeforge.builders.workspace import IfExists, Workspace
from citeforge.engines.files import sha256_file
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Llm
from citeforge.engines.perplexity.records import Perplexity
from citeforge.engines.segment import SpacySegmenter
from citeforge.kg.domain import Domain
from citeforge.kg.graph import KnowledgeGraph
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import GrammarInfo, Manifest
from citeforge.schemas.sources import SourceInfo


@dataclass(frozen=True)
class KalmaOptions:
    """How a benchmark is made.

    Attributes:
        out: folder of the package.
        pairs: file of paragraphs with relation triples.
        relations: relations whose connected pairs are taken from the graph.
        limit: pairs at most.
        choices: how questions evolve.
        seed: seed of all draws.
        if_exists: what to do when something is there.
        name: name of the benchmark; None for the folder's.
        licence: licence of the graph's facts.
        perplexity: name of what measures perplexity; None when the caller does not tell.
    """

    out: Path
    pairs: Path | None = None
    relations: tuple[str, ...] = ()
    limit: int | None = None
    choices: Choices = field(default_factory=Choices)
    seed: int = 0
    if_exists: IfExists = "refuse"
    name: str | None = None
    licence: str | None = None
    perplexity: str | None = None


def build_kalma(
    options: KalmaOptions,
    kg: KnowledgeGraph,
    llm: Llm,
    make_perplexity: Callable[[list[str]], Perplexity],
    judge: JudgeSession | None = None,
) -> Manifest:
    """Select pairs, evolve questions, freeze contexts.

    Raises:
        InputError: the graph, the pairs file or the writer's store is at fault, or nothing is left.
        UsageError: neither a file nor relations.
    """
    if (options.pairs is None) == (not options.relations):
        raise UsageError("give --pairs FILE, or --pairs-from-kg RELATION,…")
    with Workspace(options.out, options.if_exists).building() as workspace:
        check = ExtensionCheck(kg.domain, SpacySegmenter(), judge)
        draft = _draft(options, kg, llm, judge, check)
        known = workspace.taken(draft)
        if known is not None:
            return known
        selected = _select(options, kg)
        evolver = Evolver(kg, llm, make_perplexity, check, options.choices)
        evolutions = evolver.evolve(selected.pairs)
        return _write(options, kg, selected, evolver, evolutions, draft, workspace)


def _draft(
    options: KalmaOptions,
    kg: KnowledgeGraph,
    llm: Llm,
    judge: JudgeSession | None,
    check: ExtensionCheck,
) -> Manifest:
    """All of the manifest that is known before the tables are made."""
    models: dict[str, dict[str, Any]] = {"writer": llm.identity()}
    if options.perplexity is not None:
        models["perplexity"] = {"name": options.perplexity}
    if judge is not None:
        models["judge of sentences"] = judge.judge.identity()
    config: dict[str, Any] = {
        "pairs": None if options.pairs is None else options.pairs.name,
        "pairs_sha256": None if options.pairs is None else sha256_file(options.pairs),
        "pairs_from_kg": list(options.relations),
        "limit": options.limit,
        "seed": options.seed,
        "choices": options.choices.__dict__,
        "domain": kg.domain.model_dump(mode="json"),
        "prompts": prompt_hashes(),
        "languages": list(kg.languages),
        "checked_by": check.checked_by,
    }
    source = graph_source(kg, options.licence)
    return _manifest(options, config, models, source, options.licence)


def _manifest(
    options: KalmaOptions,
    config: dict[str, Any],
    models: dict[str, dict[str, Any]],
    source: SourceInfo,
    licence: str | None,
) -> Manifest:
    return Manifest(
        kind="kalma",
        name=package_name(options.name, options.out),
        citeforge=__version__,
        licence=licence,
        sources=[source],
        config=config,
        models=models,
        grammar=GrammarInfo(name="triples-1", form="[QID, relation: value]"),
        contexts={},
    )


def _select(options: KalmaOptions, kg: KnowledgeGraph) -> Selected:
    if options.pairs is None:
        return from_graph(kg, options.relations, options.limit, options.seed)
    selected = disambiguate(kg, read_stated(options.pairs))
    if options.limit is not None:
        selected.pairs = selected.pairs[: options.limit]
    if not selected.pairs:
        reasons = "; ".join(f"{what}: {n}" for what, n in selected.counts.items())
        raise InputError(f"no pair is left ({reasons})", path=options.pairs)
    return selected


def _write(
    options: KalmaOptions,
    kg: KnowledgeGraph,
    selected: Selected,
    evolver: Evolver,
    evolutions: list[Evolution],
    draft: Manifest,
    workspace: Workspace,
) -> Manifest:
    kept = [e for e in evolutions if not e.dropped]
    dropped = Counter(e.dropped for e in evolutions if e.dropped)
    if not kept:
        reasons = "; ".join(f"{what}: {n}" for what, n in dropped.items())
        raise InputError(f"no question is left ({reasons})", path=options.out)
    questions = [
        Question(
            e.specific,
            e.general,
            {
                "entities": [e.pair.first.qid, e.pair.second.qid],
                "names": [e.pair.first.name, e.pair.second.name],
                "relation": e.pair.link.relation,
            },
        )
        for e in kept
    ]
    entries = [
        Entry(e.pair.id, (e.pair.first, e.pair.second), tuple(t for t, _ in e.gold)) for e in kept
    ]
    models = dict(draft.models)
    if evolver.perplexity is not None:
        models["perplexity"] = evolver.perplexity.identity()
    counts = {"pairs selected": len(selected.pairs), **selected.counts, **kg.counts}
    counts |= {f"pairs dropped: {what}": n for what, n in dropped.items()}
    counts |= {f"replies refused: {what}": n for what, n in sorted(evolver.refused.items())}
    return write_package(
        workspace,
        questions,
        entries,
        [e.gold for e in kept],
        kept,
        kg.domain,
        draft.model_copy(update={"models": models}),
        counts,
    )


def graph_source(kg: KnowledgeGraph, licence: str | None) -> SourceInfo:
    """The graph as a source of the manifest."""
    identity = kg.identity()
    files = {identity["file"]: identity["sha256"]} if "file" in identity else {}
    spec = identity.get("endpoint") or identity.get("file", "graph")
    return SourceInfo(kind="kg", spec=f"kg:{spec}", licence=licence, files=files)


def build_published(options: KalmaOptions, found: Published, domain: Domain) -> Manifest:
    """A benchmark of BioKaLMA's own files: their questions and sub-graphs, no rounds.

    Raises:
        InputError: the output folder is at fault.
    """
    with Workspace(options.out, options.if_exists).building() as workspace:
        config = {**found.config, "seed": options.seed, "limit": options.limit}
        licence = options.licence or found.source.licence
        draft = _manifest(options, config, {}, found.source, licence)
        known = workspace.taken(draft)
        if known is not None:
            return known
        counts = dict(found.source.counts)
        return write_package(
            workspace, found.questions, found.entries, found.gold, [], domain, draft, counts
        )
