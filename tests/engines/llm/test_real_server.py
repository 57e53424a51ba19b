"""Our client against a server of the protocol that is not ours: `transformers serve`."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from citeforge.builders.authorship.twins import build_twins
from citeforge.builders.rage.build import build_rage
from citeforge.builders.verify import verify
from citeforge.engines.llm import smollm
from citeforge.engines.llm.records import LlmReply, Request
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.running.names import make_embedder
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import Mixture, RageRecipe
from citeforge.schemas.recipes.twins import Attempts, TwinsRecipe
from conftest import Inline, write_beir
from patience import patience
from servers.running import transformers_server

pytestmark = pytest.mark.slow
BRIDGES = {
    "p1": "The Golden Gate Bridge opened in 1937.",
    "p2": "The Bay Bridge opened in 1936.",
    "p3": "Titan is a moon of Saturn.",
}

TWO = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
wd:P22 rdfs:label "father"@en ; wikibase:directClaim wdt:P22 .
wd:P31 rdfs:label "instance of"@en ; wikibase:directClaim wdt:P31 .
wd:P101 rdfs:label "field of work"@en ; wikibase:directClaim wdt:P101 .
wd:P135 rdfs:label "movement"@en ; wikibase:directClaim wdt:P135 .
wd:Q5 rdfs:label "human"@en .
wd:Q1 rdfs:label "Ada Lovelace"@en ; wdt:P31 wd:Q5 ; wdt:P22 wd:Q2 ; wdt:P101 wd:Q3 .
wd:Q2 rdfs:label "Lord Byron"@en ; wdt:P31 wd:Q5 ; wdt:P135 wd:Q4 .
wd:Q3 rdfs:label "mathematics"@en .
wd:Q4 rdfs:label "Romanticism"@en .
"""


@dataclass(frozen=True)
class Served:
    """A model and where it is served."""

    model: str
    url: str

    def client(self) -> OpenAiLlm:
        options = RunOptions(
            base_url=self.url, concurrency=2, timeout=patience(600), thinking_tokens=0
        )
        return OpenAiLlm(self.model, None, options)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    for package in ("fastapi", "uvicorn"):
        pytest.importorskip(package)
    folder = smollm.model_folder()
    with transformers_server(folder, tmp_path_factory.mktemp("server") / "log") as url:
        yield Served(str(folder), url)


@pytest.fixture(scope="module")
def bridges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bridges")
    queries = {"q1": "When did the Golden Gate Bridge open?"}
    source = write_beir(folder / "beir", BRIDGES, queries, [("q1", "p1", 1)])
    mixture = Mixture(name="mix", relevant=1, irrelevant=1, seemingly_relevant=0)
    recipe = RageRecipe(
        source=f"beir:{source}", licence="cc0-1.0", embedder="offline", mixtures=(mixture,)
    )
    build_rage(
        recipe,
        RunOptions(out=folder / "out"),
        make_embedder("offline", EmbedderSettings(device="cpu")),
    )
    return folder / "out"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


def test_a_system_s_answers_are_scored(
    served: Served, bridges: Path, tmp_path: Path, inline: Inline
) -> None:
    done = inline(
        *("run", "rage", "--llm", f"openai:{served.model}", "--base-url", served.url),
        *("--benchmark", bridges, "--out", tmp_path / "s.jsonl", "--max-answer", 12),
        *("--timeout", patience(600), "--logprobs"),
        OPENAI_API_KEY=os.environ["OPENAI_API_KEY"],
    )
    assert done.returncode == 0, done.stderr
    # This server takes `logprobs` and gives none; whoever asked for them must hear of it.
    assert "1 without the log probabilities that were asked for" in done.stdout
    answer = json.loads((tmp_path / "s.jsonl").read_text().splitlines()[1])
    assert answer["output"].startswith("The Golden Gate Bridge opened")
    assert answer["finish_reason"] == "length"
    checked = inline("check", tmp_path / "s.jsonl", "--benchmark", bridges)
    assert checked.returncode == 0, checked.stderr


def test_a_judge_is_asked_and_interact_runs(
    served: Served, bridges: Path, tmp_path: Path, inline: Inline
) -> None:
    key = {"OPENAI_API_KEY": os.environ["OPENAI_API_KEY"]}
    there = ("--base-url", served.url, "--timeout", patience(600))
    llm = f"openai:{served.model}"
    ran = inline(
        *("run", "interact", "--llm", llm, *there, "--benchmark", bridges, "--turns", 1),
        *("--max-answer", 12, "--out", "i.jsonl"),
        **key,
    )
    assert ran.returncode == 0, ran.stderr
    said = {"query_id": "q1", "output": "The Golden Gate Bridge opened in 1937 [1] [2]."}
    (tmp_path / "s.jsonl").write_text(json.dumps(said) + "\n")
    scored = inline(
        *("score", "s.jsonl", "--benchmark", bridges, "--measures", "ALCE.CitRec"),
        *("--judge", llm, *there, "--thinking-tokens", 0, "--out", "r.json"),
        **key,
    )
    failed = json.loads((tmp_path / "r.json").read_text())["counts"]["n_judge_failed"]
    # A model of this size may say nothing that is a verdict; then it is said so, with the reply.
    assert scored.returncode == (3 if failed else 0), scored.stderr
    assert not failed or "no verdict in 3 replies; the last: " in scored.stderr


