"""Sessions, the embedded judge, tables, and an LLM as judge."""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge import settings
from citeforge.engines.judge.no_model import LexicalJudge, text_hash
from citeforge.engines.judge.records import JudgeFailure, Keep, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.running.names import make_judge
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Judging, RunOptions
from conftest import refused
from patience import patience
from servers.running import Running
from stand_ins import RuleJudge


class Counting:
    """Entailed when the premise holds the hypothesis; remembers what it was asked."""

    signature = "counting@1"
    comparable = False

    def __init__(self, version: int = 1) -> None:
        self.version = version
        self.asked: list[Pair] = []

    def identity(self) -> dict[str, Any]:
        return {"name": "counting", "version": self.version}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return sum(len(p.premise) for p in pairs)

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        for i, pair in enumerate(pairs):
            self.asked.append(pair)
            broken = "broken" in pair.premise
            verdict = Verdict(pair.hypothesis in pair.premise, 1.0)
            keep([(i, JudgeFailure("broken") if broken else verdict)])


A, B, EMPTY = Pair("a b", "a"), Pair("a b", "c"), Pair("  ", "a")


def test_duplicates_are_asked_once_and_empty_premises_never() -> None:
    judge = Counting()
    session = JudgeSession(judge)
    result = session.ask([A, B, A, EMPTY, A])
    assert judge.asked == [A, B]
    assert result == {A: Verdict(True, 1.0), B: Verdict(False, 1.0), EMPTY: Verdict(False)}
    session.ask([A, EMPTY])  # a second wave
    assert judge.asked == [A, B]
    assert (session.n_asked, session.n_stored, session.n_failed) == (2, 0, 0)


