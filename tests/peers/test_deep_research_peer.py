"""DeepResearch Bench's FACT beside ours: grouping, judging and counting, one judge for both.

Extraction and removal of repeats are an LLM's there, so both sides start from our pairs; their
``deduplicate`` is told to keep everything, their ``validate`` asks a rule in place of the LLM, and
their ``stat`` counts. Files of whole runs (``results/fact/*/validated.jsonl``) are counted by both.
Their repository, or a fork of it with results, is ``deep_research_bench``.
"""

import importlib
import json
import random
import runpy
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from citeforge.engines.judge.records import Verdict
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.library.scores import Scores, score
from citeforge.plugins.responses.deep_research.pairs import as_written, statement_pairs
from conftest import Cli, write_jsonl

URLS = [
    "https://a.org/x", "https://a.org/x/", "http://a.org/x", "https://a.org/x?utm_source=openai",
    "https://a.org/x#:~:text=io", "https://b.org/y_(moon)", "https://gone.org/404",
    "https://empty.org/", "https://c.org/p?q=1&r=2",
]  # fmt: skip
UNREADABLE = {"https://gone.org/404", "https://empty.org/"}
WORDS = ["Io", "Titan", "Zürich", "木星", "Lava", "Ice", "Europa"]


def supports(statement: str) -> bool:
    """The rule that stands for the LLM."""
    return sum(map(ord, statement)) % 3 > 0


class Judge:
    signature, comparable = "rule", False

    def identity(self) -> dict[str, str]:
        return {"name": "rule"}

    def count_tokens(self, pairs: object) -> None:
        return None

    def decide(self, pairs: Any, keep: Any) -> None:
        keep([(i, Verdict(supports(p.hypothesis))) for i, p in enumerate(pairs)])


@pytest.fixture(scope="module")
def theirs(peer: Callable[[str], Path]) -> Iterator[Path]:
    """Their package ``utils``, without the modules that need an endpoint."""
    folder = peer("deep_research_bench")
    package = ModuleType("utils")
    package.__path__ = [str(folder / "utils")]
    api = ModuleType("utils.api")
    api.call_model = lambda prompt: "no answer"  # type: ignore[attr-defined]
    before = {n: m for n, m in sys.modules.items() if n == "utils" or n.startswith("utils.")}
    sys.modules |= {"utils": package, "utils.api": api}
    package.load_jsonl = importlib.import_module("utils.io_utils").load_jsonl  # type: ignore[attr-defined]
    yield folder
    for name in [n for n in sys.modules if n == "utils" or n.startswith("utils.")]:
        del sys.modules[name]
    sys.modules |= before


def _report(rng: random.Random) -> str:
    """A report of one of several kinds."""
    listed = rng.sample(URLS, rng.randrange(1, 5))
    sentences = []
    for _ in range(rng.randrange(0, 9)):
        text = f"{rng.choice(WORDS)} is {rng.choice(WORDS)}"
        url = rng.choice(URLS)
        sentences.append(rng.choice([
            f"{text}.", f"{text} [{rng.randrange(1, len(listed) + 2)}].",
            f"{text} [1][{rng.randrange(1, len(listed) + 1)}].", f"{text} ([site]({url})).",
            f"{text} [1†L3-L5].", f"{text}【1】.", f"{text} ({url}).", f"As [them]({url}), {text}.",
        ]))  # fmt: skip
    entries = "\n".join(f"[{n}] Title. {url}" for n, url in enumerate(listed, 1))
    return " ".join(sentences) + f"\n\n## References\n\n{entries}\n"


def _counted(
    theirs: Path, validated: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """What their ``stat`` writes of a run."""
    arguments = ["stat", "--input_path", str(validated), "--output_path", str(folder / "out.txt")]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(theirs / "utils" / "stat.py"), run_name="__main__")
    return dict(x.split(": ") for x in (folder / "out.txt").read_text().splitlines())


def _same(result: dict[str, str], ours: Scores) -> None:
    for name, measure, scale in (
        ("total_citations", "FACT.Cit", 1), ("total_valid_citations", "FACT.Eff", 1),
        ("valid_rate", "FACT.Acc", 100),
    ):  # fmt: skip
        assert ours[measure].value == pytest.approx(scale * float(result[name]), abs=1e-9), name


def _package(cli: Cli, folder: Path, ids: list[str]) -> Path:
    """A benchmark of questions with these ids."""
    items = [{"id": i, "question": f"Question {i}", "answer": "", "docs": [
        {"title": "", "text": f"Question {i}"}]} for i in ids]  # fmt: skip
    (folder / "drb.json").write_text(json.dumps(items))
    built = cli("build", "alce", "--source", "alce:drb.json", "--k", "1", "--licence", "apache-2.0",
                "--out", "drb")  # fmt: skip
    assert built.returncode == 0, built.stderr
    return folder / "drb"


