"""The explorer of answers: a section of a page, whose data are in the page or in files beside it.

The page loads such a file when it shows its data, also from a disk.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from citeforge.engines.shown import hundredths, show_number
from citeforge.engines.text.refusals import is_refusal
from citeforge.evaluator.rows import main_measure
from citeforge.reports.pages.markup import read_assets, render_markup, script_json
from citeforge.schemas.refusals import EVERY_LANGUAGE
from citeforge.schemas.scores import AnswerDetail, MeasureScore, ScoreFile
from citeforge.schemas.tables import RELEVANT

MOST_INLINE = 2_000_000
"""Most bytes of data that are inside a page; more are in files beside it."""
BLOCK = 100
"""Queries per chunk of data."""
MISSING, UNCITED, OUTSIDE, UNSUPPORTED, REFUSED = 1, 2, 4, 8, 16
"""Bits of an answer's flags."""
Chunks = tuple[dict[str, Any], dict[str, Any]]
"""(index, which is inside the page; chunks of data by name)"""


def explorer_part(files: Sequence[ScoreFile]) -> tuple[str, dict[str, Any]]:
    """Make a report page's section to explore answers: (HTML, data chunks by name), maybe empty.

    Returns:
        HTML of the section, with an index of the data; and chunks of data by name, to be put into
        the page or written as files (:func:`chunk_script`).
    """
    if not any(f.measures and f.query_ids for f in files):
        return "", {}  # nothing was scored, or labels are hidden and nothing is told by query
    # Signatures say whether citation marks count passages from 0 or 1.
    first_number = 0 if any("|gram:0" in m.signature for f in files for m in f.measures) else 1
    index, pieces = make_chunks(files, main_measure(files), first_number)
    return render_markup("explorer.html.j2", index=script_json(index)), pieces


def make_explorer(files: Sequence[ScoreFile]) -> tuple[str, dict[str, str]]:
    """Make the explorer of answers: (HTML of its section, texts of files for it by path)."""
    html, pieces = explorer_part(files)
    beside = {f"answers/{name}.js": chunk_script(name, piece) for name, piece in pieces.items()}
    beside["explorer.css"] = read_assets("explorer.css")
    beside["explorer.js"] = read_assets("figures_shown.js", "chunks.js", "explorer.js")
    return html, beside


def chunk_script(name: str, piece: Any) -> str:
    """Write a chunk of data as JavaScript, which a page opened from a disk can load, too."""
    text = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
    # Line ends of old JavaScript inside strings.
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"citeforgeChunk({json.dumps(name)},{text});\n"


def make_chunks(
    files: Sequence[ScoreFile], first_measure: str, first_passage_number: int
) -> Chunks:
    """Make the answer explorer's index and data chunks, over the queries of all systems.

    Chunks are ``q`` (queries), ``s`` (slices), ``v-SYSTEM-MEASURE`` (values), ``f-SYSTEM`` (faults)
    and, for blocks of queries, ``g-BLOCK`` (gold), ``a-SYSTEM-BLOCK`` (answers), ``p-NUMBER``
    (passages).

    Args:
        files: score files with distinct system names.
        first_measure: measure that is shown first.
        first_passage_number: number of the first passage in citation marks.
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
    fields = _slice_fields(files, queries)
    if fields:
        pieces["s"] = [[numbers.get(q, -1) for q in queries] for _, _, numbers in fields]
    systems, chunks = [], dict[str, str]()
    for s, (file, of_file) in enumerate(zip(files, answers, strict=True)):
        mine = [m for m in file.measures if m.name in scales]
        for m in mine:
            pieces[f"v-{s}-{names.index(m.name)}"] = _by_query(file, m, queries)
        passages: list[str] = []
        if of_file:
            pieces[f"f-{s}"] = [_answer_flags(of_file.get(q)) for q in queries]
            for number, block in enumerate(blocks):
                pieces[f"a-{s}-{number}"] = list(_answer_data(file, of_file, block, names))
                passages.append(_add_passages(of_file, block, pieces, chunks))
        systems.append({
            "name": file.system, "measures": [names.index(m.name) for m in mine],
            "answers": bool(of_file), "passages": passages,
        })  # fmt: skip
    index = {
        "systems": systems, "measures": [[n, scales[n]] for n in names],
        "by": first_measure, "base": first_passage_number, "n": len(queries), "block": BLOCK,
        "gold": any(n.startswith("g-") for n in pieces),
        "fields": [[name, values] for name, values, _ in fields],
    }  # fmt: skip
    return index, pieces


def _slice_fields(
    files: Sequence[ScoreFile], queries: Sequence[str]
) -> list[tuple[str, list[str], dict[str, int]]]:
    """List (field, its values, {query: index of its value}) of query fields that have slices."""
    fields: dict[str, dict[str, dict[str, None]]] = {}
    for file in files:
        for part in file.slices:
            of_value = fields.setdefault(part.field, {}).setdefault(part.value, {})
            of_value |= dict.fromkeys(file.query_ids[row] for row in part.rows)
    return [
        (name, list(values), {q: i for i, of_value in enumerate(values.values()) for q in of_value})
        for name, values in fields.items()
    ]


def _by_query(file: ScoreFile, measure: MeasureScore, queries: Sequence[str]) -> list[int | None]:
    """List a measure's displayed value on each query, in hundredths; None where undefined."""
    of_file = dict(zip(file.query_ids, measure.per_query, strict=True))
    values = (of_file.get(q) for q in queries)
    return [None if v is None else hundredths(v * measure.scale) for v in values]


