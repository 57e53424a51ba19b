"""Judging with memory: each pair is judged once, verdicts are stored, failures are counted."""

import copy
import math
import re
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import msgspec

from citeforge.engines.files import canonical_json, digest
from citeforge.engines.judge.profiles import question_version
from citeforge.engines.judge.records import (
    Decision,
    Judge,
    JudgeFailure,
    Pair,
    Verdict,
    verdict_key,
)
from citeforge.engines.llm.replay import ReplayStore, Server
from citeforge.engines.progress import progress
from citeforge.engines.shown import show_amount
from citeforge.schemas.errors import InputError, UsageError


class VerdictStore(ReplayStore):
    """Store of verdicts, keyed by judge and pair, and of judges' speed; failures are not kept.

    They stand in the table of replies, so that one file may hold both.
    """

    def get_verdicts(self, keys: Sequence[str], server: Server | None = None) -> dict[str, Verdict]:
        """Read stored verdicts, by key, without missing ones; refuse verdicts of another server.

        Args:
            keys: digests of judge and pair.
            server: endpoint of the judge; None for no check.

        Raises:
            InputError: another server than ``server`` gave one.
        """
        rows = self.rows(
            "SELECT asked, content, server FROM kept WHERE kind = ? AND asked IN "
            "(SELECT value FROM json_each(?))",
            *(_VERDICT_KIND, canonical_json(keys)),
        )
        self.require_server([address for _, _, address in rows], server)
        return {key: self._decode(key, text, _decode_verdict) for key, text, _ in rows}

    def put_verdicts(self, verdicts: Iterable[tuple[str, Verdict]], server: str = "") -> None:
        """Store verdicts of a server in one transaction; stored ones are not replaced.

        Args:
            verdicts: (digest of judge and pair, verdict) of each.
            server: address of the endpoint; empty for a judge without one.
        """
        rows = [(key, msgspec.json.encode(verdict).decode()) for key, verdict in verdicts]
        with self.transaction() as db:
            for key, text in rows:
                row = (key, _VERDICT_KIND, text, time.time(), server)
                db.execute(f"INSERT OR IGNORE {_ROW}", row)
        self.ledger.keep("verdict", self.path, len(rows))

    def note_speed(self, identity: dict[str, Any], pairs: int, seconds: float) -> None:
        """Add pairs judged and seconds taken to a judge's stored totals, for later estimates."""
        key, before = digest(identity), self._read_speed(identity)
        total = [before[0] + pairs, before[1] + seconds]
        row = (key, _SPEED_KIND, canonical_json(total), time.time(), "")
        self.rows(f"INSERT OR REPLACE {_ROW}", *row)

    def seconds_per_pair(self, identity: dict[str, Any]) -> float | None:
        """Compute a judge's mean seconds per pair in earlier runs; None before the first run."""
        pairs, seconds = self._read_speed(identity)
        return seconds / pairs if pairs else None

    def _read_speed(self, identity: dict[str, Any]) -> tuple[int, float]:
        """Read how much a judge has judged in all runs: (pairs, seconds)."""
        select = "SELECT content FROM kept WHERE kind = ? AND asked = ?"
        rows = self.rows(select, _SPEED_KIND, digest(identity))
        return self._decode("speed", rows[0][0], _decode_speed) if rows else (0, 0.0)


_VERDICT_KIND, _SPEED_KIND = "verdict", "speed"
_ROW = "INTO kept VALUES (?, ?, ?, '{}', '{}', 0, 0, 0, ?, ?)"
_decode_verdict = msgspec.json.Decoder(Verdict).decode
_decode_speed = msgspec.json.Decoder(tuple[int, float]).decode
_NOTHING = Verdict(False)
_VERDICT = (
    "Verdict(True or False, finite margin or None, True or False, support -1, 0, .5, 1 or None)"
)


