"""``build kalma``: from a graph, or from BioKaLMA's published files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from citeforge.builders.build import Build, Stats, open_build
from citeforge.builders.kalma.check import ExtensionCheck
from citeforge.builders.kalma.contexts import (
    RETRIEVED,
    KalmaQuestion,
    TripleContext,
    count_answers,
    find_equivalents,
    find_theme_answers,
    make_contexts,
    retrieve_graphs,
)
from citeforge.builders.kalma.evolve import Evolution, Evolver
from citeforge.builders.kalma.one_entity import draw_single_entities
from citeforge.builders.kalma.package import kalma_stats, question_variety, write_tables
from citeforge.builders.kalma.question_check import (
    LEAST,
    QuestionCheck,
    make_question_check,
    share_stats,
)
from citeforge.builders.kalma.question_controls import control_questions, error_stats
from citeforge.builders.kalma.question_nearest import resolve_embedder
from citeforge.builders.kalma.selection import SelectedPairs, disambiguate, from_graph, read_stated
from citeforge.builders.kalma.writer_requests import embedded_templates, prompt_hashes
from citeforge.engines.files import sha256_file
from citeforge.engines.llm.records import Llm
from citeforge.engines.llm.replay import replayed_note
from citeforge.engines.llm.writers import require_askable
from citeforge.engines.models.embedder import model_of
from citeforge.engines.models.perplexity import perplexity_name
from citeforge.engines.plugins import warn
from citeforge.engines.running.names import WRITERS, make_llm, make_perplexity
from citeforge.engines.running.setup import build_judge, replay_store, run_embedder
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.ir_convert.kalma import read_entries, read_gold
from citeforge.kg.classes import merge_classes
from citeforge.kg.domain import Domain, load_domain
from citeforge.kg.equivalence import Equivalence, read_equivalence
from citeforge.kg.graph import KnowledgeGraph, open_graph
from citeforge.kg.relabel import ENGLISH, relabel_domain
from citeforge.schemas.counts import count_key, describe_count
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.kg import EMPTY, Triple
from citeforge.schemas.manifest import GrammarInfo, Manifest
from citeforge.schemas.recipes.base import RunOptions, model_name
from citeforge.schemas.recipes.flags import list_flags
from citeforge.schemas.recipes.kalma import DOMAIN_FILE, NONE, KalmaRecipe
from citeforge.schemas.sources import GRAPH, SourceInfo

_GRAMMAR = GrammarInfo(name="triples-1", form="[QID, relation: value]")
LICENCE = "other"
"""S-Lab licence 1.0, non-commercial; it has no SPDX identifier."""


def build_kalma(recipe: KalmaRecipe, run: RunOptions, llm: Llm | None = None) -> Manifest:
    """Build a KaLMA package from a knowledge graph, or from BioKaLMA's published files.

    Args:
        recipe: everything that the tables depend on.
        run: where and how.
        llm: the writer; None for the recipe's.

    Raises:
        InputError: the graph, the pairs file or the writer's store is at fault, or nothing is left.
        UsageError: neither a file nor relations.
    """
    if recipe.source is not None:
        return _build_published(recipe, run)
    kg = open_graph(recipe.kg, recipe.domain, recipe.languages, run, recipe.skip_malformed)
    relabel_domain(kg)
    if (recipe.pairs is None) == (not recipe.pairs_from_kg):
        raise UsageError(
            "give either --pairs FILE or --pairs-from-kg RELATION,…",
            code="missing-option" if recipe.pairs is None else "conflicting-options",
        )
    named = (recipe.writer, recipe.perplexity, recipe.checker)
    store = replay_store(run, *named) if llm is None else None
    judge = build_judge(recipe.judging, run, store)
    templates = embedded_templates(kg.domain)
    writer = llm or make_llm(recipe.writer, WRITERS, store=store, options=run, templates=templates)
    perplexity = partial(
        make_perplexity, recipe.perplexity, device=run.device, options=run, store=store
    )
    models: dict[str, dict[str, Any]] = {"writer": writer.identity()}
    models["perplexity"] = {"name": perplexity_name(recipe.perplexity)}
    if judge is not None:
        models["judge of sentences"] = judge.judge.identity()
    words = merge_classes(kg.domain)
    check = ExtensionCheck(words, SentenceSegmenter(), judge)
    asks = make_question_check(words, recipe.checker, store, run)
    if asks.llm is not None:
        models["checker of questions"] = asks.llm.identity()
    evolver = Evolver(kg, writer, perplexity, check, recipe.choices, recipe.seed, asks)
    nearest = None if evolver.asker.is_template else resolve_embedder(recipe.nearest)
    with open_build(recipe, run) as build:
        if nearest is not None:
            embedder = run_embedder(nearest, run, option="--nearest")
            models["embedder of wordings"] = model_of(embedder.fingerprint())
            asks.compare_with(embedder, build.workspace.stage("embeddings"))
        source, spec = _describe_source(kg, recipe.licence)
        config = _config(recipe, kg, spec, models, check, asks)
        draft = build.draft(config, [source], recipe.licence, models, _GRAMMAR)
        if (finished := build.finished(draft)) is not None:
            return finished
        require_askable(writer, None if evolver.asker.is_template else asks.llm)
        selected = select_pairs(recipe, kg)
        equivalence = read_equivalence(kg, (g for p in selected.pairs for g in p.graphs))
        evolutions = evolver.evolve(selected.pairs, equivalence)
        dropped = Counter(e.dropped for e in evolutions if e.dropped)
        usable = [e for e in evolutions if not e.dropped]
        if not usable:
            raise _no_questions_error(dropped, evolver.asker.refused, writer)
        questions = [_make_question(e) for e in usable]
        contexts, retrieved = _all_contexts(recipe, questions, equivalence, kg)
        counts = {"pairs_selected": len(selected.pairs), **selected.counts, **kg.all_counts()}
        refused = sorted(evolver.asker.refused.items())
        stood_in = sorted(evolver.asker.stood_in.items())
        counts |= dropped
        counts |= {count_key("replies_refused", *reason): n for reason, n in refused}
        counts |= {count_key("texts_by_the_template", task): n for task, n in stood_in}
        counts |= retrieved | _count_unphrased(evolver, usable)
        if evolver.perplexity is not None:
            models = models | {"perplexity": evolver.perplexity.identity()}
        shares: Stats = {}
        if not evolver.asker.is_template:
            shares = check_stats(asks, usable) | _template_variety(usable)
        if asks.nearest is not None and asks.nearest.n_near:
            counts["clauses_read_by_nearest_wording"] = asks.nearest.n_near
        if asks.failed:
            counts["questions_not_checked"] = asks.failed
        return _write_package(
            build, draft, questions, usable, contexts, equivalence, kg.domain, shares,
            counts=counts, models=models, computed=kg.retrieval(),
        )  # fmt: skip


def check_stats(question_check: QuestionCheck, evolutions: Sequence[Evolution]) -> Stats:
    """Compute the shares of gold facts that questions ask for, and the check's error rates."""
    forms = {form: [e.to_check(form, getattr(e, form)) for e in evolutions] for form in LEAST}
    controls = control_questions(question_check.domain, ((e.pair, e.facts) for e in evolutions))
    return {**share_stats(question_check, forms), **error_stats(question_check, controls)}