def _answer_flags(answer: AnswerDetail | None) -> int:
    """Encode an answer's faults (missing, uncited, refused, …) as bits for filters of the page."""
    if answer is None or answer.is_missing:
        return MISSING
    statements = answer.statements
    text = " ".join(s.text for s in statements)
    is_citing = bool(answer.all_cited or answer.n_not_shown)
    return (
        (0 if is_citing else UNCITED)
        | (OUTSIDE if answer.n_not_shown else 0)
        | (UNSUPPORTED if any(s.supported is False for s in statements) else 0)
        | (REFUSED if text and is_refusal(text, EVERY_LANGUAGE, cites=is_citing) else 0)
    )


def _answer_data(
    file: ScoreFile,
    answers_by_query: dict[str, AnswerDetail],
    query_ids: Sequence[str],
    all_measures: Sequence[str],
) -> Iterator[list[Any] | None]:
    """Yield the explorer's data of the answer to each query of a block; None without an answer.

    These are statements, calculations of values, citations outside statements, and cited words.

    Args:
        file: scores of the system.
        answers_by_query: its answers by query.
        query_ids: ids of the queries.
        all_measures: names of all measures, which the data refer to by index.
    """
    rows = {q: i for i, q in enumerate(file.query_ids)}
    for query in query_ids:
        answer = answers_by_query.get(query)
        if answer is None or answer.is_missing:
            yield None
            continue
        statements = [[s.text, s.cited, s.wrong, s.supported] for s in answer.statements]
        lines = [
            [all_measures.index(m.name), text]
            for m in file.measures
            if (text := explain_value(m.name, answer, m.per_query[rows[query]])) is not None
        ]
        words = [[w.statement, w.start, w.end, w.passage, w.quoted] for w in answer.said]
        yield [statements, lines, answer.cited, answer.wrong, words]


def _add_passages(
    answers_by_query: dict[str, AnswerDetail],
    query_ids: Sequence[str],
    chunks_by_name: dict[str, Any],
    names_by_content: dict[str, str],
) -> str:
    """Add to ``chunks_by_name`` a chunk of passages for queries, if new; return its name.

    Args:
        answers_by_query: a system's answers by query.
        query_ids: ids of the queries.
        chunks_by_name: data of all chunks by name, which the chunk is added to.
        names_by_content: names of the chunks of passages added so far, by content.
    """
    content = [
        [[p.id, p.title, p.text, p.label or ""] for p in answers_by_query[q].passages]
        if q in answers_by_query
        else []
        for q in query_ids
    ]
    key = repr(content)
    if key not in names_by_content:
        names_by_content[key] = f"p-{len(names_by_content)}"
        chunks_by_name[names_by_content[key]] = content
    return names_by_content[key]


class Calculation(NamedTuple):
    """A calculation in words, and its result as a raw value of the measure."""

    words: str
    result: float


def explain_value(measure: str, answer: AnswerDetail, value: float | None) -> str | None:
    """Explain in words how an answer's value was calculated; None if no rule reproduces it.

    Args:
        measure: name of a measure.
        answer: answer that was scored.
        value: raw value of the measure for this answer.
    """
    rule = _CALCULATIONS.get(measure)
    if rule is None or value is None or answer.is_missing:
        return None
    outcome = rule(answer)
    if outcome is None or not math.isclose(outcome.result, value, abs_tol=1e-9):
        return None
    return outcome.words


def _relevant_positions(answer: AnswerDetail) -> set[int]:
    """Get the positions, from 0, of the relevant passages that were shown for an answer."""
    return {i for i, p in enumerate(answer.passages) if p.label == RELEVANT}


def _precision(answer: AnswerDetail) -> Calculation | None:
    """Explain an answer's citation precision, with its value; None without citations."""
    cited = answer.all_cited
    hits, n = len(cited & _relevant_positions(answer)), len(cited) + answer.n_not_shown
    return Calculation(f"{hits} relevant of {n} cited = {hits}/{n}", hits / n) if n else None


def _recall(answer: AnswerDetail) -> Calculation | None:
    """Explain an answer's citation recall, with its value; None without relevant passages."""
    relevant = _relevant_positions(answer)
    hits, n = len(answer.all_cited & relevant), len(relevant)
    return Calculation(f"{hits} cited of {n} relevant = {hits}/{n}", hits / n) if n else None


def _f1(answer: AnswerDetail) -> Calculation | None:
    """Explain F1 of an answer's citations; None where precision or recall is undefined."""
    precision, recall = _precision(answer), _recall(answer)
    if precision is None or recall is None:
        return None
    p, r = precision.result, recall.result
    if p + r == 0:
        return Calculation("precision and recall are 0, and so is their harmonic mean", 0.0)
    first, second = show_number(p, 3), show_number(r, 3)
    text = f"2 · {first} · {second} / ({first} + {second})"
    return Calculation(text, 2 * p * r / (p + r))


def _supported_share(answer: AnswerDetail) -> Calculation | None:
    """Explain an answer's share of supported statements, with its value; None without verdicts."""
    n = len(answer.statements)
    if not n or any(s.supported is None for s in answer.statements):
        return None
    hits = sum(s.supported is True for s in answer.statements)
    return Calculation(f"{hits} supported of {n} statements = {hits}/{n}", hits / n)


_CALCULATIONS: dict[str, Callable[[AnswerDetail], Calculation | None]] = {
    "CiteP": _precision,
    "CiteR": _recall,
    "CiteF1": _f1,
    "CiteF1@query": _f1,
    "ALCE.CitRec": _supported_share,
    "NLI.rec": _supported_share,
}
