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
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.library.scores import Scores, score
from citeforge.plugins.responses.fact_pairs import statement_pairs, without_fragment
from conftest import Inline, write_jsonl
from peers.frozen import FrozenNumbers, Program
from stand_ins import RuleJudge

FACT = Program(
    "deep_research_fact",
    "Ayanami0730/deep_research_bench",
    "utils: deduplicate.run(), validate.validate(), stat.py and extract.clean_urls(); a rule "
    "stands in for the LLM",
    "test_deep_research_peer.py",
)
Rows = list[dict[str, Any]]

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


@contextmanager
def utils(checkout: Path) -> Iterator[Callable[[str], ModuleType]]:
    """Modules of their package ``utils``, without those that need an endpoint."""
    package = ModuleType("utils")
    package.__path__ = [str(checkout / "utils")]
    api = ModuleType("utils.api")
    api.call_model = lambda prompt: "no answer"  # type: ignore[attr-defined]
    before = {n: m for n, m in sys.modules.items() if n == "utils" or n.startswith("utils.")}
    sys.modules |= {"utils": package, "utils.api": api}
    package.load_jsonl = importlib.import_module("utils.io_utils").load_jsonl  # type: ignore[attr-defined]
    yield lambda name: importlib.import_module(f"utils.{name}")
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


def count(checkout: Path, validated: Rows) -> dict[str, str]:
    """What their ``stat`` writes of a run."""
    with (
        TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        utils(checkout),
    ):
        given, out = write_jsonl(Path(folder, "run.jsonl"), validated), Path(folder, "out.txt")
        words = ["stat", "--input_path", str(given), "--output_path", str(out)]
        patch.setattr(sys, "argv", words)
        runpy.run_path(str(checkout / "utils" / "stat.py"), run_name="__main__")
        return dict(line.split(": ") for line in out.read_text().splitlines())


def _same(result: dict[str, str], ours: Scores) -> None:
    for name, measure, scale in (
        ("total_citations", "FACT.Cit", 1), ("total_valid_citations", "FACT.Eff", 1),
        ("valid_rate", "FACT.Acc", 100),
    ):  # fmt: skip
        assert ours[measure].value == pytest.approx(scale * float(result[name]), abs=1e-9), name


def _package(inline: Inline, folder: Path, ids: list[str]) -> Path:
    """A benchmark of questions with these ids."""
    items = [{"id": i, "question": f"Question {i}", "answer": "", "docs": [
        {"title": "", "text": f"Question {i}"}]} for i in ids]  # fmt: skip
    (folder / "drb.json").write_text(json.dumps(items))
    inline.ok("build", "alce", "--source", "alce:drb.json", "--k", "1", "--licence",
                   "apache-2.0", "--out", "drb")  # fmt: skip
    return folder / "drb"