def _template_variety(evolutions: Sequence[Evolution]) -> Stats:
    """Measure how varied (openers, repeated words) the template's questions on these facts are."""
    questions = [
        replace(_make_question(e), specific=e.plan.specific, general=e.plan.general)
        for e in evolutions
        if e.plan is not None
    ]
    return question_variety(questions, " of the template")


def _all_contexts(
    recipe: KalmaRecipe, questions: Sequence[KalmaQuestion], equivalence: Equivalence,
    kg: KnowledgeGraph | None,
) -> tuple[dict[str, TripleContext], dict[str, int]]:  # fmt: skip
    """Make (all context sets by name, counts of the set ``retrieved``, if it is made)."""
    contexts = make_contexts(questions, equivalence, recipe.seed)
    counts: dict[str, int] = {}
    if recipe.retrieved and kg is not None:
        contexts[RETRIEVED], counts = retrieve_graphs(kg, questions, recipe.ner)
    return contexts, counts


def _write_package(
    build: Build, draft: Manifest, questions: Sequence[KalmaQuestion],
    evolutions: Sequence[Evolution], contexts: Mapping[str, TripleContext],
    equivalence: Equivalence, domain: Domain, further_stats: Mapping[str, object], **learnt: Any,
) -> Manifest:  # fmt: skip
    """Write the tables, statistics and manifest of a KaLMA package."""
    writer = build.package()
    equivalents = find_equivalents(questions, contexts, equivalence)
    if evolutions:  # what published questions ask for is not known by theme
        answers = [find_theme_answers(domain, q, equivalents[q.query_id]) for q in questions]
        questions = [replace(q, answers=tuple(t)) for q, t in zip(questions, answers, strict=True)]
    sets = write_tables(writer, questions, evolutions, contexts, equivalents)
    counted = count_answers(questions, equivalents, equivalence, domain)
    stats = kalma_stats(questions, {**counted, **further_stats})
    return build.finish(draft, writer, stats, contexts=sets, **learnt)


