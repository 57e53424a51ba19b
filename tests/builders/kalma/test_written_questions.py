"""Questions that an LLM writes, on a scripted server: checked, asked again, dropped, audited."""

import json
import re
from pathlib import Path

import pytest

from citeforge.builders.kalma import build, question_nearest
from citeforge.builders.kalma.mentions import marker
from citeforge.builders.kalma.question_controls import KINDS
from citeforge.engines.running.setup import run_embedder
from citeforge.package.manifest import load_intact
from citeforge.package.package import Package
from citeforge.plugins.audit import run
from citeforge.plugins.audit.questions import CHECK
from citeforge.schemas.audit import Audit
from citeforge.schemas.counts import describe_count
from citeforge.schemas.kg import from_row
from citeforge.schemas.recipes.base import RunOptions
from conftest import EXAMPLES, Inline, refused
from servers.running import openai_server
from stand_ins import RuleEmbedder

GRAPH = EXAMPLES / "people" / "graph.ttl"
BUILD = ("build", "kalma", "--kg", f"file:{GRAPH}", "--pairs-from-kg", "father", "--limit", "1")
MODELS = ("--writer", "openai:m", "--checker", "openai:m", "--nearest", "none")


def in_quotes(text: str) -> str:
    """The pattern of a prompt that quotes a text."""
    return rf"<quote-\w+>\s*{re.escape(text)}\s*</quote"


def asked(*numbers: int) -> str:
    """The checker's reply: these facts are asked for."""
    return json.dumps({"asked": numbers, "other": []})


class Script:
    """Replies of a server that writes the texts of a template build, but asks vaguely at first."""

    def __init__(self, folder: Path) -> None:
        package = Package(folder)
        rounds = package.evolution.to_pylist()
        self.facts = [from_row(t) for r in rounds for t in r["triples"]]
        self.general, self.specific = (
            package.forms[form]["text"][0].as_py() for form in ("general", "specific")
        )
        names = dict.fromkeys(t.name for t in self.facts)
        self.vague = f"How did {' and '.join(names)} fare?"
        first = rounds[0]["paragraph"]
        numbers = range(1, len(self.facts) + 1)
        self.writer = [
            ["^Write one plain sentence", re.sub(r" ?\[[^]]*\]", "", first)],
            ["^Mark in the text", first],
            *([rf"Its citation:\s*{in_quotes(marker(from_row(r['triples'][0])))}", r["paragraph"]]
              for r in rounds[1:]),
            ["^Ask the one question", self.general],
            [r"^Ask a question.*mends this:\s*<quote-\w+>\s*does not ask for its facts:",
             self.specific],
            ["^Ask a question", self.vague],
        ]  # fmt: skip
        # It takes every fact for asked for, but in the vague question.
        self.checker = [
            [f"^You see a question.*{in_quotes(self.vague)}", asked()],
            ["^You see a question", asked(*numbers)],
        ]


@pytest.fixture
def script(tmp_path: Path, inline: Inline) -> Script:
    inline.ok(*BUILD, "--out", "template")
    return Script(tmp_path / "template")


def test_a_vague_question_is_asked_again_with_what_was_missing(
    script: Script, tmp_path: Path, inline: Inline
) -> None:
    with openai_server(tmp_path / "log", replies=script.writer + script.checker) as server:
        where = ("--base-url", server.url)
        inline.ok(*BUILD, *MODELS, *where, "--out", "k")
        prompts = [r["text"] for r in server.requests()]
        inline.ok("audit", "k", "--checker", "openai:m", *where)
    made, package = load_intact(tmp_path / "k"), Package(tmp_path / "k")
    assert package.forms["specific"]["text"].to_pylist() == [script.specific]
    assert made.counts["replies_refused[specific][does not ask for its facts]"] == 1
    # The vague question is asked of the checker; those in known words only where its errors are
    # measured: right, and with each kind of fault.
    checks = [p for p in prompts if p.startswith("You see a question")]
    assert len(checks) == 1 + 1 + len(KINDS)
    n, lines = len(script.facts), [f"{t.relation} of {t.name}: {t.value}" for t in script.facts]
    assert all(line in prompt for prompt in checks for line in lines)
    # The checker says of each that it asks for all facts and for nothing else.
    accepted = "1 of 1 (100.0 % [20.7, 100.0])"
    shares = {
        "gold_facts_asked_for[general]": f"{n} of {n} (100.0 %)",
        "gold_facts_asked_for[specific]": f"{n} of {n} (100.0 %)",
        "questions_that_ask_for_more[specific]": "0 of 1 (0.0 %)",
        "question_check_refused": "0 of 1 (0.0 % [0.0, 79.3])",
        **{f"question_check_accepted[{kind}]": accepted for kind in KINDS},
    }
    card = (tmp_path / "k" / "README.md").read_text()
    stats = json.loads((tmp_path / "k" / "stats.json").read_text())
    audit = Audit.model_validate_json((tmp_path / "k" / "audit.json").read_text())
    for key, share in shares.items():
        what = describe_count(key)
        assert stats[key] == share, what
        assert what in card and share in card, what
        assert f"; {what}: {share}" in audit.checks[CHECK], what
    assert not audit.flaws
    # One question of each form, beside the template's for the same facts.
    assert stats["distinct_openers[general questions]"] == 1
    assert stats["distinct_openers[general questions of the template]"] == 1


