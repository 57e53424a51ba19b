"""What a team meets that has the gate in CI: thirteen situations, each with its exit code."""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

import citeforge as cf
from conftest import Inline, build_into, write_beir
from servers.running import openai_server

pytestmark = pytest.mark.slow

N = 100
POLICY = "critical:\n  CiteF1@query: {margin: 8}\n  CiteR: {margin: 8}\n"
JUDGED = "critical:\n  ALCE.CitRec: {margin: 8}\ncounts: {judge_failed: 100}\n"


@dataclass
class Team:
    """A benchmark of 100 queries, and the commands that a team's workflow runs.

    Attributes:
        inline: runs commands in the folder of the test.
        folder: where the files are.
        package: the benchmark.
    """

    inline: Inline
    folder: Path
    package: Path

    def answer(self, name: str, is_right: Callable[[int, int], bool], runs: int = 1) -> None:
        """Write answers that cite all relevant passages of a query, or an irrelevant one."""
        benchmark = cf.load(self.package)
        lines: list[dict[str, object]] = [
            {"submission": {"system": "prod", "benchmark_hash": benchmark.hash}}
        ]
        for n, item in enumerate(benchmark.items("mix")):
            labels = [passage.label == "relevant" for passage in item.passages]
            right = [place for place, is_in in enumerate(labels, 1) if is_in]
            wrong = [place for place, is_in in enumerate(labels, 1) if not is_in]
            for run in range(runs):
                cited = right if is_right(n, run) else wrong[:1]
                text = f"Topic {n} is known {''.join(f'[{i}]' for i in cited)}."
                lines.append({"query_id": item.query_id, "output": text, "run": run})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.folder / f"{name}.jsonl").write_text(text)

    def score(self, name: str, *words: object, code: int = 0, out: str = "") -> None:
        """Score answers, with further options."""
        saved = self.folder / f"{out or name}.json"
        command = ("score", f"{name}.jsonl", "--benchmark", self.package, "--out", saved, *words)
        ran = self.inline(*command)
        assert (ran.returncode, saved.exists()) == (code, code in (0, 3)), ran.stderr

    def gate(self, code: int, *words: str) -> str:
        """Run the gate; return what it says, as JUnit has it."""
        outs = ("--policy", "gate.yaml", "--out", "gate.xml")
        ran = self.inline("gate", *words, *outs)
        assert ran.returncode == code, ran.stdout + ran.stderr
        (suite,) = ElementTree.parse(self.folder / "gate.xml").getroot()
        faults = int(suite.get("failures", "")), int(suite.get("errors", ""))
        assert (faults[0] > 0, faults[1] > 0, code) in {
            (False, False, 0), (True, False, 1), (True, True, 1), (False, True, 4),
            (False, True, 5),
        }  # fmt: skip
        return (self.folder / "gate.xml").read_text()


def build(folder: Path, name: str, word: str) -> Path:
    """Build a benchmark of 100 queries with two relevant passages each; a word varies the texts."""
    passages = {f"p{n}-{k}": f"Topic {n} is {word} in part {k}." for n in range(N) for k in (0, 1)}
    passages |= {f"o{n}": f"Nothing of number {n} is known." for n in range(N)}
    queries = {f"q{n}": f"What is topic {n}?" for n in range(N)}
    judged = [(f"q{n}", f"p{n}-{k}", 1) for n in range(N) for k in (0, 1)]
    source = write_beir(folder / f"{name}-source", passages, queries, judged)
    return build_into(cf.RageRecipe(source=f"beir:{source}", candidates="bm25"), folder / name)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("ci"), "mine", "known")