def _config(
    recipe: KalmaRecipe,
    kg: KnowledgeGraph,
    graph_spec: str,
    models: dict[str, dict[str, Any]],
    extension_check: ExtensionCheck,
    question_check: QuestionCheck,
) -> dict[str, Any]:
    """Make the manifest's ``config``: the recipe, with names of models and hashes of inputs."""
    judge = model_name(models, "judge of sentences")
    update = {
        "kg": graph_spec,
        "domain": kg.domain.model_dump(mode="json"),
        "languages": kg.languages,
        "pairs": recipe.pairs and Path(recipe.pairs.name),
        "writer": model_name(models, "writer"),
        "perplexity": model_name(models, "perplexity"),
        "judging": recipe.judging.model_copy(update={"judge": judge}),
        "nearest": NONE
        if question_check.nearest is None
        else question_check.nearest.embedder.fingerprint()["name"],
        "checker": recipe.checker
        if question_check.llm is None
        else question_check.llm.identity()["name"],
    }
    return recipe.model_copy(update=update).recorded(
        pairs_sha256=None if recipe.pairs is None else sha256_file(recipe.pairs),
        prompts=prompt_hashes(),
        **_domain_file(recipe),
        checked_by=extension_check.checked_by,
        questions_checked_by=question_check.checked_by,
    )


def _domain_file(recipe: KalmaRecipe) -> dict[str, dict[str, str]]:
    """Describe the file of the domain for ``config``, by name and sha256; empty without a file."""
    if not isinstance(recipe.domain, str) or not recipe.domain.endswith((".yaml", ".yml")):
        return {}
    path = Path(recipe.domain)
    return {DOMAIN_FILE: {"name": path.name, "sha256": sha256_file(path)}}


def select_pairs(recipe: KalmaRecipe, kg: KnowledgeGraph) -> SelectedPairs:
    """Select the pairs of entities that questions are about, from a file or from the graph.

    Raises:
        InputError: none is left.
    """
    if recipe.pairs is None:
        selected = from_graph(
            kg, recipe.kg, recipe.pairs_from_kg, recipe.limit, recipe.seed, recipe.keep_impossible
        )
        if recipe.one_entity:
            drawn = draw_single_entities(kg.domain, selected.pairs, recipe.one_entity, recipe.seed)
            selected.pairs = drawn.pairs
            selected.counts["pairs_asked_about_one_entity"] = drawn.n_single
        return selected
    if recipe.one_entity:
        raise UsageError(
            "--one-entity is for --pairs-from-kg: paragraphs of --pairs are about two entities",
            code="conflicting-options",
        )
    selected = disambiguate(kg, read_stated(recipe.pairs), recipe.keep_impossible)
    if recipe.limit is not None:
        selected.pairs = selected.pairs[: recipe.limit]
    if not selected.pairs:
        reasons = "; ".join(f"{describe_count(k)}: {n}" for k, n in selected.counts.items())
        raise InputError(f"no pair is left ({reasons})", path=recipe.pairs, code="no-pairs")
    return selected


