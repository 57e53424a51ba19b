"""Documents to benchmarks: time and memory by the number of pages, and what the checks take.

Pages are PDFs of 50 pages, each page with words of its own. Each size is built in a process of its
own, with questions and answers by a script that takes no time. The checks are tried on an LLM that
errs on purpose in every other question (`tests/plugins/documents/village.py`).
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import machine, measure, vocabulary

if TYPE_CHECKING:
    from citeforge.engines.llm.records import Request, Result

SIZES = (1_000, 3_000, 10_000)
PER_FILE = 50
WORDS = 400
VILLAGES = 400
WANTED = 160
QUESTIONS = 40
sys.path.append(str(Path(__file__).parent.parent / "tests"))


def write_pdfs(folder: str, pages: int) -> Path:
    """PDFs with pages of random words, 2.8 kB each."""
    from plugins.documents.pdfs import pdf

    rng, known = random.Random(7), vocabulary(7)
    Path(folder).mkdir()
    for number in range(pages // PER_FILE):
        texts = []
        for _ in range(PER_FILE):
            words = rng.choices(known, k=WORDS)
            lines = [" ".join(words[i : i + 10]).capitalize() + "." for i in range(0, WORDS, 10)]
            texts.append("\n".join(lines))
        (Path(folder) / f"{number}.pdf").write_bytes(pdf(*texts))
    return Path(folder)


class WordLlm:
    """Asks which words follow three others, and reads whether passages tell."""

    def identity(self) -> dict[str, Any]:
        return {"name": "openai:words"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        from citeforge.engines.llm.records import LlmReply

        return [LlmReply(self._reply(r.task, dict(r.values))) for r in requests]

    def _reply(self, task: str, values: dict[str, Any]) -> str:
        texts = [" ".join(p["text"].split()) for p in values["passages"]]
        if task == "question":
            words = texts[0].partition(". ")[2].split()
            three, answer = " ".join(words[1:4]), " ".join(words[4:6])
            return (
                f"Quote: {three} {answer}\nAnswer: {answer}\n"
                f"Question: Which two words follow {three}?\n"
                f"Statement: The words {answer} follow {three}."
            )
        three = values["question"].partition("follow ")[2].rstrip("?")
        found = (re.search(rf"\b{re.escape(three)} (\S+ \S+)", text) for text in texts)
        return next((m[1] for m in found if m), "NOT ANSWERED")


def build(folder: Path) -> tuple[int, int]:
    """Build a benchmark; the numbers of passages and of accepted questions."""
    from citeforge.package.package import Package
    from citeforge.plugins.documents.build import build_documents
    from citeforge.plugins.documents.recipe import DocumentsRecipe
    from citeforge.schemas.recipes.base import RunOptions

    recipe = DocumentsRecipe(
        source=f"folder:{folder}", llm="openai:words", n_queries=QUESTIONS,
        shares={"single": 1, "pair": 0, "lists": 0, "absent": 0},
    )  # fmt: skip
    manifest = build_documents(recipe, RunOptions(out=folder.parent / "out"), WordLlm())
    n_passages = sum(b.num_rows for b in Package(folder.parent / "out").passages(["_id"]))
    return n_passages, manifest.counts["questions_accepted[single]"]


def errors_and_checks(folder: str) -> tuple[Counter[tuple[str, str | None]], dict[str, str]]:
    """(error that the LLM made, check that took the question) to their number; and which check
    should take which error."""
    from citeforge.engines.judge.session import JudgeSession
    from citeforge.package.package import Package
    from citeforge.plugins.documents.build import build_documents
    from citeforge.plugins.documents.recipe import DocumentsRecipe
    from citeforge.schemas.recipes.base import RunOptions
    from plugins.documents.village import CAUGHT_BY, ErringLlm, entails, write_documents
    from stand_ins import RuleJudge

    root = Path(folder)
    write_documents(root / "docs", VILLAGES)
    llm = ErringLlm()
    recipe = DocumentsRecipe(
        source=f"folder:{root / 'docs'}", llm="openai:erring", n_queries=WANTED,
        shares={"single": 1, "pair": 1, "lists": 1, "absent": 1}, asking={"neighbours": VILLAGES},
    )  # fmt: skip
    build_documents(recipe, RunOptions(out=root / "out"), llm, JudgeSession(RuleJudge(entails)))
    package = Package(root / "out")
    titles = {r["_id"]: r["title"] for b in package.passages() for r in b.to_pylist()}
    found: Counter[tuple[str, str | None]] = Counter()
    for row in package.table("questions", "questions").to_pylist():
        error = llm.made[tuple(titles[name] for name in row["evidence"])]
        found[error, row["check"]] += 1
    return found, CAUGHT_BY


def main() -> None:
    """Print both tables."""
    print(machine("pypdf", "nupunkt", "datasketch"))
    for pages in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            done = measure(write_pdfs, build, f"{folder}/docs", pages)
        passages, accepted = done.result
        told = f"{passages} passages, {accepted} questions, {done.seconds:.1f} s"
        print(f"{pages:>6} pages: {told}, {done.peak_mb:.0f} MB", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        found, caught_by = errors_and_checks(folder)
    sound = sum(n for (error, _), n in found.items() if not error)
    checks: dict[str, Counter[str]] = {}
    for (error, check), n in found.items():
        if error:
            own = checks.setdefault(caught_by.get(error, error), Counter())
            own["made"] += n
            own["caught"] += n * (check == caught_by.get(error, error))
    for check, own in sorted(checks.items()):
        false = found["", check]
        print(
            f"{check}: {own['caught']} of {own['made']} errors; {false} of {sound} sound questions"
        )


if __name__ == "__main__":
    main()