def test_result_files_of_whole_runs(
    peer: Callable[[str], Path], tmp_path: Path, inline: Inline, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout = peer("deep_research_bench")
    files = sorted(checkout.glob("results/fact/*/validated.jsonl"))
    if not files:
        pytest.skip("the checkout has no results/fact/*/validated.jsonl")
    rows = {f: [json.loads(x) for x in f.read_text(encoding="utf-8").splitlines()] for f in files}
    ids = dict.fromkeys(str(row["id"]) for of_file in rows.values() for row in of_file)
    package = _package(inline, tmp_path, list(ids))
    for file in files:
        result = count(checkout, rows[file])
        ours = score(file, package, measures=["fact"], protocol="reference", segmenter="nupunkt",
                     file_format="deep-research-verdicts")  # fmt: skip
        _same(result, ours)
        published = (file.parent / "fact_result.txt").read_text().splitlines()
        assert dict(x.split(": ") for x in published) == result
        with capsys.disabled():
            print(f"\n{file.parent.name}: {len(rows[file])} reports, {result}")


def test_drawn_runs(printed: FrozenNumbers, benchmark: Benchmark, tmp_path: Path) -> None:
    """Reports with every mixture of verdicts, failed validations and pages, or no citations."""
    rng = random.Random(11)
    seen: Counter[str] = Counter()
    for draw in range(8):
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
        result = printed(FACT, f"drawn run {draw}", count, rows)
        path = write_jsonl(tmp_path / f"validated{draw}.jsonl", rows)
        ours = score(path, benchmark.folder, measures=["fact"], protocol="reference",
                     segmenter="nupunkt", file_format="deep-research-verdicts")  # fmt: skip
        _same(result, ours)
    assert min(seen.values()) >= 8, seen


def validate_and_count(checkout: Path, rows: Rows) -> dict[str, str]:
    """What their ``stat`` writes of reports, by way of ``deduplicate`` and ``validate``."""

    def judged(prompt: str) -> str:
        reference = prompt.rpartition("<reference>\n")[2].partition("\n</reference>")[0]
        facts = prompt.rpartition("<statements>\n")[2].partition("\n</statements>")[0]
        verdicts = []
        for n, line in enumerate(facts.split("\n"), 1):
            said = line.partition(". ")[2]
            known = "scrape failed" not in reference and reference.strip()
            result = ("supported" if supports(said) else "unsupported") if known else "unknown"
            verdicts.append({"idx": n, "result": result})
        return json.dumps(verdicts)

    languages = {row["id"]: "en" for row in rows}
    with utils(checkout) as module, TemporaryDirectory() as folder:
        deduplicate, validate = module("deduplicate"), module("validate")
        deduplicate.call_model = lambda prompt: "[0]"  # they then keep all
        validate.call_model = judged
        deduplicated = Path(folder, "deduplicated.jsonl")
        deduplicate.run(rows, str(deduplicated), languages)
        kept: Rows = [json.loads(x) for x in deduplicated.read_text().splitlines()]
        for row in kept:
            for url, group in row["citations_deduped"].items():
                text = f"Page {url}" if is_readable(url) else "scrape failed: no page"
                result = validate.validate(
                    (url, {**group, "url_content": text, "article_id": row["id"]}), languages
                )
                group |= {"validate_res": result["validate_res"], "validate_error": result["error"]}
    return count(checkout, kept)


def is_readable(url: str) -> bool:
    return url.startswith("http") and url not in UNREADABLE


def test_every_figure(printed: FrozenNumbers, benchmark: Benchmark, tmp_path: Path) -> None:
    rng = random.Random(7)
    segmenter = SentenceSegmenter()
    rows, lines, seen = [], [], {"unread": 0, "uncited": 0, "repeated": 0}
    for q in range(1, 31):
        report = _report(rng)
        found = statement_pairs(report, segmenter, without_fragment)
        citations = [{"fact": p.statement, "ref_idx": 0, "url": p.url} for p in found]
        rows.append({"id": f"q{q:02}", "prompt": "", "article": report, "citations": citations})
        pages = [{"url": u, "text": "" if u in UNREADABLE else f"Page {u}"} for u in URLS]
        lines.append({"id": f"q{q:02}", "article": report, "pages": pages})
        urls = {p.url for p in found}
        seen["uncited"] += not citations
        seen["repeated"] += len(urls) < len(citations)
        seen["unread"] += sum(not is_readable(url) for url in urls)
    result = printed(FACT, "reports", validate_and_count, rows)
    path = write_jsonl(tmp_path / "reports.jsonl", lines)
    judge = RuleJudge(lambda _, statement: supports(statement))
    ours = score(path, benchmark.folder, measures=["fact"], judge=judge, protocol="reference",
                 segmenter="nupunkt")  # fmt: skip
    _same(result, ours)
    assert all(n >= 2 for n in seen.values()), seen


def test_cutting_the_marked_words_of_urls(printed: FrozenNumbers) -> None:
    """What they do for fairness to a system whose links mark words: ours, for every system."""
    articles = [f"Io [site]({url}#:~:text=a,b) is." for url in URLS]

    def run(checkout: Path, articles: list[str]) -> list[str]:
        with utils(checkout) as module:
            return [module("extract").clean_urls(article) for article in articles]

    cleaned = printed(FACT, "marked words of URLs", run, articles)
    for url, text in zip(URLS, cleaned, strict=True):
        assert f"]({without_fragment(url + '#:~:text=a,b')})" in text or "(moon)" in url
