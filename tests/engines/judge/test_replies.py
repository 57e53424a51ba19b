"""How LLM judges' replies are read: in fences, after a sentence, as a word, as a mark."""

import json
from pathlib import Path

import pytest

from citeforge.engines.judge.llm import LlmJudge, read_decision
from citeforge.engines.judge.profiles import named_profile
from citeforge.engines.judge.records import Decision, JudgeFailure, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.llm.records import LlmReply
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.text.short_replies import read_mark
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline
from servers.provider import Behaviour, Body, Provider, Sent, chat, provider, refusal

YES, NO = '{"entailed": true}', '{"entailed": false}'
PAIRS = [Pair("The bridge opened in 1964.", "It opened in 1964."), Pair("A.", "B.")]


def decide(reply: str, profile: str = "llm-binary") -> Decision | None:
    return read_decision(LlmReply(reply), named_profile(profile))


@pytest.mark.parametrize(
    "reply",
    [
        f"```json\n{YES}\n```", f"Here is my verdict:\n\n```json\n{YES}\n```", f"**{YES}**",
        f"{YES}\n\nThe premise says so.", '{"entailed": true, "reason": "says 1964"}',
        '{"entailed": "true"}', '{"Entailed": True}', "true", "True.", f"{YES} {YES}",
        'I looked at {"the": "text"}. {"entailed": true}', "entailed: true",
        "{“entailed”: true}", "{„entailed“: true}", "{«entailed»： true}", "{‘entailed’: True}",
    ],
)  # fmt: skip
def test_verdicts_in_json(reply: str) -> None:
    assert decide(reply) == Verdict(True)
    assert decide(reply.replace("true", "false").replace("True", "False")) == Verdict(False)


@pytest.mark.parametrize("opened", ['{"a":', "{", '{"a":[', "{{“a”:"])
@pytest.mark.parametrize("times", [1, 19, 300, 30_000])
def test_a_verdict_after_objects_that_are_never_closed(opened: str, times: int) -> None:
    assert decide(f"{opened * times} x {YES}") == Verdict(True)
    assert decide(f"{opened * times} x {YES} {NO}") is None


@pytest.mark.parametrize(
    ("yes", "no"), [("1", "0"), ("1.0", "0.0"), ('"yes"', '"no"'), ('"1"', '"0"')]
)
def test_other_words_for_booleans(yes: str, no: str) -> None:
    assert decide(f'{{"entailed": {yes}}}') == Verdict(True)
    assert decide(f'{{"entailed": {no}}}') == Verdict(False)
    assert decide(f"{{“entailed”: {yes},}}") == Verdict(True)
    assert decide(f'{{"entailed": {yes}}} {{"entailed": {no}}}') is None
    # A profile whose values are words has no other words for them.
    assert decide(f'{{"support": {yes}}}', "llm-three-level") is None


@pytest.mark.parametrize(
    "reply", [f"{YES}\n{NO}", "", "I cannot tell.", '{"entailed": 2}', '{"entailed": null}', "{",
              '{"verdict": true}', "[true]", '{"entailed": false, "entailed": true}',
              '{"\\u0065ntailed": false, "entailed": true}',
              '{"Entailed": false, "entailed": true}',
              '{"entailed": true, "entailed": false, "entailed": true}'],
)  # fmt: skip
def test_two_verdicts_or_none_are_unreadable(reply: str) -> None:
    assert decide(reply) is None


def test_levels_are_read_as_flags_are() -> None:
    for level, support in (("full", 1.0), ("partial", 0.5), ("no", 0.0)):
        for reply in (f'```\n{{"support": "{level}"}}\n```', f"Support: {level}", level.upper()):
            assert decide(reply, "llm-three-level") == Verdict(level == "full", support=support)
    assert decide('{"result": "unknown"}', "llm-fact") == Verdict(False, undecided=True)


@pytest.mark.parametrize(
    ("reply", "entailed"),
    [
        ("Yes", True), ("**Yes**", True), ("Yes, the claim is supported.", True), ("no.", False),
        ("Answer: Yes", True), ("Final answer: **No**", False), ("The answer is no.", False),
        ("Not at all.", None), ("There is no doubt: Yes", None), ("Yes. Answer: No", None),
        ("Unsupported", None), ("", None),
    ],
)  # fmt: skip
def test_words(reply: str, entailed: bool | None) -> None:
    """What is neither yes nor no is no verdict, as it was taken for a no before."""
    expected = None if entailed is None else Verdict(entailed)
    assert decide(reply, "bespoke-minicheck") == expected


