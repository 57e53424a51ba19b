"""The commands under torture, and the world that they run in."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote, split

from plugins.documents.village import N, write_documents

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
FACTS = quote(f"beir:{EXAMPLES / 'facts'}")
REPORTS = EXAMPLES / "vendors" / "reports.jsonl"
VERDICTS = [
    ['JSON: {"assignment"', '{"assignment": "partial_support"}'],
    ['JSON: {"verdict"', '{"verdict": "satisfied"}'],
    ['JSON: {"result"', '{"result": "supported"}'],
]
"""What the server says as a judge of nuggets, rubrics and cited pages."""
REPLAY = quote(str(EXAMPLES / "twins" / "replay.jsonl"))


@dataclass(frozen=True)
class Run:
    """How a command ended.

    Attributes:
        code: exit code; negative: the signal that ended it.
        count: file operations in its folder.
        output: what it printed.
    """

    code: int
    count: int
    output: str


@dataclass(frozen=True)
class Command:
    """A command under torture.

    Attributes:
        name: how it is called here.
        words: as it is typed; it runs in a copy of ``world``.
        outs: files and folders that it makes or changes.
        resumes: whether the second run takes ``--resume``.
        again: whether a finished result may be refused by the second run.
    """

    name: str
    words: str
    outs: tuple[str, ...]
    resumes: bool = False
    again: bool = False

    @property
    def args(self) -> list[str]:
        return split(self.words)


def commands(url: str) -> list[Command]:
    """All commands, in the order of the issue."""
    graph = quote(f"file:{EXAMPLES / 'people' / 'graph.ttl'}")
    hagrid = quote(f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}")
    rage = f"build rage --source {FACTS} --licence mit --shard-rows 30"
    kalma = f"build kalma --kg {graph} --pairs-from-kg spouse,father --limit 3 --max-facts 5"
    asqa = quote(f"alce:{EXAMPLES / 'answers' / 'asqa.json'}")
    alce = f"build alce --source {asqa} --corpus {FACTS} --retriever bm25 --k 2"
    documents = (
        f"build documents --source folder:docs --llm openai:m --base-url {url} --judge lexical "
        "--queries 3 --single 1 --pair 0 --list 1 --absent 1"
    )
    stores = ("out.replay.db", "out.verdicts.db")
    board = "leaderboard build --benchmark base --scores scores --out"
    out = ("out",)
    return [
        Command("build-rage", f"{rage} --out out", out, resumes=True),
        Command("build-rage-overwrite", f"{rage} --out old --overwrite", ("old",)),
        Command("build-hagrid", f"build hagrid --source {hagrid} --out out", out, True),
        Command(
            "build-twins", "build twins --benchmark base --llm replay:twins.db --out out", out, True
        ),
        Command("build-authorship", "build authorship --twins twins --k 4 --out out", out, True),
        *(
            Command(f"build-{kind}", f"build {kind} --benchmark base --k 3 --out out", out, True)
            for kind in ("faithfulness", "deflection", "position")
        ),
        Command("build-kalma", f"{kalma} --out out", out, True),
        Command("build-alce", f"build alce --source {asqa} --k 2 --out out", out, True),
        Command("build-alce-retrieved", f"{alce} --out out", out, True),
        Command("build-documents", f"{documents} --out out", (*out, *stores), True),
        Command(
            "build-kalma-llm",
            f"{kalma} --stand-in --writer openai:m --nearest none --base-url {url} --out out",
            (*out, stores[0]),
            True,
        ),
        Command(
            "llm-run",
            f"llm run prompts.jsonl --llm openai:m --base-url {url} --out answers.jsonl",
            ("answers.jsonl", "answers.jsonl.replay.db"),
        ),
        Command("llm-import", f"llm import new.db {REPLAY}", ("new.db",)),
        Command(
            "judge",
            "labels judge pairs.jsonl --judge lexical --verdicts v.db --out verdicts.jsonl",
            ("verdicts.jsonl", "v.db"),
        ),
        Command(
            "score",
            "score random.jsonl --benchmark base --judge lexical --verdicts v.db "
            "--out random.scores.json",
            ("random.scores.json", "v.db"),
        ),
        *(
            Command(
                f"score-{family}",
                f"score {answers} --benchmark base --measures {family} --judge openai:m "
                f"--judge-profile llm-{profile} --base-url {url} --verdicts v.db --store r.db "
                "--out s.json",
                ("s.json", "v.db", "r.db"),
            )
            for family, profile, answers in (
                ("nuggets", "nugget", "random.jsonl --assessments nuggets.jsonl"),
                ("rubric", "rubric", "random.jsonl --assessments rubric.jsonl"),
                ("fact", "fact", "reports.jsonl"),
            )
        ),
        *(
            Command(f"export-{f}", f"export {f} base --out out", out, again=True)
            for f in ("beir", "trec", "mteb", "alce", "hf-csv", "attrieval")
        ),
        Command("card", "export card old --version 2.0.0", ("old",)),
        Command("audit", "audit old", ("old",)),
        Command("leaderboard", f"{board} site", ("site",)),
        Command("leaderboard-again", f"{board} oldsite --title Another", ("oldsite",)),
        Command(
            "leaderboard-add",
            "leaderboard add random.jsonl --boards board",
            (
                "board/site",
                "board/scores/base/random.json",
                "board/submissions/base/random.jsonl",
                "board/history/base.jsonl",
            ),
        ),
        Command(
            "kg-snapshot",
            f"kg snapshot --kg {graph} --entities ids.txt --out s.nt.gz",
            ("s.nt.gz",),
        ),
    ]


def build_world(run: Callable[[list[str], Path], Run], world: Path) -> None:
    """What the commands start from, made once."""
    world.mkdir()
    write_documents(world / "docs", N)

    def done(words: str) -> None:
        ended = run(split(words), world)
        if ended.code != 0:
            raise RuntimeError(f"{words}: exit {ended.code}\n{ended.output}")

    done(
        f"build rage --source {FACTS} --licence mit --limit 6 --out base --n-seemingly 0 "
        "--mixture mix=3,2,0"
    )
    shutil.copytree(world / "base", world / "old")
    done(f"llm import twins.db {REPLAY}")
    done("build twins --benchmark base --llm replay:twins.db --out twins")
    done("run random --benchmark base --out random.jsonl")
    done("run echo-relevant --benchmark base --out echo.jsonl")
    done("export prompts base --out prompts.jsonl")
    for name in ("random", "echo"):
        done(f"score {name}.jsonl --benchmark base --out scores/{name}.json")
    done("leaderboard build --benchmark base --scores scores --out oldsite")
    done("leaderboard init board --benchmark base")
    done("leaderboard add echo.jsonl --boards board")
    rows = [{"premise": f"Io is moon {i}.", "hypothesis": f"Io is moon {i % 4}."} for i in range(9)]
    _write_rows(world / "pairs.jsonl", rows)
    graph = (EXAMPLES / "people" / "graph.ttl").read_text()
    ids = sorted({w.removeprefix("wd:") for w in graph.split() if w.startswith("wd:Q")})
    (world / "ids.txt").write_text("\n".join(ids) + "\n")
    answered = [json.loads(line)["query_id"] for line in _read_answers(world / "random.jsonl")]
    _write_rows(world / "nuggets.jsonl", [
        {"qid": q, "nuggets": [{"text": f"{q} is {n}", "importance": n} for n in ("vital", "okay")]}
        for q in answered
    ])  # fmt: skip
    _write_rows(world / "rubric.jsonl", [
        {"qid": q, "criteria": [{"text": f"{q} is {n}", "weight": n} for n in (2, -1)]}
        for q in answered
    ])  # fmt: skip
    reports = map(json.loads, REPORTS.read_text().splitlines())
    _write_rows(world / "reports.jsonl", [row for row in reports if row["id"] in answered])


def _read_answers(path: Path) -> list[str]:
    """Lines of a submission behind its header."""
    return path.read_text().splitlines()[1:]


def _write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
