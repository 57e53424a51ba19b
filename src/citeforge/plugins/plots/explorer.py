"""The explorer as a part of a page, and its data in pieces, inside the page or in files beside it:
a page loads what it shows, from a disk as from a server."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from citeforge.engines.text.refusals import is_refusal
from citeforge.evaluator.reports.markup import script_json
from citeforge.evaluator.reports.rows import main_measure
from citeforge.plugins.plots.markup import render_markup, text_of
from citeforge.schemas.benchmarks.tables import RELEVANT
from citeforge.schemas.refusals import LANGUAGES, checked_detector
from citeforge.schemas.scores import AnswerDetail, MeasureScore, ScoreFile

INLINE = 2_000_000
"""Bytes of data up to which a page carries all of them itself."""
BLOCK = 100
"""Queries of a chunk."""
MISSING, UNCITED, OUTSIDE, UNSUPPORTED, REFUSED = 1, 2, 4, 8, 16
"""Bits of an answer."""
Chunks = tuple[dict[str, Any], dict[str, Any]]
"""What the page itself carries, and chunks of data by name."""
_REFUSALS = checked_detector("rules:" + ",".join(LANGUAGES))


def explorer_part(files: Sequence[ScoreFile]) -> tuple[str, dict[str, Any]]:
    """Make the page section that lets readers explore answers; empty without values by query.

    Returns:
        The section of a page with the index, and chunks of data by name, to be inlined or written
        as files (:func:`chunk_file`).
    """
    if not any(f.measures for f in files):
        return "", {}
    # Signatures say whether citation marks count passages from 0 or 1.
    base = 0 if any("|gram:0" in m.signature for f in files for m in f.measures) else 1
    index, pieces = make_chunks(files, main_measure(files), base)
    return render_markup("explorer.html.j2", index=script_json(index)), pieces


def explorer_site(files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
    """Make the explorer and the files beside it (see :meth:`Pages.explorer`)."""
    html, pieces = explorer_part(files)
    beside = {f"answers/{name}.js": chunk_file(name, piece) for name, piece in pieces.items()}
    beside["explorer.css"] = text_of("explorer.css")
    beside["explorer.js"] = text_of("chunks.js", "explorer.js")
    return html, beside


def chunk_file(name: str, piece: Any) -> str:
    """Write a chunk as a script, which a page can also load from a disk."""
    text = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
    # Line ends of old JavaScript inside strings.
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"citeforgeChunk({json.dumps(name)},{text});\n"


def make_chunks(files: Sequence[ScoreFile], by: str, base: int) -> Chunks:
    """Make the explorer's index and data chunks, over the union of the systems' queries.

    Args:
        files: score files whose names tell them apart.
        by: measure that is shown first.
        base: number of the first passage in marks.
    """
    queries = list(dict.fromkeys(q for f in files for q in f.query_ids))
    answers = [{a.query_id: a for a in f.answers} for f in files]
    texts, gold = dict[str, str](), dict[str, list[str]]()
    for of_file in answers:
        for query, answer in of_file.items():
            texts.setdefault(query, answer.query)
            if answer.gold:
                gold.setdefault(query, answer.gold)
    scales = {m.name: m.scale for f in files for m in f.measures}
    names = list(scales)
    pieces: dict[str, Any] = {"q": [queries, [texts.get(q, "") for q in queries]]}
    blocks = [queries[i : i + BLOCK] for i in range(0, len(queries), BLOCK)]
    for number, block in enumerate(blocks):
        if any(q in gold for q in block):
            pieces[f"g-{number}"] = [gold.get(q, []) for q in block]
    systems, chunks = [], dict[str, str]()
    for s, (file, of_file) in enumerate(zip(files, answers, strict=True)):
        mine = [m for m in file.measures if m.name in scales]
        for m in mine:
            pieces[f"v-{s}-{names.index(m.name)}"] = _column(file, m, queries)
        passages: list[str] = []
        if of_file:
            pieces[f"f-{s}"] = [_flags(of_file.get(q)) for q in queries]
            for number, block in enumerate(blocks):
                pieces[f"a-{s}-{number}"] = list(_answers(file, of_file, block, names))
                passages.append(_passages(of_file, block, pieces, chunks))
        systems.append({
            "name": file.system, "measures": [names.index(m.name) for m in mine],
            "answers": bool(of_file), "passages": passages,
        })  # fmt: skip
    index = {
        "systems": systems, "measures": [[n, scales[n]] for n in names], "by": by, "base": base,
        "n": len(queries), "block": BLOCK, "gold": any(n.startswith("g-") for n in pieces),
    }  # fmt: skip
    return index, pieces


def _column(file: ScoreFile, measure: MeasureScore, queries: Sequence[str]) -> list[int | None]:
    """List a measure's values by query, in hundredths of what is displayed."""
    of_file = dict(zip(file.query_ids, measure.per_query, strict=True))
    values = (of_file.get(q) for q in queries)
    return [None if v is None else round(100 * v * measure.scale) for v in values]


