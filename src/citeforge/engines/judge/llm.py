"""Judges that are LLMs, asked as their profiles say, with stored replies."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from citeforge.engines.judge.chunks import PairParts, split_pair
from citeforge.engines.judge.profiles import (
    built_in_profiles,
    fill_messages,
    is_built_in,
    profile_of_model,
    profile_version,
)
from citeforge.engines.judge.records import Decision, JudgeFailure, Keep, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.budget import RunPlan, estimate_prompt_tokens
from citeforge.engines.llm.records import LlmReply, Request, Result, json_format, signature_name
from citeforge.engines.llm.replay import Server
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.text.short_replies import read_field, read_words
from citeforge.schemas.errors import UsageError
from citeforge.schemas.judge_profile import LEVELS, JudgeProfile

TRIES = 3
ANSWER_TOKENS = 30
"""Largest number of tokens of a verdict."""
BINARY = "llm-binary"
_OPPOSITES = {"yes": "no", "true": "false", "1": "0"}
"""Replies that mean "not supported" if the profile names none; other replies are no verdict."""


class LlmJudge:
    """Judge that asks a chat model at temperature 0; unreadable replies are asked for again."""

    def __init__(
        self, llm: OpenAiLlm, profile: JudgeProfile | None = None, repeat: int = 0
    ) -> None:
        """Set up an LLM as judge, with a profile of prompt and verdicts; ``repeat`` counts from 0.

        Args:
            llm: model to ask.
            profile: its prompt and verdicts; None for the model's own profile, else ``llm-binary``.
            repeat: 0-based number of the time that it is asked the same.

        Raises:
            UsageError: the profile is none of a chat model, or needs a chat template of its own.
        """
        self.llm, self._repeat = llm, repeat
        self.profile = profile or profile_of_model(llm.model) or built_in_profiles()[BINARY]
        if not self.profile.messages or self.profile.template:
            raise UsageError(
                f"--judge-profile {self.profile.name} is for hf:MODEL; for an endpoint use "
                "llm-binary, llm-three-level or a profile that has messages only",
                code="conflicting-options",
            )

    @property
    def answers_questions(self) -> bool:
        """Whether the judge takes pairs with a question other than entailment."""
        return self.profile.architecture == "json-llm"

    @property
    def server(self) -> Server | None:
        """Endpoint whose stored verdicts may be used; None if those of every endpoint may be."""
        return self.llm.server

    @property
    def comparable(self) -> bool:
        """Whether the judge uses its LLM's built-in profile, made for comparable scores."""
        declared = self.profile == profile_of_model(self.llm.model)
        return declared and is_built_in(self.profile) and bool(self.profile.comparable_with)

    @property
    def tells_contradictions(self) -> bool:
        """Whether the judge distinguishes a contradiction from no support."""
        return bool(self.profile.contradicted)

    @property
    def signature(self) -> str:
        """Name, reasoning effort and profile of the LLM, for score signatures."""
        return f"{signature_name(self.llm)}@{profile_version(self.profile)}"

    def repeated(self, repeat: int) -> "LlmJudge":
        """Return a copy of this judge for another repeat, whose replies are stored separately."""
        return LlmJudge(self.llm, self.profile, repeat)

    def identity(self) -> dict[str, Any]:
        """Describe everything that a verdict depends on besides the pair."""
        own = self.llm.identity() | ({"repeat": self._repeat} if self._repeat else {})
        return {**own, "profile": profile_version(self.profile)}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Estimate the prompt tokens of asking about each pair once, without retries."""
        requests = self._first_requests(pairs)
        return sum(estimate_prompt_tokens(r.payload(self.llm.model)) for r in requests)

    def plan_calls(
        self, pairs: Sequence[Pair], possible_pairs: Sequence[Pair] = (), max_rounds: int = 1
    ) -> RunPlan:
        """Plan the LLM calls to judge certain and possible pairs, in at most ``max_rounds`` rounds.

        Args:
            pairs: what is asked in any case.
            possible_pairs: what may be asked, too.
            max_rounds: how many such rounds there are at most.
        """
        first, others = (list(self._first_requests(some)) for some in (pairs, possible_pairs))
        return self.llm.plan(first, others, TRIES * max_rounds)

    def rehearse(self, pairs: Sequence[Pair]) -> None:
        """Record the calls that judging pairs would take, in the ledger of a dry run."""
        self.llm.rehearse_chats(list(self._first_requests(pairs)), TRIES)

    def _first_requests(self, pairs: Sequence[Pair]) -> Iterator[Request]:
        """Make a first request per sentence of each pair; a pair listed again gets new samples."""
        repeats = Counter[Pair]()
        for pair in pairs:
            for part in (part for row in self._parts(pair) for part in row):
                yield self._request(part, TRIES * repeats[pair])
            repeats[pair] += 1

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Judge pairs by the LLM, which is asked again for unreadable replies; pass on decisions.

        Args:
            pairs: premises and hypotheses.
            keep: takes decisions as they come, each with the index of its pair.
        """
        whole = PairParts([self._parts(pair) for pair in pairs])

        def add_decision(part: Pair, decision: Decision) -> None:
            """Record a decision on a part (sentence); pass decisions on whole pairs to ``keep``."""
            if complete := whole.add(part, decision):
                keep(complete)

        open_parts = whole.parts
        for attempt in range(TRIES):
            open_parts = self._ask_round(open_parts, attempt, add_decision)
            if not open_parts:
                return

    def _ask_round(
        self, pairs: list[Pair], attempt: int, add_decision: Callable[[Pair, Decision], None]
    ) -> list[Pair]:
        """Ask about pairs once, and pass on the decisions; return pairs with unreadable replies.

        Args:
            pairs: premises and hypotheses.
            attempt: number of the round, from 0; the last one takes unreadable replies as failures.
            add_decision: takes the decision on a pair.
        """
        again: list[int] = []

        def take_result(position: int, result: Result) -> None:
            """Read the reply on the pair at a position as decision, or mark it for a retry."""
            decision = read_decision(result, self._profile_for(pairs[position]))
            if decision is None and attempt < TRIES - 1:
                again.append(position)
            else:
                said = result.text if isinstance(result, LlmReply) else result.message
                failed = JudgeFailure(f"no verdict in {TRIES} replies; the last: {said[:80]!r}")
                add_decision(pairs[position], decision or failed)

        self.llm.complete([self._request(one, attempt) for one in pairs], on_result=take_result)
        return [pairs[position] for position in sorted(again)]

    def _parts(self, pair: Pair) -> list[list[Pair]]:
        """Split a pair by the hypothesis's sentences if the profile says so; premises stay whole.

        An endpoint has its own limit, and only it counts tokens.
        """
        return split_pair(self._profile_for(pair).model_copy(update={"chunks": None}), pair, len)

    def _profile_for(self, pair: Pair) -> JudgeProfile:
        """Get the judge profile for a pair: that of the pair's question, else the judge's own."""
        return built_in_profiles()[pair.question] if pair.question else self.profile

    def _request(self, pair: Pair, sample: int) -> Request:
        """Make the request about a pair; ``sample`` distinguishes repeated requests."""
        profile = self._profile_for(pair)
        turns = fill_messages(profile, pair.premise, pair.hypothesis, self.llm.model)
        params: dict[str, Any] = {"temperature": 0.0, "max_tokens": ANSWER_TOKENS}
        if (reply_format := _reply_format(profile)) is not None:
            params["response_format"] = reply_format
        return Request(turns, params, self._repeat * TRIES + sample)