def test_an_audit_compares_clauses_with_wordings_as_the_build_did(
    script: Script, tmp_path: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, odd, name = "what did X do for a living", "what pursuit fed X", "Pierre Curie"
    model = RuleEmbedder(lambda t: (1.0, 0.0) if t in (known, odd) else (0.0, 1.0), name="offline")
    monkeypatch.setattr(question_nearest, "find_spec", lambda _: object())
    for module in (build, run):
        monkeypatch.setattr(module, "run_embedder", lambda *_, **__: model)
    question = script.specific.replace(known.replace("X", name), odd.replace("X", name))
    assert question != script.specific
    replies = [*script.writer[:-2], ["^Ask a question", question]]
    with openai_server(tmp_path / "log", replies=replies) as server:
        inline.ok(*BUILD, "--writer", "openai:m", "--nearest", "offline", "--base-url", server.url,
                  "--out", "k")  # fmt: skip
    assert load_intact(tmp_path / "k").counts["clauses_read_by_nearest_wording"] == 1
    inline.ok("audit", "k")
    found = Audit.model_validate_json((tmp_path / "k" / "audit.json").read_text())
    assert not found.flaws and "nearest wording by offline, cosine 0.9" in found.checks[CHECK]
    monkeypatch.setattr(question_nearest, "find_spec", lambda _: None)
    inline.ok("audit", "k")
    found = Audit.model_validate_json((tmp_path / "k" / "audit.json").read_text())
    assert [f.detail for f in found.flaws["specific-question"]] == [
        "asks in unknown words: what pursuit fed Pierre Curie"
    ]
    told = "; the build compared clauses with wordings by offline, this audit by no embedder: "
    assert found.checks[CHECK].endswith(f"{told}--nearest")
    # The embedder of the build may be named, if it runs here.
    inline.ok("audit", "k", "--nearest", "a/model")
    found = Audit.model_validate_json((tmp_path / "k" / "audit.json").read_text())
    assert not found.flaws and "nearest wording by offline, cosine 0.9" in found.checks[CHECK]
    served = inline("audit", "k", "--nearest", "openai:m")
    assert served.returncode == 2 and "embedders that run here" in served.stderr


def test_pairs_without_a_question_for_their_facts_are_dropped_and_counted(
    script: Script, tmp_path: Path, inline: Inline
) -> None:
    vague = ["^Ask ", script.vague]
    replies = [*script.writer[:-3], vague, ["^You see a question", asked()]]
    with openai_server(tmp_path / "log", replies=replies) as server:
        failed = inline(*BUILD, *MODELS, "--base-url", server.url, "--out", "k")
    assert failed.code == "no-queries" and not (tmp_path / "k").exists()
    for part in (
        "the writer asked no general question: does not ask for its facts: 1",
        "general: does not ask for its facts (3)",
    ):
        assert part in failed.stderr, failed.stderr


def test_an_unknown_embedder_is_named_by_the_option_that_names_it() -> None:
    with refused("unknown-name") as caught:
        run_embedder("nosuch:x", RunOptions(), option="--nearest")
    assert str(caught.value).startswith("--nearest 'nosuch:x': expected ")