def _flags(answer: AnswerDetail | None) -> int:
    """Encode what is wrong with an answer as bits, for the filters of the page."""
    if answer is None or answer.is_missing:
        return MISSING
    statements = answer.statements
    text = " ".join(s.text for s in statements)
    return (
        (0 if answer.all_cited or answer.all_wrong else UNCITED)
        | (OUTSIDE if answer.all_wrong else 0)
        | (UNSUPPORTED if any(s.supported is False for s in statements) else 0)
        | (REFUSED if text and is_refusal(text, _REFUSALS) else 0)
    )


def _answers(
    file: ScoreFile, details: dict[str, AnswerDetail], block: Sequence[str], names: Sequence[str]
) -> Iterator[list[Any] | None]:
    """Yield the explorer's data of each answer in a block; None where there is no answer.

    These are statements, arithmetic of values, citations outside statements, and cited words.
    """
    rows = {q: i for i, q in enumerate(file.query_ids)}
    for query in block:
        answer = details.get(query)
        if answer is None or answer.is_missing:
            yield None
            continue
        statements = [[s.text, s.cited, s.wrong, s.supported] for s in answer.statements]
        lines = [
            [names.index(m.name), text]
            for m in file.measures
            if (text := arithmetic(m.name, answer, m.per_query[rows[query]])) is not None
        ]
        words = [[w.statement, w.start, w.end, w.passage, w.quoted] for w in answer.said]
        yield [statements, lines, answer.cited, answer.wrong, words]


def _passages(
    details: dict[str, AnswerDetail], block: Sequence[str], pieces: dict[str, Any],
    chunks: dict[str, str],
) -> str:  # fmt: skip
    """Add a chunk of a block's passages, shared by systems that saw the same; give its name."""
    content = [
        [[p.id, p.title, p.text, p.label or ""] for p in details[q].passages]
        if q in details
        else []
        for q in block
    ]
    key = repr(content)
    if key not in chunks:
        chunks[key] = f"p-{len(chunks)}"
        pieces[chunks[key]] = content
    return chunks[key]


Line = tuple[str, float]
"""A calculation in words, and its result on the raw scale."""


def arithmetic(measure: str, answer: AnswerDetail, value: float | None) -> str | None:
    """Explain in words how a value was calculated; None if the words give another value.

    Args:
        measure: name of a measure.
        answer: what was scored.
        value: raw value of the measure for this answer.
    """
    rule = _RULES.get(measure)
    if rule is None or value is None or answer.is_missing:
        return None
    outcome = rule(answer)
    return outcome[0] if outcome and math.isclose(outcome[1], value, abs_tol=1e-9) else None


def _relevant(answer: AnswerDetail) -> set[int]:
    """Positions of the relevant passages that were shown."""
    return {i for i, p in enumerate(answer.passages) if p.label == RELEVANT}


def _precision(answer: AnswerDetail) -> Line | None:
    """Calculate citation precision in words; None without citations."""
    cited = answer.all_cited
    hits, n = len(cited & _relevant(answer)), len(cited) + answer.all_wrong
    return (f"{hits} relevant of {n} cited = {hits}/{n}", hits / n) if n else None


def _recall(answer: AnswerDetail) -> Line | None:
    """Calculate citation recall in words; None without relevant passages."""
    relevant = _relevant(answer)
    hits, n = len(answer.all_cited & relevant), len(relevant)
    return (f"{hits} cited of {n} relevant = {hits}/{n}", hits / n) if n else None


def _f1(answer: AnswerDetail) -> Line | None:
    """Calculate F1 of citations in words; None where precision or recall is undefined."""
    p, r = _precision(answer), _recall(answer)
    if p is None or r is None:
        return None
    if p[1] + r[1] == 0:
        return "precision and recall are 0, and so is their harmonic mean", 0.0
    text = f"2 · {p[1]:.3f} · {r[1]:.3f} / ({p[1]:.3f} + {r[1]:.3f})"
    return text, 2 * p[1] * r[1] / (p[1] + r[1])


def _supported(answer: AnswerDetail) -> Line | None:
    """Calculate the share of supported statements in words; None without verdicts."""
    n = len(answer.statements)
    if not n or any(s.supported is None for s in answer.statements):
        return None
    hits = sum(s.supported is True for s in answer.statements)
    return f"{hits} supported of {n} statements = {hits}/{n}", hits / n


_RULES: dict[str, Callable[[AnswerDetail], Line | None]] = {
    "CiteP": _precision,
    "CiteR": _recall,
    "CiteF1": _f1,
    "CiteF1@query": _f1,
    "ALCE.CitRec": _supported,
    "NLI.rec": _supported,
}