@dataclass(frozen=True)
class JudgePlan:
    """Plan of a judging run: pairs, stored verdicts, tokens, time and cost.

    Attributes:
        pairs: pairs, repeats counted.
        distinct: distinct ones with a premise, each once a repeat.
        stored: distinct pairs with a stored verdict.
        tokens: tokens of the rest; None when the judge counts none.
        seconds: estimate from earlier runs of this judge; None before the first.
    """

    pairs: int
    distinct: int
    stored: int
    tokens: int | None
    seconds: float | None

    def to_text_lines(self) -> list[str]:
        """Describe the planned judging as lines for a terminal: pairs, tokens and time."""
        tokens = "not counted by this judge" if self.tokens is None else f"{self.tokens:,}"
        seconds = (
            "known after a first run"
            if self.seconds is None
            else f"about {show_amount(self.seconds, 0)} s"
        )
        return [
            f"pairs              {self.pairs:,}",
            f"distinct           {self.distinct:,}",
            f"stored             {self.stored:,}",
            f"to judge           {self.distinct - self.stored:,}",
            f"tokens             {tokens}",
            f"time               {seconds}",
        ]


class JudgeSession:
    """Session with one judge: decisions are remembered in memory and in a store.

    Attributes:
        judge: judge of the session.
        repeats: how often it is asked about every pair.
        repeat: which of these times :meth:`ask` asks for, from 0.
        only_plans: do not ask the judge, but note its calls in the ledger of a dry run; pairs
            without a stored verdict fail, so that everything that may depend on a verdict is
            counted, too.
        n_asked: pairs that the judge was asked in this session.
        n_stored: distinct pairs that the store knew.
        n_failed: distinct pairs on which the judge failed.
        n_truncated: distinct pairs whose premise was cut.
        first_failure: why the judge failed first; empty where it never did.
    """

    def __init__(self, judge: Judge, store: VerdictStore | None = None, repeats: int = 1) -> None:
        """Start a session with a judge, which is asked ``repeats`` times about each pair.

        Args:
            judge: decides pairs.
            store: verdicts of earlier runs; None for none.
            repeats: how often the judge is asked about each pair.

        Raises:
            UsageError: several repeats of a judge that always decides alike.
        """
        self.judge = judge
        self.store = store
        self.repeats, self.repeat = repeats, 0
        self.only_plans = False
        self.n_asked = self.n_stored = self.n_failed = self.n_truncated = 0
        self.first_failure = ""
        again = getattr(judge, "repeated", None)
        if repeats > 1 and again is None:
            raise UsageError(
                f"--judge-repeats {repeats}: {judge.signature} decides the same every time; "
                "repeats are for LLM judges (openai:MODEL, vllm:MODEL)",
                code="option-without-effect",
            )
        self._judges = [judge, *(again(i) for i in range(1, repeats) if again is not None)]
        self._identities = [one.identity() for one in self._judges]
        server = getattr(judge, "server", None)
        self._server = server if isinstance(server, Server) else None
        self._known: dict[tuple[int, Pair], Decision] = {}
        self._touched: set[tuple[int, Pair]] = set()
        self._deciding = threading.Lock()

    @property
    def answers_questions(self) -> bool:
        """Whether the judge takes pairs with a question other than entailment, as LLMs do."""
        return bool(getattr(self.judge, "answers_questions", False))

    def share(self) -> Self:
        """Make a session for another thread: same judge and decisions, but separate counts.

        A session counts what one submission asks, so two submissions that are scored at the same
        time need one each. The judge and the store are still used by one thread at a time.
        """
        other = copy.copy(self)
        other.n_asked = other.n_stored = other.n_failed = other.n_truncated = 0
        other.begin()
        return other

    @property
    def family(self) -> str:
        """Family of the judge's model, as its profile says; empty if it says none."""
        return str(getattr(getattr(self.judge, "profile", None), "family", ""))

    def match_family(self, names: Iterable[str]) -> str | None:
        """Find the first name that is the judge's own model or model family; None if none is.

        Verdicts on answers of the same model or family may be biased.

        Args:
            names: names of models.
        """
        own = {
            _without_provider(str(self._identities[0].get("name", ""))),
            _without_provider(self.family),
        }
        return next((name for name in names if name and _without_provider(name) in own), None)

    def begin(self) -> None:
        """Reset the counts of :meth:`failures` and :meth:`cuts`, such as for a new submission."""
        self._touched, self.repeat = set(), 0

    def failures(self) -> int:
        """Count the distinct pairs since :meth:`begin` on which the judge failed."""
        return sum(isinstance(self._known[p], JudgeFailure) for p in self._touched)

    def cuts(self) -> int:
        """Count the distinct pairs since :meth:`begin` whose premise was cut."""
        decisions = (self._known[p] for p in self._touched)
        return sum(isinstance(d, Verdict) and d.truncated for d in decisions)

    def ask(self, pairs: Iterable[Pair]) -> dict[Pair, Decision]:
        """Decide all pairs, from stored verdicts or by the judge.

        An empty premise entails nothing, and the judge is not asked.
        """
        keys = {pair: (self.repeat, pair) for pair in pairs}
        self._touched.update(keys.values())
        fresh = [p for p, key in keys.items() if key not in self._known]
        for pair in fresh:
            if not pair.premise.strip():
                self._known[keys[pair]] = _NOTHING
        if rest := [p for p in fresh if p.premise.strip()]:
            with self._deciding:
                # Another thread may have had some of them decided in the meantime.
                rest = [p for p in rest if keys[p] not in self._known]
                self._decide(self._without_stored(rest))
        return {pair: self._known[key] for pair, key in keys.items()}

    def plan(self, pairs: Iterable[Pair]) -> JudgePlan:
        """Count what :meth:`ask` would ask the judge, and its cost, without asking."""
        everything = list(pairs)
        distinct = [p for p in dict.fromkeys(everything) if p.premise.strip()]
        keys = {_verdict_key(own, p): p for own in self._identities for p in distinct}
        known = {} if self.store is None else self.store.get_verdicts(list(keys), self._server)
        stored = set(known)
        rest = [p for key, p in keys.items() if key not in stored]
        own = self._identities[0]
        speed = self.store.seconds_per_pair(own) if self.store is not None else None
        seconds = None if speed is None else speed * len(rest)
        tokens = self.judge.count_tokens(rest)
        return JudgePlan(len(everything), len(keys), len(stored), tokens, seconds)

    def plan_all(self) -> JudgePlan:
        """Plan the judging of all pairs that :meth:`ask` was called with in this session."""
        return self.plan(dict.fromkeys(pair for _, pair in self._known))

    def _without_stored(self, pairs: list[Pair]) -> list[Pair]:
        """Load the stored verdicts of pairs, and list the pairs that have none."""
        if self.store is None or not pairs:
            return pairs
        keys = list(map(self._key, pairs))
        stored = self.store.get_verdicts(keys, self._server)
        rest = []
        for key, pair in zip(keys, pairs, strict=True):
            if key in stored:
                self._record_decision(pair, stored[key])
                self.n_stored += 1
            else:
                rest.append(pair)
        return rest

    def _decide(self, pairs: list[Pair]) -> None:
        """Ask the judge about pairs, and store each verdict as it comes."""
        if not pairs:
            return
        question = next((p.question for p in pairs if p.question), "")
        if question and not self.answers_questions:
            raise UsageError(
                f"--judge {self.judge.signature} decides entailment alone; {question} is a "
                "question for an LLM with a profile in JSON: openai:MODEL or vllm:MODEL",
                code="missing-judge",
            )
        if self.only_plans:
            rehearse = getattr(self._judges[self.repeat], "rehearse", None)
            if rehearse is not None:
                rehearse(pairs)
            unasked = JudgeFailure("the judge was not asked")
            self._known.update(((self.repeat, pair), unasked) for pair in pairs)
            return
        start = time.monotonic()
        waiting = set(range(len(pairs)))
        with progress("judging", len(pairs), "pairs") as advance:

            def keep(decisions: Sequence[tuple[int, Decision]]) -> None:
                """Check, store and remember the judge's decisions as they come."""
                for i, decision in decisions:
                    self._check_decision(i, decision, waiting, len(pairs))
                    waiting.remove(i)
                decided = [(pairs[i], d) for i, d in decisions]
                if self.store is not None:
                    self.store.put_verdicts(
                        ((self._key(p), d) for p, d in decided if isinstance(d, Verdict)),
                        self._server.address if self._server else "",
                    )
                for pair, decision in decided:
                    self._record_decision(pair, decision)
                advance(len(decided), f"{self.n_failed} failed")

            self._judges[self.repeat].decide(pairs, keep)
        if waiting:
            raise self._broken_judge_error(
                f"left {len(waiting):,} of {len(pairs):,} pairs without a decision",
                "Verdict or JudgeFailure for each",
            )
        self.n_asked += len(pairs)
        if self.store is not None:
            self.store.note_speed(self._identities[0], len(pairs), time.monotonic() - start)

    def _check_decision(
        self, pair_index: int, decision: object, undecided: set[int], n_pairs: int
    ) -> None:
        """Raise an error for an invalid decision of a plugin's judge, or one on a decided pair.

        Args:
            pair_index: index of the pair, as the judge gives it.
            decision: what the judge gives for it.
            undecided: indices of the pairs without a decision.
            n_pairs: number of pairs.

        Raises:
            InputError: a pair that is none, or was decided, or a decision that is none.
        """
        if not 0 <= pair_index < n_pairs:
            raise self._broken_judge_error(
                f"decided pair {pair_index} of {n_pairs:,} (counted from 0)",
                "the pairs that it was given",
            )
        if pair_index not in undecided:
            raise self._broken_judge_error(
                f"decided pair {pair_index} twice", "one decision per pair"
            )
        if not isinstance(decision, JudgeFailure) and not _is_verdict(decision):
            raise self._broken_judge_error(f"decided {decision!r}", _VERDICT)

    def _broken_judge_error(self, message: str, allowed: str) -> InputError:
        """Make the error for a plugin's judge that breaks a rule: fault, and what is allowed."""
        return InputError(
            f"the judge {self.judge.signature} {message}", allowed=allowed, code="broken-plugin"
        )

    def _key(self, pair: Pair) -> str:
        """Compute the key of a pair's stored verdict, for the current repeat."""
        return _verdict_key(self._identities[self.repeat], pair)

    def _record_decision(self, pair: Pair, decision: Decision) -> None:
        """Remember a decision, and count failures and cut premises."""
        self._known[self.repeat, pair] = decision
        if isinstance(decision, JudgeFailure):
            self.n_failed += 1
            self.first_failure = self.first_failure or decision.message
        else:
            self.n_truncated += decision.truncated


def _verdict_key(identity: dict[str, Any], pair: Pair) -> str:
    """Compute the key of a stored verdict; a pair's question is part of the judge's identity."""
    if pair.question:
        identity = identity | {"profile": question_version(pair.question)}
    return verdict_key(identity, pair)


def _without_provider(name: str) -> str:
    """Remove a prefix such as ``openai:`` from the name of a model or family."""
    return re.sub(r"^(openai|vllm|hf):", "", name.strip().casefold())


def _is_verdict(decision: object) -> bool:
    """Whether a decision is a verdict with legal values."""
    return (
        isinstance(decision, Verdict)
        and decision.entailed in (True, False)
        and decision.truncated in (True, False)
        and (decision.margin is None or math.isfinite(decision.margin))
        and decision.support in (None, -1, 0, 0.5, 1)
    )
