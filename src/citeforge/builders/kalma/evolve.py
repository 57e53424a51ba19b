"""Rounds: annotate the seed, then add the best fact of the plan each time (KaLMA, appendix A.3)."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from citeforge.builders.kalma import check
from citeforge.builders.kalma.mentions import annotate, contains_value, marker, renderings
from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.builders.kalma.selection import EntityPair
from citeforge.builders.kalma.themes import NoPlan, Plan, Planner
from citeforge.builders.kalma.writer_requests import Asker, Replies, check_each, refusal_kind
from citeforge.engines.llm.records import Llm
from citeforge.engines.models.perplexity import Perplexity
from citeforge.engines.progress import progress
from citeforge.kg.classes import merge_classes
from citeforge.kg.equivalence import Equivalence
from citeforge.kg.graph import KnowledgeGraph
from citeforge.schemas.counts import count_key
from citeforge.schemas.kg import Graph, Triple, relation_key
from citeforge.schemas.recipes.kalma import Choices

TRIPLES_PER_ROUND = 5
"""Triples that a round tries before it gives up."""
_KEPT_CANDIDATES = 10
"""Candidates of every round that the package keeps."""


@dataclass(frozen=True)
class ScoredTriple:
    """A candidate of a round.

    Attributes:
        triple: what may be added.
        score: α · specificity + (1 − α) · coherence.
        specificity: log(2N / Count_r).
        coherence: softmax over the round's candidates of 1 / perplexity.
        perplexity: of paragraph and verbalised triple.
    """

    triple: Triple
    score: float
    specificity: float
    coherence: float
    perplexity: float


class Specificity:
    """Rarity of relations in the data set's graphs; rare relations score higher."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        """Count in how many distinct graphs each relation occurs."""
        distinct = {g.qid: g for g in graphs}
        self.n_graphs = len(distinct)
        self.counts = Counter(
            name
            for g in distinct.values()
            for name in {relation_key(t.relation) for t in g.triples}
        )

    def compute(self, relation: str) -> float:
        """Compute a relation's rarity: log(2 · number of graphs / graphs with the relation)."""
        return math.log(2 * self.n_graphs / max(self.counts[relation_key(relation)], 1))


def rank_triples(
    triples: Sequence[Triple], perplexities: Sequence[float], specificity: Specificity, alpha: float
) -> list[ScoredTriple]:
    """Rank triples by alpha · specificity + (1 − alpha) · coherence, best first.

    Ties are ordered by id, relation and value.
    """
    inverse = [1.0 / p if p > 0 else 0.0 for p in perplexities]
    top = max(inverse, default=0.0)
    powers = [math.exp(i - top) for i in inverse]
    total = math.fsum(powers)
    scored = []
    for triple, perplexity, power in zip(triples, perplexities, powers, strict=True):
        rare, coherent = specificity.compute(triple.relation), power / total
        score = alpha * rare + (1 - alpha) * coherent
        # Rounded where the last bits of a perplexity may depend on the machine's libraries.
        scored.append(
            ScoredTriple(
                triple, round(score, 9), round(rare, 9), round(coherent, 9), round(perplexity, 6)
            )
        )
    return sorted(scored, key=lambda s: (-s.score, s.triple.key, s.triple.value_id))