def _no_questions_error(
    dropped: Counter[str], refused: Counter[tuple[str, str]], writer: Llm
) -> InputError:
    """Make the error of a build without a question, from counts of pairs and replies refused."""
    reasons = "; ".join(f"{describe_count(key)}: {n}" for key, n in dropped.items())
    replies = ", ".join(f"{': '.join(why)} ({n})" for why, n in refused.most_common(3))
    return InputError(
        f"no question is left ({reasons}" + (f"; replies refused: {replies})" if replies else ")"),
        allowed="a writer that follows the prompts, more --attempts, --stand-in, or a lower "
        "--min-facts" + replayed_note(writer),
        code="no-queries",
    )


def _count_unphrased(evolver: Evolver, evolutions: Sequence[Evolution]) -> dict[str, int]:
    """Count, and warn of, relations without question words; empty if an LLM words questions."""
    if not evolver.asker.is_template:
        return {}
    kg, counts = evolver.kg, dict[str, int]()
    domain = merge_classes(kg.domain)
    relations = (t.relation for e in evolutions for t in e.further_facts)
    wordless = Counter(r for r in relations if domain.phrasing.phrase(r) is None)
    if wordless:
        listed = ", ".join(relation for relation, _ in wordless.most_common(5))
        warn(
            f"the domain {domain.name!r} has no words for {len(wordless)} relations, asked for "
            f"{wordless.total():,} times ({listed}); citeforge kg profile helps to write some"
        )
        counts["facts_without_words"] = wordless.total()
    if kg.languages[0] != ENGLISH and kg.domain.questions is not None:
        shown = Counter(t.relation for e in evolutions for t in e.pair.pool)
        unknown = [
            f"{relation} ({n:,})"
            for relation, n in shown.most_common()
            if relation not in domain.uninformative and domain.phrasing.phrase(relation) is None
        ]
        if unknown:
            warn(
                f"the domain {domain.name!r} has no words for {len(unknown)} relations with labels "
                f"in {kg.languages[0]}, which questions seldom ask for: "
                f"{', '.join(unknown[:5])}; add them by id or by English label"
            )
            counts["relations_without_words"] = len(unknown)
    return counts


def _make_question(evolution: Evolution) -> KalmaQuestion:
    """Make a query of the package from a pair of entities whose two questions are written."""
    graphs = evolution.pair.graphs
    metadata = {
        "entities": [g.qid for g in graphs],
        "names": [g.name for g in graphs],
        **({} if evolution.pair.link is None else {"relation": evolution.pair.link.relation}),
    }
    return KalmaQuestion(
        evolution.pair.id,
        graphs,
        tuple(evolution.gold),
        evolution.specific,
        evolution.general,
        metadata,
    )


def _describe_source(kg: KnowledgeGraph, licence: str | None) -> tuple[SourceInfo, str]:
    """Describe the graph: (source for the manifest, value of ``--kg`` without folders)."""
    identity = kg.identity()
    files = {identity["file"]: identity["sha256"]} if "file" in identity else {}
    spec = identity.get("endpoint") or identity.get("file", "graph")
    source = SourceInfo(kind=GRAPH, spec=f"kg:{spec}", licence=licence, files=files)
    return source, f"{'sparql' if spec.startswith('http') else 'file'}:{spec}"


