"""Texts that an LLM writes for ALCE benchmarks: sub-claims, summaries and snippets."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from citeforge.builders.alce.coverage import Texts
from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.judge.records import JudgeFailure, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Llm, Request, Result
from citeforge.engines.progress import progress
from citeforge.engines.tables import rows_of, table_of
from citeforge.engines.text.quoting import repeats_number, without_tags
from citeforge.package.items import GoldRows
from citeforge.schemas.citations.grammar import Grammar, without_markers
from citeforge.schemas.counts import count_key
from citeforge.schemas.tables import CONDENSED
from citeforge.schemas.text import normalise_answer

_LISTED = re.compile(r"^(?:[-*•–]|\(?\d{1,2}[.):]|claim \d+:)\s*", re.IGNORECASE)
_CLAIMS_TOKENS = 400
_CONDENSED_TOKENS = 160
_WORD = re.compile(r"\birrelevant\b", re.IGNORECASE)
_REMARK_WORDS = 12
"""Words up to which a reply that says "irrelevant" is a remark on the passage, not a text on
something irrelevant."""


def write_texts(
    llm: Llm, prompt_name: str, rows: Sequence[dict[str, Any]], most_tokens: int
) -> list[str | Failure]:
    """Ask an LLM for one text per row of a prompt's values, at temperature 0.

    Args:
        llm: the writer.
        prompt_name: name of the prompt.
        rows: values for the prompt's expressions.
        most_tokens: limit of a reply.

    Returns:
        The text of each row's reply, or why there is none, in order.
    """
    params = {"temperature": 0, "max_tokens": most_tokens}
    requests = [writer_prompt(f"alce/{prompt_name}").request(row, params) for row in rows]
    with progress(f"writing: {prompt_name}", len(requests), "requests") as advance:
        results = llm.complete(requests)
        advance(len(requests))
    return [_read_text(*pair) for pair in zip(requests, results, strict=True)]


def _read_text(request: Request, result: Result) -> str | Failure:
    """Get the text of a reply; a failure if it repeats the number in its prompt's quote tags."""
    if isinstance(result, Failure):
        return result
    text = without_tags(result.text)
    if not repeats_number(text, request.messages[-1][1]):
        return text
    paid = (result.prompt_tokens, result.completion_tokens)
    return Failure("unparsable", "the reply repeats a tag of its prompt", 200, *paid)


def long_answer(gold: GoldRows) -> str:
    """Get a query's gold long answer without citation marks, to be split into claims; "" if none.

    The first annotated one (ASQA), or the one whole answer that measures select (ELI5, HAGRID).
    """
    answer = gold.long_answers[0] if gold.long_answers else gold.single
    text = (answer.text or "") if answer else ""
    return without_markers(text, Grammar().parse(text, 1 << 30).markers).strip()


def parse_subclaims(reply: str, n: int) -> list[str]:
    """Read up to n distinct claims from a reply: its list items, or else its lines."""
    lines = [line.strip() for line in reply.splitlines()]
    listed = [line for line in lines if _LISTED.match(line)]
    texts = (_LISTED.sub("", line).strip() for line in listed or lines)
    claims = dict.fromkeys(line for line in texts if line and not line.endswith(":"))
    return list(claims)[:n]


_USUAL_CLAIM = 100
"""Characters of a claim, for estimates."""