@pytest.mark.parametrize(
    ("reply", "mark"),
    [
        ("4", 4), ("4/5", 4), ("4 out of 5", 4), ("4.0", 4), ("４", 4), ("**4**", 4), ("#4", 4),
        ("Score: 4", 4), ("```\n4\n```", 4), ("I would rate this 4 on a scale of 1 to 5.", 4),
        ("5/5", 5), ("3, 3", 3), ("4 - it is good", 4), ("I'd give it a 4.", 4),
        ("4.5", None), ("10", None), ("", None), ("between 2 and 4", None), ("five", None),
        ("I cannot give question 3 a mark.", None), ("Score: 3. Score: 4", None),
    ],
)  # fmt: skip
def test_marks(reply: str, mark: float | None) -> None:
    assert read_mark(reply) == mark


def ask(server: Provider, store: ReplayStore | None = None, **options: object) -> JudgeSession:
    client = RunOptions(base_url=server.url, max_retries=1, concurrency=1, **options)  # type: ignore[arg-type]
    session = JudgeSession(LlmJudge(OpenAiLlm("m", store, client)))
    session.ask(PAIRS)
    return session


def test_a_judge_that_thinks_is_asked_once_per_pair(key: str) -> None:
    with provider(lambda body: chat(f"<think>{NO}?</think>\n{YES}")) as server:
        session = ask(server)
        assert session.n_failed == 0
        assert [session.ask([p])[p] for p in PAIRS] == [Verdict(True)] * 2
        assert len(server.bodies) == 2
        assert {b["max_tokens"] for b in server.bodies} == {30 + 4096}


def test_a_judge_asks_for_the_form_that_the_server_takes(key: str) -> None:
    def deepseek(body: Body) -> Sent:
        if body.get("response_format", {}).get("type") == "json_schema":
            return refusal("This response_format type is unavailable now")
        return chat(YES)

    with provider(deepseek) as server:
        assert ask(server).n_failed == 0
        kinds = [b["response_format"]["type"] for b in server.bodies]
    assert kinds == ["json_schema", "json_object", "json_object"]


def thinking_briefly(body: Body) -> Sent:
    if body["max_tokens"] < 500:
        return chat(None, "length", reasoning_content="hm")
    return chat(YES)


@pytest.mark.parametrize(
    ("behave", "options", "reason"),
    [
        (thinking_briefly, {"thinking_tokens": 0}, "raise --thinking-tokens"),
        (lambda body: chat("Perhaps."), {}, "no verdict in 3 replies; the last: 'Perhaps.'"),
        (lambda body: refusal("no such model", status=404), {}, "HTTP 404: no such model"),
    ],
)
def test_why_the_judge_failed(
    behave: Behaviour, options: dict[str, int], reason: str, key: str
) -> None:
    with provider(behave) as server:
        session = ask(server, **options)
    assert session.n_failed == 2
    assert reason in session.first_failure
    failures = session.ask(PAIRS).values()
    assert all(isinstance(f, JudgeFailure) for f in failures)


def test_replies_and_verdicts_may_share_a_file(key: str, tmp_path: Path) -> None:
    with provider(lambda body: chat(YES)) as server:
        options = RunOptions(base_url=server.url)
        for n_asked in (2, 0):
            with VerdictStore(tmp_path / "one.db") as kept, ReplayStore(tmp_path / "one.db") as st:
                session = JudgeSession(LlmJudge(OpenAiLlm("m", st, options)), kept)
                session.ask(PAIRS)
                assert session.n_asked == n_asked
                assert kept.stats().answers == 2
                assert kept.seconds_per_pair(session.judge.identity()) is not None
        assert len(server.bodies) == 2


def test_the_command_says_why_and_ends_in_3(tmp_path: Path, inline: Inline) -> None:
    texts = ({"premise": p.premise, "hypothesis": p.hypothesis} for p in PAIRS)
    rows = "".join(json.dumps(row) + "\n" for row in texts)
    (tmp_path / "pairs.jsonl").write_text(rows)
    with provider(thinking_briefly) as server:
        command = ("labels", "judge", "pairs.jsonl", "--judge", "openai:m", "--out", "v.jsonl")
        there = ("--base-url", server.url)
        done = inline.fails(3, "judge-failed", *command, *there, "--thinking-tokens", 100)
        assert "--thinking-tokens" in done.stderr
        inline.ok(*command, *there)