def _build_published(recipe: KalmaRecipe, run: RunOptions) -> Manifest:
    """Build a package of BioKaLMA's published questions and sub-graphs; no LLM writes anything."""
    _refuse_without_effect(recipe)
    with open_build(recipe, run) as build:
        scheme, _, argument = (recipe.source or "").partition(":")
        if scheme != "kalma" or not argument:
            raise UsageError(f"--source {recipe.source!r}: expected kalma:PATH", code="bad-option")
        questions, source = _read_published(Path(argument), recipe)
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
            kg = open_graph(recipe.kg, recipe.domain, recipe.languages, run, recipe.skip_malformed)
            graph, update["kg"] = _describe_source(kg, None)
            sources.append(graph)
        config = recipe.model_copy(update=update).recorded(**_domain_file(recipe))
        draft = build.draft(config, sources, licence, {}, _GRAMMAR)
        if (finished := build.finished(draft)) is not None:
            return finished
        equivalence = Equivalence(domain, graphs=(g for q in questions for g in q.graphs))
        contexts, retrieved = _all_contexts(recipe, questions, equivalence, kg)
        counts = source.counts | retrieved | ({} if kg is None else kg.all_counts())
        return _write_package(
            build, draft, questions, [], contexts, equivalence, domain, {},
            counts=counts, computed={} if kg is None else kg.retrieval(),
        )  # fmt: skip


_FOR_NEW_QUESTIONS = frozenset(
    "pairs pairs_from_kg one_entity keep_impossible writer perplexity judging checker nearest "
    "choices".split()
)
"""Settings of questions that a build makes itself."""


def _refuse_without_effect(recipe: KalmaRecipe) -> None:
    """Raise an error for options on making questions if published questions are used."""
    given = [
        flag.name
        for flag in list_flags(type(recipe))
        if flag.field_path[0] in _FOR_NEW_QUESTIONS and flag.read_from(recipe) != flag.field.default
    ]
    if given:
        raise UsageError(
            f"{', '.join(given)}: for questions made from a graph; those of --source are taken as "
            "they are",
            code="option-without-effect",
        )


def _read_published(
    specific_path: Path, recipe: KalmaRecipe
) -> tuple[list[KalmaQuestion], SourceInfo]:
    """Read BioKaLMA's questions with their sub-graphs and gold, and describe their files.

    Raises:
        InputError: another layout, files of unequal length, or sets that do not fit together.
        UsageError: gold of later rounds without that of all.
    """
    general, gold, later = recipe.general, recipe.gold, recipe.gold_later
    if later is not None and gold is None:
        raise UsageError(
            "--gold-later requires --gold, the sets of all rounds", code="missing-option"
        )
    items = read_entries(specific_path)
    others = [i.question for i in read_entries(general)] if general else [""] * len(items)
    sets = read_gold(gold, later) if gold else [[] for _ in items]
    for path, n in ((general, len(others)), (gold, len(sets))):
        if n != len(items):
            raise InputError(
                f"has {n} entries and {specific_path.name} has {len(items)}",
                path=path,
                code="wrong-value",
            )
    files = {p.name: sha256_file(p) for p in (specific_path, general, gold, later) if p is not None}
    source = SourceInfo(
        spec=f"kalma:{specific_path}",
        kind="kalma",
        licence=LICENCE,
        files=files,
        counts={"empty_values": sum(i.n_empty for i in items)},
    )
    questions = []
    n_unknown = 0
    rows = zip(items[: recipe.limit], others, sets, strict=False)
    for number, (item, general_text, facts) in enumerate(rows, 1):
        names = {g.qid: g.name for g in item.graphs}
        triples = {t.key: t for g in item.graphs for t in g.triples}
        gold_facts = []
        for fact in facts:
            own = triples.get(fact.key)
            n_unknown += own is None
            name = names.get(fact.qid, fact.qid)
            unknown = Triple(fact.qid, name, "", fact.relation, fact.value)
            gold_facts.append((own or unknown, fact.round))
        metadata = {
            "entities": [g.qid for g in item.graphs],
            "names": [g.name for g in item.graphs],
            **({EMPTY: item.empty} if item.empty else {}),
        }
        questions.append(
            KalmaQuestion(
                f"e{number:04d}", item.graphs, tuple(gold_facts), item.question, general_text,
                metadata,
            )
        )  # fmt: skip
    if n_unknown:
        source.counts["gold_facts_of_no_graph"] = n_unknown
    return questions, source