def sub_claims(
    questions: Mapping[str, str],
    gold: Mapping[str, GoldRows],
    n: int,
    llm: Llm,
    judge: JudgeSession,
    counts: Counter[str],
) -> list[dict[str, Any]]:
    """Let an LLM split gold answers into claims: gold rows of the entailed ones; add to counts.

    Args:
        questions: query to its text.
        gold: gold of each query.
        n: claims per answer.
        llm: writes them.
        judge: decides whether the answer entails them.
        counts: counts of claims written, kept and dropped; updated.

    Returns:
        Rows of the kind ``claim`` for the gold table (schema GOLD).
    """
    answers = {q: text for q in questions if not gold[q].claims and (text := long_answer(gold[q]))}
    rows = [{"question": questions[q], "answer": a, "n": n} for q, a in answers.items()]
    claims_of: dict[str, list[str]] = {}
    replies = write_texts(llm, "subclaims", rows, _CLAIMS_TOKENS)
    for query, reply in zip(answers, replies, strict=True):
        if judge.only_plans:  # the writer was not asked either: claims of usual length
            claims_of[query] = [f"{k} {query}".ljust(_USUAL_CLAIM, "?") for k in range(n)]
            continue
        if isinstance(reply, Failure):
            counts["subclaims_that_the_writer_failed_on"] += 1
            continue
        claims_of[query] = parse_subclaims(reply, n)
        counts["subclaims_written"] += len(claims_of[query])
        counts["subclaims_missing"] += n - len(claims_of[query])
    decisions = judge.ask(Pair(answers[q], c) for q, claims in claims_of.items() for c in claims)
    table_rows = []
    for query, claims in claims_of.items():
        start = len(gold[query])
        for claim in claims:
            decision = decisions[Pair(answers[query], claim)]
            if isinstance(decision, JudgeFailure) and not judge.only_plans:
                counts["subclaims_that_the_judge_failed_on"] += 1
            elif isinstance(decision, Verdict) and not decision.entailed:
                counts["subclaims_not_entailed"] += 1
            else:
                counts["subclaims_kept"] += 1
                row = {"query_id": query, "kind": "claim", "position": start, "text": claim}
                table_rows.append(row)
                start += 1
    return table_rows


def is_irrelevant(reply: str) -> bool:
    """Whether an LLM's reply says that the passage does not help to answer the question."""
    words = normalise_answer(reply).split()
    return words[:1] == ["irrelevant"] or (
        len(words) <= _REMARK_WORDS and _WORD.search(reply) is not None
    )


def condense(
    text_type: str,
    questions: Mapping[str, str],
    candidates: Mapping[str, Sequence[str]],
    texts: Texts,
    llm: Llm,
    counts: Counter[str],
) -> pa.Table:
    """Let an LLM summarise each query's candidate passages, or extract snippets from them.

    Args:
        text_type: ``summary`` or ``snippet``.
        questions: query to its text.
        candidates: query to the passages that are condensed.
        texts: (title, text) of these passages.
        llm: writes.
        counts: counts of passages condensed, irrelevant and failed; updated. A passage for which
            the writer fails has no row.
    """
    pairs = [(query, name) for query in questions for name in candidates[query]]
    rows = [{"question": questions[q], "title": texts[p][0], "text": texts[p][1]} for q, p in pairs]
    condensed = []
    for (query, name), reply in zip(
        pairs, write_texts(llm, text_type, rows, _CONDENSED_TOKENS), strict=True
    ):
        if isinstance(reply, Failure):
            counts[count_key("condensed_passages_that_the_writer_failed_on", text_type)] += 1
            continue
        idle = is_irrelevant(reply)
        counts[count_key("condensed_passages_irrelevant", text_type)] += idle
        counts[count_key("condensed_passages", text_type)] += not idle
        condensed.append((query, name, reply, idle))
    return table_of(condensed, CONDENSED)


def usable_texts(table: pa.Table) -> dict[tuple[str, str], str]:
    """Map (query, passage) to its summary or snippet, leaving out those marked as irrelevant."""
    return {(query, name): text for query, name, text, idle in rows_of(table) if not idle}


def condensed_stats(text_type: str, table: pa.Table, texts: Texts) -> dict[str, object]:
    """Compute statistics of summaries or snippets: mean lengths, shares irrelevant and verbatim.

    Args:
        text_type: ``summary`` or ``snippet``.
        table: schema CONDENSED.
        texts: (title, text) of the passages that they are made from.
    """
    good = usable_texts(table)
    stats: dict[str, object] = {
        count_key("condensed_irrelevant_share", text_type): round(
            1 - len(good) / table.num_rows, 4
        ) if table.num_rows else 0.0
    }  # fmt: skip
    if not good:
        return stats
    words = sum(len(text.split()) for text in good.values())
    before = sum(len(texts[name][1].split()) for _, name in good)
    stats[count_key("condensed_words_mean", text_type)] = round(words / len(good), 2)
    per_word = count_key("condensed_words_of_the_passage_per_word", text_type)
    stats[per_word] = round(before / words, 2)
    if text_type == "snippet":
        spans = [
            normalise_answer(text) in normalise_answer(texts[name][1])
            for (_, name), text in good.items()
        ]
        stats["snippet_verbatim_share"] = round(sum(spans) / len(spans), 4)
    return stats
