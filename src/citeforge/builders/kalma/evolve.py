"""Five rounds: annotate the seed, then add the best triple four times (KaLMA, appendix A.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from citeforge.builders.kalma import check
from citeforge.builders.kalma.annotate import annotate, marker
from citeforge.builders.kalma.asking import Asker, each
from citeforge.builders.kalma.phrasing import Composer, cannot_be_asked, gives_away
from citeforge.builders.kalma.score import ScoredTriple, Specificity, rank_triples
from citeforge.builders.kalma.selection import EntityPair, missing_values, values_by_relation
from citeforge.builders.kalma.tasks import most_tokens
from citeforge.engines.io.progress import progress
from citeforge.engines.llm.records import Llm
from citeforge.engines.models.perplexity.records import Perplexity
from citeforge.engines.plugins import warn
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.verbalise import verbalise
from citeforge.schemas.benchmarks.kg import Key, Triple, relation_key
from citeforge.schemas.recipes.kalma import Choices


@dataclass(frozen=True)
class Round:
    """What a round did.

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
    """A pair on its way to two questions.

    Attributes:
        pair: what it is about.
        rounds: finished rounds.
        general: the general question.
        specific: the specific one.
        dropped: why it was given up; empty while it goes on.
    """

    pair: EntityPair
    rounds: list[Round] = field(default_factory=list)
    general: str = ""
    specific: str = ""
    dropped: str = ""

    @property
    def paragraph(self) -> str:
        """Text so far, with citations."""
        return self.rounds[-1].paragraph if self.rounds else ""

    @property
    def gold(self) -> list[tuple[Triple, int]]:
        """The minimum knowledge set: what the rounds used, with the round."""
        return [(t, r.number) for r in self.rounds for t in r.triples]