@pytest.fixture
def team(inline: Inline, tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A team with the scores of v1, which is right on 80 of 100 queries."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    (tmp_path / "gate.yaml").write_text(POLICY)
    made = Team(inline, tmp_path, package)
    made.answer("v1", lambda n, _: n % 5 > 0)
    made.score("v1")
    return made


def test_no_baseline(team: Team) -> None:
    assert "There is no baseline yet" in team.gate(5, "v1.json")


def test_the_same_answers(team: Team) -> None:
    team.score("v1", out="again")
    team.gate(0, "again.json", "--baseline", "v1.json")


def test_one_answer_of_a_hundred_is_worse(team: Team) -> None:
    team.answer("worse", lambda n, _: n % 5 > 0 and n != 1)
    team.score("worse")
    team.gate(0, "worse.json", "--baseline", "v1.json")


@pytest.mark.parametrize("share", [2, 4], ids=["v2", "v2big"])
def test_a_version_that_is_worse(team: Team, share: int) -> None:
    """20 or 40 of 80 right answers are lost."""
    team.answer("v2", lambda n, _: n % 5 > share // 2)
    team.score("v2")
    team.gate(1, "v2.json", "--baseline", "v1.json")


def test_the_benchmark_changed(team: Team, tmp_path: Path) -> None:
    changed = Team(team.inline, tmp_path, build(tmp_path, "mine", "famous"))
    changed.answer("new", lambda n, _: n % 5 > 0)
    changed.score("new")
    team.gate(4, "new.json", "--baseline", "v1.json")


def test_answers_are_missing(team: Team, tmp_path: Path) -> None:
    lines = (tmp_path / "v1.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "few.jsonl").write_text("".join(lines[:-10]))
    team.score("few")
    assert "10 of 100 answers are missing" in team.gate(1, "few.json", "--baseline", "v1.json")


def test_a_file_is_missing(team: Team) -> None:
    assert "gone.json: does not exist" in team.gate(5, "gone.json", "--baseline", "v1.json")
    assert "no baseline yet" in team.gate(5, "v1.json", "--baseline", "eval/baseline.json")


@contextmanager
def llm_judge(folder: Path, unread: str = "(?!)") -> Iterator[tuple[str, ...]]:
    """Options of an LLM judge that finds all supported; no verdict where a pattern is."""
    replies = [[unread, "Yes, it does."], [".", '{"entailed": true}']]
    with openai_server(folder / "log", replies=replies) as server:
        yield ("--measures", "ALCE.CitRec", "--base-url", server.url, "--judge")


def test_another_judge(team: Team, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text(JUDGED)
    with llm_judge(tmp_path) as judge:
        for name in ("one", "two"):
            team.score("v1", *judge, f"openai:{name}", out=name)
        team.score("v1", *judge, "openai:one", out="again")
    said = team.gate(4, "two.json", "--baseline", "one.json")
    assert "Score both in the same way" in said and "judge: openai:one@" in said, said
    team.gate(0, "again.json", "--baseline", "one.json")


def test_a_judge_that_fails_on_thirty_pairs(team: Team, tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text(JUDGED)
    for name in ("old", "new"):
        team.answer(name, lambda n, _: True)
    # The statement alone: passages say more of a topic.
    with llm_judge(tmp_path, r"Topic [789]\d is known(?! in)") as judge:
        team.score("new", *judge, "openai:one", code=3)
    with llm_judge(tmp_path) as judge:
        team.score("old", *judge, "openai:one")
    # Of each statement: both passages together, and each alone.
    assert cf.read_scores(tmp_path / "new.json").counts.n_judge_failed == 30 * 3
    team.gate(4, "new.json", "--baseline", "old.json")


def test_a_judge_that_is_down(team: Team) -> None:
    """No score file is written, and the gate says that there is none."""
    down = ("--base-url", "http://127.0.0.1:9/v1", "--max-retries", "0")
    team.score("v1", "--measures", "ALCE.CitRec", "--judge", "openai:m", *down, code=1, out="new")
    assert "new.json: does not exist" in team.gate(5, "new.json", "--baseline", "v1.json")


def chance(n: int, run: int) -> float:
    """A number from 0 to 1 that depends on a query and a run."""
    return hashlib.sha256(f"{n}/{run}".encode()).digest()[0] / 255


def test_a_flaky_system_that_became_worse(team: Team) -> None:
    for name, share in (("before", 0.8), ("after", 0.5)):
        team.answer(name, lambda n, run, share=share: chance(n, run) < share, runs=3)
        team.score(name)
    team.gate(1, "after.json", "--baseline", "before.json")


def test_a_flaky_system_against_one_run(team: Team) -> None:
    """As good as v1 on average, on other queries in each run: not shown to be no worse."""
    team.answer("flaky", lambda n, run: chance(n, run) < 0.78, runs=3)
    team.score("flaky")
    team.gate(4, "flaky.json", "--baseline", "v1.json")