def llm_judge_of(session: JudgeSession | None) -> LlmJudge | None:
    """Get the judge of a session if it is an LLM; None for other judges, which cost nothing."""
    judge = None if session is None else session.judge
    return judge if isinstance(judge, LlmJudge) else None


def _reply_format(profile: JudgeProfile) -> dict[str, Any] | None:
    """Make the JSON schema of a verdict for the request; None if the verdict is a word."""
    if not profile.field:
        return None
    values = profile.verdicts
    is_flag = all(isinstance(v, bool) for v in values)
    member = {"type": "boolean"} if is_flag else {"type": "string", "enum": list(values)}
    return json_format("verdict", {profile.field: member})


def read_decision(result: Result, profile: JudgeProfile) -> Decision | None:
    """Read a verdict from an LLM's reply; a failure if the call failed; None if unreadable."""
    if not isinstance(result, LlmReply):
        unreadable = result.reason in ("truncated", "empty")
        return None if unreadable else JudgeFailure(result.message)
    if profile.field:
        return _to_verdict(read_field(result.text, profile.field, profile.verdicts), profile)
    return _read_word(result.text, profile)


def _to_verdict(values: set[bool | int | str], profile: JudgeProfile) -> Verdict | None:
    """Map the values found in a reply's field to a verdict; None if they fit none or several."""
    levels = zip(
        LEVELS,
        (profile.supported, profile.partial, profile.unsupported, profile.contradicted),
        strict=True,
    )
    verdicts = {
        Verdict(level == "full", support=LEVELS[level] if profile.has_levels else None)
        for level, means in levels
        if values & set(means)
    }
    if values & set(profile.undecided):
        verdicts.add(Verdict(False, undecided=True))
    return verdicts.pop() if len(verdicts) == 1 else None


def _read_word(text: str, profile: JudgeProfile) -> Verdict | None:
    """Read the verdict from a one-word reply; None if unclear."""
    supported = {str(v).lower() for v in profile.supported}
    unsupported = {str(v).lower() for v in profile.unsupported}
    if not unsupported:
        unsupported = {_OPPOSITES[word] for word in supported if word in _OPPOSITES}
    said = read_words(text, supported | unsupported)
    return Verdict(said in supported) if said is not None else None