class Evolver:
    """Evolves all pairs together, so that a writer is asked in batches."""

    def __init__(
        self,
        kg: KnowledgeGraph,
        llm: Llm,
        make_perplexity: Callable[[list[str]], Perplexity],
        extension: check.ExtensionCheck,
        choices: Choices,
    ) -> None:
        self.kg, self.choices = kg, choices
        self.make_perplexity = make_perplexity
        self.perplexity: Perplexity | None = None
        self.extension = extension
        self.composer = Composer(kg.domain)
        self.asker = Asker(llm, choices, kg.domain)
        self._aliases: dict[str, list[str]] = {}

    def evolve(self, pairs: Sequence[EntityPair]) -> list[Evolution]:
        """All pairs, in order; those given up say why."""
        if self.asker.llm.identity().get("name") == "offline":
            warn(
                "the writer is a small model on this machine: it writes up to "
                f"{most_tokens(len(pairs), self.choices):,} tokens, of which a processor does "
                "some tens a second; fewer --limit, --rounds or --attempts are faster"
            )
        evolutions = [Evolution(p) for p in pairs]
        seeds = self._seeds(evolutions)
        self._annotate(evolutions, seeds)
        if all(e.dropped for e in evolutions):
            return evolutions  # the builder says why none is left
        self.perplexity = self.make_perplexity(
            [seeds[e.pair.id] for e in evolutions if not e.dropped]
        )
        graphs = [g for p in pairs for g in (p.first, p.second)]
        specificity = Specificity(graphs)
        for number in range(2, self.choices.rounds + 1):
            self._extend(evolutions, number, specificity)
        self._questions(evolutions)
        for e in evolutions:
            if not e.dropped and missing_values(e.pair.pool, (t for t, _ in e.gold), e.pair.link):
                e.dropped = "its gold has a part of a relation's values"
        return evolutions

    def _seeds(self, evolutions: list[Evolution]) -> dict[str, str]:
        seeds = {e.pair.id: e.pair.paragraph for e in evolutions}

        def accept(evolution: Evolution, reply: str) -> str | None:
            link = evolution.pair.link
            if link.name not in reply or link.value not in reply:
                return "does not name both"
            seeds[evolution.pair.id] = reply
            return None

        wanting = [e for e in evolutions if not e.pair.paragraph]
        self.asker.ask(
            "seed",
            wanting,
            lambda e: {"fact": verbalise(e.pair.link, self.kg.domain)},
            each(accept),
        )
        for evolution in evolutions:
            if not seeds[evolution.pair.id]:
                evolution.dropped = "the writer wrote no seed sentence"
        return seeds

    def _annotate(self, evolutions: list[Evolution], seeds: dict[str, str]) -> None:
        def values(e: Evolution) -> dict[str, Any]:
            text = seeds[e.pair.id]
            annotated = annotate(text, e.pair.pool, self.kg.domain, e.pair.link)
            graphs = (e.pair.first, e.pair.second)
            return {"paragraph": text, "graphs": graphs, "annotated": annotated}

        replies: dict[str, str] = {}

        def accept(e: Evolution, reply: str) -> str | None:
            reason = check.wrong_annotation(reply, seeds[e.pair.id], e.pair.pool)
            if reason is None:
                reason = check.misplaced(reply, e.pair.pool, e.pair.link)
            if reason is None:
                replies[e.pair.id] = reply
            return reason

        active = [e for e in evolutions if not e.dropped]
        refused = self.asker.ask("annotate", active, values, each(accept))
        for e in active:
            notes = tuple(refused[e.pair.id])
            if e.pair.id not in replies:
                e.dropped = "the seed could not be annotated"
                continue
            cited = check.cited_triples(replies[e.pair.id], e.pair.pool)
            gold, left_out = self._seed_gold(e.pair, cited)
            notes += tuple(f"not asked for: {marker(t)}" for t in left_out)
            e.rounds.append(Round(1, replies[e.pair.id], gold, (), notes))

    def _seed_gold(
        self, pair: EntityPair, cited: Sequence[Key]
    ) -> tuple[tuple[Triple, ...], list[Triple]]:
        """Facts of a seed that questions ask for, and those that they cannot: it would say them
        itself, or the rounds are too few for the other values of the relation."""
        by_key = {t.key: t for t in reversed(pair.pool)}
        by_relation = values_by_relation(pair.pool)
        stated = {key.compared for key in cited}
        rest = self.choices.rounds - 1
        gold: dict[Key, Triple] = {}
        left_out = []
        for triple in (by_key[key] for key in dict.fromkeys(cited)):
            values = by_relation[triple.qid, relation_key(triple.relation)]
            others = [t for t in values if t.key.compared not in stated]
            begun = any(t.key in gold for t in values if t.key != pair.link.key)
            needed = 0 if begun else len(others)
            if triple.key != pair.link.key and (
                needed > rest or not all(self._can_be_asked(t, pair) for t in values)
            ):
                left_out.append(triple)
                continue
            rest -= 0 if triple.key == pair.link.key else needed
            gold[triple.key] = triple
        return tuple(gold.values()), left_out

    def _askable(self, e: Evolution, rest: int) -> list[Triple]:
        """What the next round may add, with this one ``rest``: the other values of a relation that
        the gold has a part of; else relations that can still be had as a whole, those that the
        writer has words for where there are any, and uninformative ones only where nothing else
        is there."""
        if missing := missing_values(e.pair.pool, (t for t, _ in e.gold), e.pair.link):
            return missing
        gold_keys = {t.key.compared for t, _ in e.gold}
        wholes = [
            values
            for values in values_by_relation(e.pair.pool).values()
            if len(values) <= rest
            and all(
                t.key.compared not in gold_keys and self._can_be_asked(t, e.pair) for t in values
            )
        ]
        for left_out in (self.kg.domain.uninformative, ()):
            askable = [t for values in wholes for t in values if t.relation not in left_out]
            if askable:
                phrase, is_template = self.composer.phrasing.phrase, self.asker.is_template
                return [t for t in askable if not is_template or phrase(t.relation)] or askable
        return []

    def _can_be_asked(self, triple: Triple, pair: EntityPair) -> bool:
        # Nobody can be asked for the id of an entity.
        return triple.has_label and not cannot_be_asked(triple, pair, self.composer.clause(triple))

    def _extend(self, evolutions: list[Evolution], number: int, specificity: Specificity) -> None:
        assert self.perplexity is not None
        ranked: dict[str, list[ScoredTriple]] = {}
        active = [e for e in evolutions if not e.dropped]
        with progress(f"scoring, round {number}", len(active), "paragraphs") as advance:
            for e in active:
                triples = self._askable(e, self.choices.rounds - number + 1)
                before = check.without_citations(e.paragraph, e.pair.pool)
                texts = [f"{before} {verbalise(t, self.kg.domain)}" for t in triples]
                perplexities = self.perplexity.of(texts)
                ranked[e.pair.id] = rank_triples(
                    triples, perplexities, specificity, self.choices.alpha
                )
                advance(1)
        turn = {e.pair.id: 0 for e in active}
        notes: dict[str, list[str]] = {e.pair.id: [] for e in active}
        replies: dict[str, str] = {}
        waiting = active
        for _ in range(self.choices.triples):
            waiting = [e for e in waiting if turn[e.pair.id] < len(ranked[e.pair.id])]
            if not waiting:
                break
            refused = self._try(waiting, ranked, turn, replies)
            for e in waiting:
                notes[e.pair.id] += refused[e.pair.id]
                turn[e.pair.id] += e.pair.id not in replies
            waiting = [e for e in waiting if e.pair.id not in replies]
        for e in active:
            if e.pair.id not in replies:
                e.dropped = f"no triple could be written in round {number}"
                continue
            scored = ranked[e.pair.id]
            triple = scored[turn[e.pair.id]].triple
            best = tuple(scored[: max(self.choices.kept_candidates, turn[e.pair.id] + 1)])
            text = replies[e.pair.id]
            e.rounds.append(Round(number, text, (triple,), best, tuple(notes[e.pair.id])))

    def _try(
        self,
        waiting: list[Evolution],
        ranked: dict[str, list[ScoredTriple]],
        turn: dict[str, int],
        texts: dict[str, str],
    ) -> dict[str, list[str]]:
        """Ask for the next triple of every waiting pair."""
        current = {e.pair.id: ranked[e.pair.id][turn[e.pair.id]].triple for e in waiting}
        unknown = {
            t.value_id for t in current.values() if t.value_id and t.value_id not in self._aliases
        }
        self._aliases |= self.kg.aliases(sorted(unknown))

        def values(e: Evolution) -> dict[str, Any]:
            triple = current[e.pair.id]
            fact = verbalise(triple, self.kg.domain)
            mark = marker(triple)
            return {
                "paragraph": e.paragraph,
                "fact": fact,
                "marker": mark,
                "sentence": f"{fact.removesuffix('.')} {mark}.",
            }

        def accept(replies: Sequence[tuple[Evolution, str]]) -> list[str | None]:
            extensions = []
            for e, reply in replies:
                triple = current[e.pair.id]
                aliases = self._aliases.get(triple.value_id, [])
                extensions.append(check.Extension(e.paragraph, reply, triple, e.pair.pool, aliases))
            reasons = self.extension.wrong(extensions)
            for (e, reply), reason in zip(replies, reasons, strict=True):
                if reason is None:
                    texts[e.pair.id] = reply
            return reasons

        return self.asker.ask("extend", waiting, values, accept)

    def _questions(self, evolutions: list[Evolution]) -> None:
        active = [e for e in evolutions if not e.dropped]
        self.composer.n_questions = len(active)
        for task, compose in (
            ("general", self.composer.general), ("specific", self.composer.specific),
        ):  # fmt: skip
            active = [e for e in active if not e.dropped]
            composed = {e.pair.id: compose(e.pair, _further_facts(e)) for e in active}

            def values(e: Evolution, composed: dict[str, str] = composed) -> dict[str, Any]:
                return {**_question_values(e), "question": composed[e.pair.id]}

            def accept(e: Evolution, reply: str, task: str = task) -> str | None:
                names = [e.pair.first.name, e.pair.second.name]
                reason = check.wrong_question(reply, names)
                if reason is None and (leak := gives_away(reply, _further_facts(e))) is not None:
                    reason = f"gives away {leak.relation}: {leak.value}"
                if reason is None:
                    setattr(e, task, reply)
                return reason

            self.asker.ask(task, active, values, each(accept))
            for e in active:
                if not getattr(e, task):
                    e.dropped = f"the writer asked no {task} question"


def _further_facts(e: Evolution) -> list[Triple]:
    """What questions ask for one by one: all but what connects the two."""
    return [triple for triple, _ in e.gold if triple.key != e.pair.link.key]


def _question_values(e: Evolution) -> dict[str, Any]:
    relations: dict[str, list[str]] = {}
    for triple in _further_facts(e):
        mine = relations.setdefault(triple.name, [])
        if triple.relation not in mine:
            mine.append(triple.relation)
    return {
        "plain": check.without_citations(e.paragraph, e.pair.pool),
        "names": [e.pair.first.name, e.pair.second.name],
        "facts": list(relations.items()),
    }
