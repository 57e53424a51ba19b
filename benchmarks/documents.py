"""Documents to passages: time and memory against the number of pages; and the checks of questions.

Pages are PDFs of 50 pages, each page with words of its own. Each size is read in a process of its
own: written as a corpus, and put in the order in which questions are asked. The checks are tried
on an LLM that errs on purpose in every other question (`tests/plugins/documents/village.py`).
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.measure import machine, measure, vocabulary

SIZES = (1_000, 3_000, 10_000)
PER_FILE = 50
WORDS = 400
VILLAGES = 400
WANTED = 160
sys.path.append(str(Path(__file__).parent.parent / "tests"))


def write_pdfs(folder: str, pages: int) -> Path:
    """PDFs with pages of random words, 2.8 kB each."""
    from plugins.documents.pdfs import pdf

    rng, known = random.Random(7), vocabulary(7)
    for number in range(pages // PER_FILE):
        texts = []
        for _ in range(PER_FILE):
            words = rng.choices(known, k=WORDS)
            lines = [" ".join(words[i : i + 10]).capitalize() + "." for i in range(0, WORDS, 10)]
            texts.append("\n".join(lines))
        (Path(folder) / f"{number}.pdf").write_bytes(pdf(*texts))
    return Path(folder)


def read(folder: Path) -> int:
    """Read PDFs into a corpus; the number of passages that questions can be asked about."""
    from citeforge.builders.stages.corpus import write_corpus
    from citeforge.plugins.documents.drawing import PassagePool
    from citeforge.plugins.documents.reading.source import DocumentFolder

    corpus = folder / "corpus"
    corpus.mkdir()
    write_corpus(DocumentFolder(folder), None, corpus)
    return len(PassagePool(sorted(corpus.glob("*.parquet")), 0).order)


def errors_and_checks(folder: str) -> tuple[Counter[tuple[str, str | None]], dict[str, str]]:
    """(error that the LLM made, check that took the question) to their number; and which check
    should take which error."""
    from citeforge.engines.judge.session import JudgeSession
    from citeforge.package.package import Package
    from citeforge.plugins.documents.build import build_documents
    from citeforge.plugins.documents.recipe import DocumentsRecipe
    from citeforge.schemas.recipes.run import RunOptions
    from plugins.documents.village import CAUGHT_BY, ErringLlm, WordJudge, write_documents

    root = Path(folder)
    write_documents(root / "docs", VILLAGES)
    llm = ErringLlm()
    recipe = DocumentsRecipe(
        source=f"folder:{root / 'docs'}", llm="openai:erring", n_queries=WANTED,
        shares={"single": 1, "pair": 1, "lists": 1, "absent": 1}, asking={"neighbours": VILLAGES},
    )  # fmt: skip
    build_documents(recipe, RunOptions(out=root / "out"), llm, JudgeSession(WordJudge()))
    package = Package(root / "out")
    titles = {r["_id"]: r["title"] for b in package.passages() for r in b.to_pylist()}
    found: Counter[tuple[str, str | None]] = Counter()
    for row in package.table("questions", "all").to_pylist():
        error = llm.made[tuple(titles[name] for name in row["evidence"])]
        found[error, row["check"]] += 1
    return found, CAUGHT_BY


def main() -> None:
    """Print both tables."""
    print(machine("pypdf", "nupunkt", "datasketch"))
    for pages in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            done = measure(write_pdfs, read, folder, pages)
        size = f"{done.result} passages, {done.seconds:.1f} s, {done.peak_mb:.0f} MB"
        print(f"{pages:>6} pages: {size}", flush=True)
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