def test_result_files_of_whole_runs(
    theirs: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    files = sorted(theirs.glob("results/fact/*/validated.jsonl"))
    if not files:
        pytest.skip("the checkout has no results/fact/*/validated.jsonl")
    rows = {f: [json.loads(x) for x in f.read_text(encoding="utf-8").splitlines()] for f in files}
    ids = dict.fromkeys(str(row["id"]) for of_file in rows.values() for row in of_file)
    package = _package(cli, tmp_path, list(ids))
    for file in files:
        result = _counted(theirs, file, tmp_path, monkeypatch)
        ours = score(file, package, measures=["fact"], protocol="reference", segmenter="nupunkt",
                     file_format="deep-research-verdicts")  # fmt: skip
        _same(result, ours)
        published = (file.parent / "fact_result.txt").read_text().splitlines()
        assert dict(x.split(": ") for x in published) == result
        with capsys.disabled():
            print(f"\n{file.parent.name}: {len(rows[file])} reports, {result}")


def test_drawn_runs(
    theirs: Path, tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Reports with every mixture of verdicts, failed validations and pages, or no citations."""
    rng = random.Random(11)
    seen: Counter[str] = Counter()
    for draw in range(20):
        rows = []
        for q in range(1, 31):
            groups: dict[str, dict[str, Any]] = {}
            for url in rng.sample(URLS, rng.randrange(0, 5)):
                facts = [f"Fact {rng.randrange(9)}." for _ in range(rng.randrange(1, 6))]
                error = rng.choice([None, None, None, "no reference", "Expecting value"])
                words = rng.choices(
                    ["supported", "unsupported", "unknown"], (5, 3, 2), k=len(facts)
                )
                places = list(range(len(facts)))
                rng.shuffle(places)
                if rng.random() < 0.1:
                    places = [p - 1 for p in places]  # counted from 0 by the LLM
                results = [{"idx": p, "result": w} for p, w in zip(places, words, strict=True)]
                text = rng.choice(["Text.", "", None, "scrape failed: 404"])
                groups[url] = {"facts": facts, "url_content": text, "validate_error": error,
                               "validate_res": [] if error else results}  # fmt: skip
                seen.update(words if error is None else ["failed"])
                seen[f"text {text}"] += 1
            cited = [
                {"fact": f, "ref_idx": 0, "url": u} for u, g in groups.items() for f in g["facts"]
            ]
            seen["uncited"] += not cited
            rows.append({"id": f"q{q:02}", "prompt": "", "article": "x", "citations": cited,
                         "citations_deduped": groups})  # fmt: skip
        path = write_jsonl(tmp_path / f"validated{draw}.jsonl", rows)
        result = _counted(theirs, path, tmp_path, monkeypatch)
        ours = score(path, package, measures=["fact"], protocol="reference", segmenter="nupunkt",
                     file_format="deep-research-verdicts")  # fmt: skip
        _same(result, ours)
    capsys.readouterr()
    assert min(seen.values()) >= 20, seen


def test_every_figure(
    theirs: Path, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    rng = random.Random(7)
    segmenter = SentenceSegmenter()
    deduplicate = importlib.import_module("utils.deduplicate")
    validate = importlib.import_module("utils.validate")
    monkeypatch.setattr(deduplicate, "call_model", lambda prompt: "[0]")  # they then keep all

    def judged(prompt: str) -> str:
        reference = prompt.rpartition("<reference>\n")[2].partition("\n</reference>")[0]
        facts = prompt.rpartition("<statements>\n")[2].partition("\n</statements>")[0]
        rows = []
        for n, line in enumerate(facts.split("\n"), 1):
            said = line.partition(". ")[2]
            known = "scrape failed" not in reference and reference.strip()
            result = ("supported" if supports(said) else "unsupported") if known else "unknown"
            rows.append({"idx": n, "result": result})
        return json.dumps(rows)

    monkeypatch.setattr(validate, "call_model", judged)
    rows, lines, seen = [], [], {"unread": 0, "uncited": 0, "repeated": 0}
    for q in range(1, 31):
        report = _report(rng)
        found = statement_pairs(report, segmenter, as_written)
        citations = [{"fact": p.statement, "ref_idx": 0, "url": p.url} for p in found]
        rows.append({"id": f"q{q:02}", "prompt": "", "article": report, "citations": citations})
        pages = [{"url": u, "text": "" if u in UNREADABLE else f"Page {u}"} for u in URLS]
        lines.append({"id": f"q{q:02}", "article": report, "pages": pages})
        seen["uncited"] += not citations
        seen["repeated"] += len({c["url"] for c in citations}) < len(citations)
    languages = {row["id"]: "en" for row in rows}
    deduplicate.run(rows, str(tmp_path / "deduplicated.jsonl"), languages)
    kept = [json.loads(x) for x in (tmp_path / "deduplicated.jsonl").read_text().splitlines()]
    for row in kept:
        for url, group in row["citations_deduped"].items():
            readable = url.startswith("http") and url not in UNREADABLE
            text = f"Page {url}" if readable else "scrape failed: no page"
            seen["unread"] += not readable
            result = validate.validate(
                (url, {**group, "url_content": text, "article_id": row["id"]}), languages
            )
            group |= {"validate_res": result["validate_res"], "validate_error": result["error"]}
    write_jsonl(tmp_path / "validated.jsonl", kept)
    result = _counted(theirs, tmp_path / "validated.jsonl", tmp_path, monkeypatch)
    capsys.readouterr()

    path = write_jsonl(tmp_path / "reports.jsonl", lines)
    ours = score(path, package, measures=["fact"], judge=Judge(), protocol="reference",
                 segmenter="nupunkt")  # fmt: skip
    _same(result, ours)
    assert all(n >= 2 for n in seen.values()), seen


def test_cutting_the_marked_words_of_urls(theirs: Path) -> None:
    """What they do for fairness to a system whose links mark words: ours, for every system."""
    extract = importlib.import_module("utils.extract")
    for url in URLS:
        article = f"Io [site]({url}#:~:text=a,b) is."
        cleaned = extract.clean_urls(article)
        assert f"]({as_written(url + '#:~:text=a,b')})" in cleaned or "(moon)" in url