def test_twins_are_written(served: Served, bridges: Path, tmp_path: Path) -> None:
    recipe = TwinsRecipe(
        benchmark=bridges,
        llm=f"openai:{served.model}",
        attempts=Attempts(limit=1),
        keep_failed=True,
    )
    run = RunOptions(
        out=tmp_path / "twins", base_url=served.url, timeout=patience(600), thinking_tokens=0
    )
    manifest = build_twins(recipe, run)
    assert manifest.models["twin author"] == {"name": f"openai:{served.model}"}
    assert json.loads((tmp_path / "twins" / "stats.json").read_text())


def test_documents_are_asked_about(served: Served, tmp_path: Path, inline: Inline) -> None:
    """A model of this size writes no question that passes: the build says what took it."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bridges.md").write_text(
        "# Bridges\n\nThe Golden Gate Bridge opened in 1937 after years of work. It is painted "
        "in orange. The Bay Bridge opened in 1936 between Oakland and San Francisco. Both span "
        "the bay, and thousands of cars cross them on every day of the year.\n"
    )
    shares = ("--single", 1, "--pair", 0, "--list", 0, "--absent", 0)
    done = inline(
        *("build", "documents", "--source", "folder:docs", "--licence", "cc0-1.0", "--out", "d"),
        *("--llm", f"openai:{served.model}", "--base-url", served.url, "--judge", "lexical"),
        *("--queries", 1, "--tries", 1, "--closed-book", 1, *shares),
        *("--timeout", patience(600), "--thinking-tokens", 0),
        OPENAI_API_KEY=os.environ["OPENAI_API_KEY"],
    )
    if done.returncode == 0:
        assert verify(tmp_path / "d") == []
        return
    assert done.returncode == 1, done.stderr
    assert "none of 1 questions was accepted (rejected by the checks: 1 " in done.stderr
    (row,) = map(json.loads, (tmp_path / "d.questions.jsonl").read_text().splitlines())
    assert row["check"] and not row["reason"].startswith("no reply")


def test_kalma_is_built_answered_and_scored(served: Served, tmp_path: Path, inline: Inline) -> None:
    """Every prompt of the writer gets its answer. What this model writes is not what was asked for
    but in the seed (it is too small), so the template stands in, and both are counted."""
    (tmp_path / "two.ttl").write_text(TWO)
    endpoint = ("--base-url", served.url, "--timeout", patience(600), "--thinking-tokens", 0)
    done = inline(
        *("build", "kalma", "--kg", "file:two.ttl", "--pairs-from-kg", "father"),
        *("--writer", f"openai:{served.model}", *endpoint, "--min-facts", 1, "--attempts", 1),
        *("--nearest", "none"),
        *("--stand-in", "--licence", "cc0-1.0", "--out", "two"),
        OPENAI_API_KEY=os.environ["OPENAI_API_KEY"],
    )
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "two" / "manifest.json").read_text())
    assert manifest["models"]["writer"] == {"name": f"openai:{served.model}"}
    counts = manifest["counts"]
    instead = {k: n for k, n in counts.items() if k.startswith("texts_by_the_template")}
    refused = {k: n for k, n in counts.items() if k.startswith("replies_refused")}
    # Each text was asked for once, and one that was refused is the template's.
    assert sum(instead.values()) == sum(refused.values()) > 0
    assert verify(tmp_path / "two") == []
    ran = inline(
        *("run", "kalma", "--benchmark", "two", "--context", "full", "--max-answer", 32),
        *("--llm", f"openai:{served.model}", *endpoint, "--out", "k.jsonl"),
        OPENAI_API_KEY=os.environ["OPENAI_API_KEY"],
    )
    assert ran.returncode == 0, ran.stderr
    scored = inline("score", "k.jsonl", "--benchmark", "two", "--measures", "KaLMA.Corr@micro")
    assert scored.returncode == 0, scored.stderr
    marked = inline(
        *("score", "k.jsonl", "--benchmark", "two", "--measures", "GEval.fluency", "--verbose"),
        *("--llm", f"openai:{served.model}", *endpoint, "--out", "g.json"),
        OPENAI_API_KEY=os.environ["OPENAI_API_KEY"],
    )
    # It is too small to be sure of a mark: there is one, or none and the reason is said.
    assert marked.returncode in (0, 3), marked.stderr
    if marked.returncode == 0:
        (entry,) = json.loads((tmp_path / "g.json").read_text())["measures"]
        assert 1 <= entry["value"] <= 5
    else:
        assert "answers got a mark: " in marked.stderr


def test_the_text_that_ends_an_answer_is_no_part_of_it(served: Served) -> None:
    prompt = f"{' '.join(BRIDGES.values())} When did the Golden Gate Bridge open?"
    params = {"temperature": 0.0, "max_tokens": 12, "stop": [" opened"]}
    request = Request((("user", prompt),), params, needs_text=False)
    (answer,) = served.client().complete([request])
    assert isinstance(answer, LlmReply), answer
    assert answer.text == "The Golden Gate Bridge"
