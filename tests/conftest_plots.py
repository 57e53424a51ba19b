"""Score files whose numbers can be followed by hand."""

from collections.abc import Sequence

import numpy as np

from citeforge.reports.pages.page import page_report
from citeforge.schemas.scores import (
    About,
    AnswerDetail,
    Counts,
    MeasureScore,
    PassageDetail,
    ScoreFile,
    StatementDetail,
)

HOSTILE = "<img src=x onerror=\"document.title='owned'\">&amp;</script>"


def page_text(files: Sequence[ScoreFile], title: str | None = None) -> str:
    """A report as one page."""
    return page_report(files, title)[0].decode()


def entry(name: str, values: Sequence[float | None]) -> MeasureScore:
    known = [v for v in values if v is not None]
    value = 100 * float(np.mean(known))
    half = 196 * float(np.std(known, ddof=1)) / len(known) ** 0.5
    return MeasureScore(
        name=name, signature=f"{name}|p:strict|gram:1,strict3|ctx:mix|bench:x@1|v:1", scale=100,
        value=value, low=value - half, high=value + half, stderr=1.0, interval="bootstrap",
        n=len(known), n_undefined=len(values) - len(known), per_query=list(values),
    )  # fmt: skip


def answer(
    query: str, cited: Sequence[Sequence[int]], relevant: int, supported: bool | None = True
) -> AnswerDetail:
    """An answer of one statement for each list of citations, to five passages."""
    return AnswerDetail(
        query_id=query, query=f"What of {query}?",
        statements=[
            StatementDetail(text=f"Bridge {i} of {query} opened", cited=list(c), wrong=0,
                            supported=supported)
            for i, c in enumerate(cited)
        ],
        passages=[
            PassageDetail(id=f"d{i}", title=f"Title {i}", text=f"Bridge {i} of {query} opened.",
                          label="relevant" if i == relevant else "irrelevant")
            for i in range(5)
        ],
    )  # fmt: skip


def scored(
    system: str, measures: dict[str, Sequence[float | None]],
    answers: Sequence[AnswerDetail] = (), cost: float | None = None,
) -> ScoreFile:  # fmt: skip
    n = len(next(iter(measures.values())))
    return ScoreFile(
        system=system, submission=f"{system}.jsonl", submission_sha256="0" * 64, benchmark="x",
        benchmark_hash="1" * 64, protocol="strict", context="mix",
        counts=Counts(n_queries=n, n_runs=1, n_answered=n, n_missing=0, n_unparsed=0),
        query_ids=[f"q{i}" for i in range(n)],
        measures=[entry(name, values) for name, values in measures.items()],
        answers=list(answers), about=None if cost is None else About(cost=cost),
    )  # fmt: skip


def many(n: int, step: float = 0.03, first: str = HOSTILE) -> list[ScoreFile]:
    """Systems that become better by ``step``, over 40 queries."""
    rng = np.random.default_rng(7)
    result = []
    for s in range(n):
        values = {
            m: np.clip(0.3 + step * s + rng.normal(0, 0.2, 40), 0, 1).tolist()
            for m in ("CiteP", "CiteR", "CiteF1@query")
        }
        answers = [answer(f"q{i}", [[i % 5], [(i + s) % 5]], i % 3) for i in range(40)]
        result.append(scored(f"system {s}" if s else first, values, answers, 0.5 + s))
    return result


def trivial_files() -> list[ScoreFile]:
    """Two systems where every passage shown is relevant to its query, so that CiteP is trivial."""
    files = [
        scored("one", {"CiteP": [1.0, 1.0, 0.0], "CiteR": [0.5, 1.0, 0.0]}),
        scored("two", {"CiteP": [1.0, 1.0, 1.0], "CiteR": [0.5, 0.5, 0.0]}),
    ]
    for file in files:
        file.counts.n_all_relevant = file.counts.n_queries
    return files