@dataclass(frozen=True)
class Round:
    """Record of a round: the triples that it added, its candidates, refused replies.

    Attributes:
        number: from 1.
        paragraph: text with citations, after the round.
        triples: what it added.
        candidates: best first; none in round 1.
        refused: replies that failed a check, each with the reason.
    """

    number: int
    paragraph: str
    triples: tuple[Triple, ...]
    candidates: tuple[ScoredTriple, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass
class Evolution:
    """State of one entity pair while its paragraph and its two questions are written.

    Attributes:
        pair: the two entities.
        seed: sentence that the rounds start from; empty until it is written.
        plan: facts that the questions ask for; None until they are chosen.
        rounds: finished rounds.
        general: the general question.
        specific: the specific one.
        dropped: key of the count of pairs dropped for this reason; empty if it was not.
    """

    pair: EntityPair
    seed: str
    plan: Plan | None = None
    rounds: list[Round] = field(default_factory=list)
    general: str = ""
    specific: str = ""
    dropped: str = ""

    @property
    def paragraph(self) -> str:
        """Paragraph on the entity pair after the last round of evolution, with citations."""
        return self.rounds[-1].paragraph

    @property
    def gold(self) -> list[tuple[Triple, int]]:
        """Minimum knowledge set: each triple that a round of evolution added, and the round."""
        return [(t, r.number) for r in self.rounds for t in r.triples]

    @property
    def facts(self) -> tuple[Triple, ...]:
        """Gold facts (triples) in the order of evolution's rounds, the link included if gold."""
        stated = self.pair.stated
        return tuple(stated if t.key == stated.key else t for t, _ in self.gold)

    @property
    def further_facts(self) -> list[Triple]:
        """Gold facts except the link between the two entities."""
        return [t for t in self.facts if t != self.pair.link]

    def to_check(self, form: str, question: str) -> QuestionToCheck:
        """Pair a question of a ``form`` (general or specific) with facts it should ask for."""
        return QuestionToCheck(question, self.facts, self.pair.pool, self.pair.link, form)

    @property
    def remaining_facts(self) -> list[Triple]:
        """Planned gold facts that no round of evolution has added to the paragraph yet."""
        gold = {triple for triple, _ in self.gold}
        return [t for t in self.plan.facts if t not in gold] if self.plan else []


class Evolver:
    """Writes the questions of all pairs together, so that the LLM is asked in batches."""

    def __init__(
        self,
        kg: KnowledgeGraph,
        llm: Llm,
        make_perplexity: Callable[[list[str]], Perplexity],
        extension_check: check.ExtensionCheck,
        choices: Choices,
        seed: int = 0,
        question_check: QuestionCheck | None = None,
    ) -> None:
        """Set the graph, the writing LLM, the checks and options; nothing is requested yet."""
        self.kg, self.choices, self.seed = kg, choices, seed
        self.words = merge_classes(kg.domain)
        self.questions = question_check or QuestionCheck(self.words)
        self.make_perplexity = make_perplexity
        self.perplexity: Perplexity | None = None
        self.extension = extension_check
        self.asker = Asker(llm, choices, kg.domain)
        self._evolutions: dict[str, Evolution] = {}
        self._aliases: dict[str, list[str]] = {}

    def evolve(self, pairs: Sequence[EntityPair], equivalence: Equivalence) -> list[Evolution]:
        """Write a paragraph and questions per pair of entities, or record why a pair is dropped."""
        planner = Planner(self.kg.domain, self.choices, self.seed, equivalence)
        self._evolutions = {
            p.id: Evolution(p, p.paragraph, dropped="pairs_of_one_name" if p.has_one_name else "")
            for p in pairs
        }
        self._write_seeds()
        self._annotate(planner)
        if active := self._active():  # else the builder says why none is left
            self.perplexity = self.make_perplexity([e.seed for e in active.values()])
            specificity = Specificity(g for p in pairs for g in p.graphs)
            number = 2
            while waiting := {n: e for n, e in self._active().items() if e.remaining_facts}:
                self._extend(number, waiting, self.perplexity, specificity)
                number += 1
            self._ask_questions()
        return list(self._evolutions.values())

    def _active(self) -> dict[str, Evolution]:
        """Map ids of entity pairs to their state, leaving out dropped pairs."""
        return {name: e for name, e in self._evolutions.items() if not e.dropped}

    def _write_seeds(self) -> None:
        """Let the LLM write a missing first sentence on each pair of entities, or drop the pair."""
        wanting = {name: e for name, e in self._active().items() if not e.seed}

        def explain_refusal(name: str, reply: str) -> str | None:
            """Say why an LLM's first sentence is refused; None if it names entity and value."""
            fact = wanting[name].pair.stated
            in_words = (contains_value(reply, text) for text in renderings(fact))
            says_value = fact.value in reply or any(in_words)
            return None if fact.name in reply and says_value else "does not name both"

        facts = {n: {"fact": self.words.verbalise(e.pair.stated)} for n, e in wanting.items()}
        replies = self.asker.ask("seed", facts, check_each(explain_refusal))
        for name, e in wanting.items():
            e.seed = replies.taken.get(name, "")
            if not e.seed:
                e.dropped = count_key("pairs_without_a_seed", replies.last_refusal(name))

    def _annotate(self, planner: Planner) -> None:
        """Let the LLM cite facts in each entity pair's first sentence; plan questions' facts."""
        active = self._active()
        values: dict[str, dict[str, Any]] = {}
        for name, e in active.items():
            annotated = annotate(e.seed, e.pair.pool, e.pair.stated)
            values[name] = {"paragraph": e.seed, "graphs": e.pair.graphs, "annotated": annotated}

        def explain_refusal(name: str, reply: str) -> str | None:
            """Say why an LLM's seed sentence with citations is refused; None if it is accepted."""
            seed, pair = active[name].seed, active[name].pair
            changed = check.find_annotation_fault(reply, seed, pair.pool)
            return changed or check.find_misstated_triple(
                reply, pair.pool, pair.stated, self.extension.words
            )

        replies = self.asker.ask("annotate", values, check_each(explain_refusal))
        for name, e in active.items():
            if name not in replies.taken:
                why = replies.last_refusal(name)
                e.dropped = count_key("pairs_whose_seed_was_not_annotated", why)
                continue
            text = replies.taken[name]
            cited = check.cited_triples(text, e.pair.pool)
            plan = planner.plan(e.pair, cited)
            if isinstance(plan, NoPlan):
                e.dropped = plan.reason
                continue
            e.plan = plan
            link = () if e.pair.link is None else (e.pair.link,)
            gold = tuple(t for t in e.plan.facts if t.key in cited or t in link)
            own = {t.key for t in (*gold, *link)}
            left_out = [t for t in e.pair.pool if t.key in cited and t.key not in own]
            notes = (*replies.refused[name], *(f"not asked for: {marker(t)}" for t in left_out))
            e.rounds.append(Round(1, text, gold, (), notes))

    def _extend(
        self, round_number: int, active: Mapping[str, Evolution], perplexity: Perplexity,
        specificity: Specificity,
    ) -> None:  # fmt: skip
        """Run one round: extend each paragraph by the best-ranked triple that the LLM can add."""
        ranked: dict[str, list[ScoredTriple]] = {}
        with progress(f"scoring, round {round_number}", len(active), "paragraphs") as advance:
            for name, e in active.items():
                triples = e.remaining_facts
                before = check.without_citations(e.paragraph, e.pair.pool)
                texts = [f"{before} {self.words.verbalise(t)}" for t in triples]
                values = perplexity.compute(texts)
                ranked[name] = rank_triples(triples, values, specificity, self.choices.alpha)
                advance(1)
        notes: dict[str, list[str]] = {name: [] for name in active}
        written: dict[str, tuple[int, str]] = {}
        for turn in range(TRIPLES_PER_ROUND):
            waiting = {
                name: scored[turn].triple
                for name, scored in ranked.items()
                if name not in written and turn < len(scored)
            }
            replies = self._request_extensions(waiting)
            written |= {name: (turn, text) for name, text in replies.taken.items()}
            for name, texts in replies.refused.items():
                notes[name] += texts
        for name, e in active.items():
            if name not in written:
                why = refusal_kind(notes[name][-1])
                e.dropped = count_key("pairs_without_a_further_triple", why)
                continue
            turn, text = written[name]
            best = tuple(ranked[name][: max(_KEPT_CANDIDATES, turn + 1)])
            triple = ranked[name][turn].triple
            e.rounds.append(Round(round_number, text, (triple,), best, tuple(notes[name])))

    def _request_extensions(self, triples: dict[str, Triple]) -> Replies:
        """Let the LLM add a sentence that states a triple to each entity pair's paragraph."""
        unknown = {t.value_id for t in triples.values()} - {"", *self._aliases}
        self._aliases |= self.kg.aliases(sorted(unknown))
        values = {}
        for name, triple in triples.items():
            fact, mark = self.words.verbalise(triple), marker(triple)
            values[name] = {
                "paragraph": self._evolutions[name].paragraph,
                "fact": fact,
                "marker": mark,
                "sentence": f"{fact.removesuffix('.')} {mark}.",
            }

        def explain_refusal(replies: dict[str, str]) -> dict[str, str | None]:
            """Say why each extended paragraph is refused; None if it is accepted."""
            extensions = []
            for name, reply in replies.items():
                e, triple = self._evolutions[name], triples[name]
                aliases = self._aliases.get(triple.value_id, [])
                extensions.append(check.Extension(e.paragraph, reply, triple, e.pair.pool, aliases))
            return dict(zip(replies, self.extension.find_faults(extensions), strict=True))

        return self.asker.ask("extend", values, explain_refusal)

    def _ask_questions(self) -> None:
        """Request a general and a specific question per entity pair; drop a pair if one fails."""
        for task in ("general", "specific"):
            active = self._active()
            values = {
                name: {**_question_values(e), "question": getattr(e.plan, task)}
                for name, e in active.items()
            }
            find_faults = partial(self._find_question_faults, task)
            replies = self.asker.ask(task, values, find_faults)
            for name, e in active.items():
                setattr(e, task, replies.taken.get(name, ""))
                if name not in replies.taken:
                    why = replies.last_refusal(name)
                    e.dropped = count_key("pairs_without_a_question", task, why)

    def _find_question_faults(self, form: str, replies: dict[str, str]) -> dict[str, str | None]:
        """Say why each general or specific question is refused; None for those accepted."""
        if self.asker.is_template:
            return dict.fromkeys(replies)  # composed from the facts
        asked = {n: self._evolutions[n].to_check(form, r) for n, r in replies.items()}
        results = self.questions.check(list(asked.values()))
        return {
            name: found.find_fault(asking)
            for (name, asking), found in zip(asked.items(), results, strict=True)
        }


def _question_values(evolution: Evolution) -> dict[str, Any]:
    """Collect the values that fill in the prompt for the questions about two entities."""
    relations: defaultdict[str, dict[str, None]] = defaultdict(dict)
    link = evolution.pair.link
    for triple in evolution.facts:
        is_link = link is not None and triple == link
        what = f"relationship to {triple.value}" if is_link else triple.relation
        relations[triple.name][what] = None
    return {
        "plain": check.without_citations(evolution.paragraph, evolution.pair.pool),
        "names": [g.name for g in evolution.pair.graphs],
        "facts": [(name, list(mine)) for name, mine in relations.items()],
    }