def test_the_store_answers_other_sessions_of_the_same_judge(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v.db") as store:
        first = JudgeSession(Counting(), store).ask([A, B])
        judge = Counting()
        session = JudgeSession(judge, store)
        assert session.ask([A, B]) == first
        assert (judge.asked, session.n_stored, session.n_asked) == ([], 2, 0)
        other = Counting(version=2)
        JudgeSession(other, store).ask([A])
        assert other.asked == [A]


def test_failures_are_counted_and_asked_again(tmp_path: Path) -> None:
    broken = Pair("broken", "a")
    with VerdictStore(tmp_path / "v.db") as store:
        for _ in range(2):
            judge = Counting()
            session = JudgeSession(judge, store)
            assert isinstance(session.ask([A, broken])[broken], JudgeFailure)
            assert session.n_failed == 1
            assert broken in judge.asked


def test_the_plan_asks_nothing(tmp_path: Path) -> None:
    with VerdictStore(tmp_path / "v.db") as store:
        JudgeSession(Counting(), store).ask([A])
        judge = Counting()
        plan = JudgeSession(judge, store).plan([A, A, B, EMPTY])
        assert (plan.pairs, plan.distinct, plan.stored, plan.tokens) == (4, 2, 1, len("a b"))
        assert plan.seconds is not None
        assert judge.asked == []
        assert any("to judge           1" in line for line in plan.to_text_lines())


@pytest.fixture
def options(server: Running) -> RunOptions:
    return RunOptions(base_url=server.url, max_retries=1)


def test_repeats_are_verdicts_of_their_own_and_none_is_paid_twice(
    server: Running, options: RunOptions, tmp_path: Path
) -> None:
    yes, no = '{"entailed": true}', '{"entailed": false}'
    unsure, odd = Pair("t", f"#turns:{yes}|{no}|{yes}#"), Pair("t", f"#turns:hm|{no}#")
    expected = [Verdict(True), Verdict(False), Verdict(True)]
    with (
        ReplayStore(tmp_path / "r.db") as replay,
        VerdictStore(tmp_path / "v.db") as store,
    ):
        judge = make_judge("openai:m", run=options, replay=replay)

        def asked(session: JudgeSession, pair: Pair) -> list[Any]:
            result = []
            for repeat in range(session.repeats):
                session.repeat = repeat
                result += session.ask([pair]).values()
            return result

        first = JudgeSession(judge, store, 1)
        assert asked(first, unsure) == expected[:1]
        session = JudgeSession(judge, store, 3)
        assert session.plan([unsure, unsure]).distinct == 3
        assert (session.plan([unsure]).stored, session.n_asked) == (1, 0)
        one, three = (JudgeSession(judge, repeats=n).plan([unsure]).tokens for n in (1, 3))
        assert one is not None and three == 3 * one
        assert asked(session, unsure) == expected
        assert len(server.requests()) == 3  # the first verdict was stored
        assert asked(session, unsure) == expected
        assert asked(JudgeSession(judge, store, 3), unsure) == expected
        assert asked(JudgeSession(judge, None, 3), unsure) == expected  # the replies are stored
        assert len(server.requests()) == 3
        # Every repeat has three tries of its own: "hm" is asked again, each time.
        assert asked(session, odd) == [Verdict(False)] * 3
        assert len(server.requests()) == 3 + 6
        assert (session.n_failed, session.failures()) == (0, 0)


def test_a_judge_that_decides_alike_has_no_repeats() -> None:
    with refused("option-without-effect"):
        JudgeSession(LexicalJudge(), repeats=2)


@pytest.mark.parametrize(
    ("premise", "hypothesis", "entailed"),
    [
        ("Io is a moon of Jupiter.", "Io is a moon of Jupiter.", True),
        ("Io, the moon, circles Jupiter.", "Jupiter has the moon Io", True),
        ("Io is a moon of Jupiter.", "Titan is a moon of Saturn.", False),
        # Three of four words are there, and the number is not.
        ("The bridge opened in 1937.", "The bridge opened 1883.", False),
        ("The bridge opened in 1937.", "The bridge opened in 1937.", True),
        ("Anything.", "It is.", False),
        ("Anything.", "", False),
    ],
)
def test_the_lexical_judge(premise: str, hypothesis: str, entailed: bool) -> None:
    pair = Pair(premise, hypothesis)
    verdict = JudgeSession(LexicalJudge()).ask([pair])[pair]
    assert isinstance(verdict, Verdict)
    assert verdict.entailed is entailed
    assert not LexicalJudge.comparable


def test_a_table_of_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [
        {"premise": "a b", "hypothesis": "a", "verdict": True, "margin": 0.5},
        {"premise_sha256": text_hash("a b"), "hypothesis": "c", "verdict": False},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    session = JudgeSession(make_judge(f"table:{path}"))
    result = session.ask([A, B, Pair("x", "y")])
    assert result[A] == Verdict(True, 0.5)
    assert result[B] == Verdict(False)
    assert isinstance(result[Pair("x", "y")], JudgeFailure)
    assert session.judge.signature.startswith("table:t.jsonl@")


def test_a_table_with_verdicts_on_other_questions(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    same = {"premise": "a b", "hypothesis": "a"}
    rows = [
        {**same, "verdict": True},
        {**same, "verdict": False, "question": "llm-need-citation"},
        {**same, "verdict": False, "support": "partial", "question": "llm-half-support"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    session = JudgeSession(make_judge(f"table:{path}"))
    assert session.answers_questions
    pairs = [Pair("a b", "a", q) for q in ("", "llm-need-citation", "llm-half-support")]
    expected = [Verdict(True), Verdict(False), Verdict(False, support=0.5)]
    assert list(session.ask(pairs).values()) == expected
    other = Pair("a b", "a", "llm-relevant")
    assert isinstance(session.ask([other])[other], JudgeFailure)
    path.write_text(json.dumps(rows[0]) + "\n")
    assert not JudgeSession(make_judge(f"table:{path}")).answers_questions


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        ({"premise": "a", "verdict": True}, "wrong-value", "hypothesis"),
        ({"premise": "a", "hypothesis": "b", "verdict": 1}, "wrong-type", "verdict"),
        ({"premise": "a b", "hypothesis": "a", "verdict": False}, "duplicate-id", None),
        (
            {"premise": "a", "hypothesis": "b", "verdict": True, "question": "x"},
            "wrong-value",
            "question",
        ),
    ],
)
def test_wrong_tables(tmp_path: Path, row: dict[str, Any], code: str, field: str | None) -> None:
    path = tmp_path / "t.jsonl"
    good = {"premise": "a b", "hypothesis": "a", "verdict": True}
    path.write_text(f"{json.dumps(good)}\n{json.dumps(row)}\n")
    with refused(code, path=path, line=2, field=field):
        make_judge(f"table:{path}")


def script(reply: str) -> Pair:
    """A pair whose text makes the server say ``reply``."""
    return Pair("text", f"claim #script:{reply}#")


def test_an_llm_as_judge(server: Running, options: RunOptions, tmp_path: Path) -> None:
    yes, no = script('{"entailed": true}'), script('{"entailed": false}')
    words, number = script("Yes, it does."), script('{"entailed": 2}')
    with (
        ReplayStore(tmp_path / "r.db") as replay,
        VerdictStore(tmp_path / "v.db") as store,
    ):
        judge = make_judge("openai:m", run=options, replay=replay)
        session = JudgeSession(judge, store)
        result = session.ask([yes, no, words, number])
        assert result[yes] == Verdict(True)
        assert result[no] == Verdict(False)
        # Unparsable replies are asked for again, as samples of their own, then given up.
        for pair, said in ((words, "Yes, it does."), (number, '{"entailed": 2}')):
            assert result[pair] == JudgeFailure(f"no verdict in 3 replies; the last: {said!r}")
        assert session.n_failed == 2
        assert len(server.requests()) == 4 + 2 + 2
        payload = next(iter(replay.export())).payload
        assert payload["temperature"] == 0
        assert payload["response_format"]["json_schema"]["strict"] is True
        JudgeSession(judge, store).ask([yes, no])
        assert len(server.requests()) == 8


def test_vllm_is_an_llm_on_this_machine(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    yes = script('{"entailed": true}')
    monkeypatch.setattr(settings, "VLLM_URL", server.url)
    judge = make_judge("vllm:m")
    assert JudgeSession(judge).ask([yes]) == {yes: Verdict(True)}  # no key is needed
    # It is the judge that openai: names, whatever the address.
    assert judge.identity() == make_judge("openai:m").identity()
    monkeypatch.setattr(settings, "VLLM_URL", "http://127.0.0.1:9/v1")
    named = make_judge("vllm:m", run=RunOptions(base_url=server.url))
    assert JudgeSession(named).ask([yes]) == {yes: Verdict(True)}
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    assert JudgeSession(make_judge("vllm:m")).ask([yes]) == {yes: Verdict(True)}
    assert len(server.requests()) == 3


def test_wrong_names() -> None:
    for name in ("vllm:", "nli", "hf:", "openai:", "table:"):
        with refused("unknown-name"):
            make_judge(name)


def test_three_levels_of_an_llm_are_stored_and_written(options: RunOptions, tmp_path: Path) -> None:
    from citeforge.plugins.labels.judging import write_verdicts

    pairs = [script(f'{{"support": "{level}"}}') for level in ("full", "partial", "no")]
    odd = script('{"support": "maybe"}')
    expected = [Verdict(True, support=1), Verdict(False, support=0.5), Verdict(False, support=0)]
    with VerdictStore(tmp_path / "v.db") as store:
        judge = make_judge(
            "openai:m", run=options, judging=Judging(judge_profile="llm-three-level")
        )
        assert judge.signature.startswith("openai:m@llm-three-level@")
        result = JudgeSession(judge, store).ask([*pairs, odd])
        assert [result[p] for p in pairs] == expected
        assert isinstance(result[odd], JudgeFailure)
        again = JudgeSession(judge, store)
        assert list(again.ask(pairs).values()) == expected
        assert (again.n_asked, again.n_stored) == (0, 3)
    table = tmp_path / "t.jsonl"
    assert write_verdicts(table, pairs, result) == 1
    read = JudgeSession(make_judge(f"table:{table}")).ask(pairs)
    assert [v.level for v in read.values() if isinstance(v, Verdict)] == [1, 0.5, 0]
    table.write_text(table.read_text().replace('"support":"partial"', '"support":"full"'))
    with refused("wrong-value", path=table, line=2):
        make_judge(f"table:{table}")


def test_what_an_llm_cannot_tell_is_stored_and_written(options: RunOptions, tmp_path: Path) -> None:
    from citeforge.plugins.labels.judging import write_verdicts

    words = ("supported", "unsupported", "unknown")
    pairs = [script(f'{{"result": "{word}"}}') for word in words]
    expected = [Verdict(True), Verdict(False), Verdict(False, undecided=True)]
    with VerdictStore(tmp_path / "v.db") as store:
        judge = make_judge("openai:m", run=options, judging=Judging(judge_profile="llm-fact"))
        result = JudgeSession(judge, store).ask(pairs)
        assert [result[p] for p in pairs] == expected
        again = JudgeSession(judge, store)
        assert list(again.ask(pairs).values()) == expected
        assert (again.n_asked, again.n_stored) == (0, 3)
    table = tmp_path / "t.jsonl"
    assert write_verdicts(table, pairs, result) == 1
    assert list(JudgeSession(make_judge(f"table:{table}")).ask(pairs).values()) == expected
    lines = table.read_text().splitlines()
    assert json.loads(lines[2])["verdict"] == "undecided"
    for wrong, code in (
        ({**json.loads(lines[2]), "support": "no"}, "wrong-value"),
        ({**json.loads(lines[2]), "verdict": False}, "duplicate-id"),
        ({**json.loads(lines[2]), "verdict": "maybe"}, "wrong-value"),
    ):
        table.write_text("\n".join([*lines, json.dumps(wrong)]))
        with refused(code, path=table, line=4):
            make_judge(f"table:{table}")


def test_a_chunk_that_tells_nothing_leaves_the_decision_to_the_others() -> None:
    from citeforge.engines.judge.chunks import combine_decisions

    no, yes, nothing = Verdict(False), Verdict(True), Verdict(False, undecided=True)
    assert combine_decisions([[nothing, no]]) == no
    assert combine_decisions([[nothing, yes]]) == yes
    assert combine_decisions([[nothing, nothing]]) == nothing
    # Of two sentences the least counts.
    assert combine_decisions([[nothing], [no]]) == no
    assert combine_decisions([[nothing], [yes]]) == nothing


def test_the_first_word_of_a_reply(server: Running, options: RunOptions) -> None:
    """Bespoke-MiniCheck on a server: each sentence of the statement must be supported."""
    yes, no, empty = script("YES, it is"), script("no"), script("…")
    both = Pair("text", "He said #script:Yes#. And she said #script:No#.")
    judge = make_judge("openai:bespoke-minicheck", run=options)
    assert judge.comparable
    result = JudgeSession(judge).ask([yes, no, empty, both])
    requests = server.requests()
    assert result[yes] == Verdict(True)
    assert result[no] == Verdict(False)
    assert isinstance(result[empty], JudgeFailure)
    assert result[both] == Verdict(False)
    assert len(requests) == 2 + 3 + 2  # the dots three times, two sentences of the last
    assert "response_format" not in requests[0]


def test_cut_premises_are_counted_a_submission() -> None:
    session = JudgeSession(RuleJudge(lambda p, _: Verdict(True, truncated="long" in p)))
    session.ask([Pair("long a", "x"), Pair("b", "x")])
    assert session.cuts() == 1
    session.begin()
    session.ask([Pair("b", "x")])
    assert session.cuts() == 0
    assert session.n_truncated == 1


def test_another_thread_reads_its_decisions_while_the_judge_is_busy() -> None:
    """The judge hangs until the gate opens; meanwhile known pairs are asked and counted."""
    started, gate = threading.Event(), threading.Event()

    class Hanging(Counting):
        def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
            if B in pairs:
                started.set()
                assert gate.wait(patience(60))
            super().decide(pairs, keep)

    broken = Pair("broken", "a")
    judge = Hanging()
    session = JudgeSession(judge)
    session.ask([A, broken])
    first, second = session.share(), session.share()
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(first.ask, [A, B])
        assert started.wait(patience(60))
        reader = session.share()
        assert reader.ask([A, broken]) == session.ask([A, broken])
        assert (reader.failures(), reader.cuts(), reader.n_asked) == (1, 0, 0)
        waiting = threads.submit(second.ask, [B])
        gate.set()
        assert slow.result() == {A: Verdict(True, 1.0), B: Verdict(False, 1.0)}
        assert waiting.result() == {B: Verdict(False, 1.0)}
    assert judge.asked == [A, broken, B]
    assert (first.n_asked, first.failures(), second.n_asked) == (1, 0, 0)


def test_a_pair_may_ask_something_else_and_its_verdict_is_kept_apart(
    server: Running, options: RunOptions, tmp_path: Path
) -> None:
    asked = Pair("t", '#turns:{"need": "reasoning"}#', question="llm-need-citation")
    needed = Pair("t", '#turns:{"need": "needed"}#', question="llm-need-citation")
    entailed = Pair("t", '#turns:{"entailed": true}#')
    half = Pair("t", '#turns:{"support": "half"}#', question="llm-half-support")
    pairs = [asked, needed, entailed, half]
    expected = [Verdict(False), Verdict(True), Verdict(True), Verdict(False, support=0.5)]
    with VerdictStore(tmp_path / "v.db") as store:
        judge = make_judge("openai:m", run=options)
        session = JudgeSession(judge, store)
        assert session.answers_questions
        assert list(session.ask(pairs).values()) == expected
        texts = [r["text"] for r in server.requests()]
        ends = ("need a citation", "claim follow", "does the text support")
        assert [sum(end in text for text in texts) for end in ends] == [2, 1, 1]
        # Stored verdicts answer the same questions only.
        assert JudgeSession(judge, store).plan(pairs).stored == 4
        others = [Pair(p.premise, p.hypothesis) for p in (asked, needed, half)]
        assert JudgeSession(judge, store).plan([*pairs, *others]).stored == 4


def test_a_judge_of_entailment_is_asked_nothing_else() -> None:
    session = JudgeSession(LexicalJudge())
    assert not session.answers_questions
    with refused("missing-judge", UsageError):
        session.ask([Pair("t", "t", question="llm-relevant")])
