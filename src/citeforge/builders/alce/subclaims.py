"""Sub-claims of long answers, kept when the answer entails them (ALCE, section 3.2 and A)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from citeforge.builders.alce.writing import write_texts
from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Llm
from citeforge.package.items import GoldRows
from citeforge.schemas.citations.grammar import Grammar, without_markers

_LISTED = re.compile(r"^(?:[-*•–]|\(?\d{1,2}[.):]|claim \d+:)\s*", re.IGNORECASE)
_MOST_TOKENS = 400


def long_answer(rows: GoldRows) -> str:
    """The long answer that claims are taken from, without citation marks; empty without one.

    The first annotated one (ASQA), or the one whole answer that measures select (ELI5, HAGRID).
    """
    answer = rows.long_answers[0] if rows.long_answers else rows.single
    text = (answer.text or "") if answer else ""
    return without_markers(text, Grammar().parse(text, 1 << 30).markers).strip()


def parse_subclaims(reply: str, n: int) -> list[str]:
    """The first n distinct lines of a reply, without what numbers them. A line that announces
    others (it ends in a colon) is none; where lines are numbered, the others are none either."""
    lines = [line.strip() for line in reply.splitlines()]
    listed = [line for line in lines if _LISTED.match(line)]
    texts = (_LISTED.sub("", line).strip() for line in listed or lines)
    claims = dict.fromkeys(line for line in texts if line and not line.endswith(":"))
    return list(claims)[:n]


def sub_claims(
    questions: Mapping[str, str],
    gold: Mapping[str, GoldRows],
    n: int,
    llm: Llm,
    judge: JudgeSession,
    counts: Counter[str],
) -> list[dict[str, Any]]:
    """Gold rows of kind ``claim`` for queries that have a long answer and no claims.

    Args:
        questions: query to its text.
        gold: gold of each query.
        n: claims an answer.
        llm: writes them.
        judge: decides whether the answer entails them.
        counts: told what was written, kept and dropped.
    """
    answers = {q: text for q in questions if not gold[q].claims and (text := long_answer(gold[q]))}
    rows = [{"question": questions[q], "answer": a, "n": n} for q, a in answers.items()]
    claims_of: dict[str, list[str]] = {}
    for query, reply in zip(
        answers, write_texts(llm, "subclaims", rows, _MOST_TOKENS), strict=True
    ):
        if isinstance(reply, Failure):
            counts["sub-claims: answers for which the writer failed"] += 1
            continue
        claims_of[query] = parse_subclaims(reply, n)
        counts["sub-claims written"] += len(claims_of[query])
        counts["sub-claims missing from replies"] += n - len(claims_of[query])
    decisions = judge.ask(Pair(answers[q], c) for q, claims in claims_of.items() for c in claims)
    table_rows = []
    for query, claims in claims_of.items():
        start = len(gold[query])
        for claim in claims:
            decision = decisions[Pair(answers[query], claim)]
            if isinstance(decision, JudgeFailure):
                counts["sub-claims dropped: the judge failed"] += 1
            elif not decision.entailed:
                counts["sub-claims dropped: the answer does not entail them"] += 1
            else:
                counts["sub-claims kept"] += 1
                row = {"query_id": query, "kind": "claim", "position": start, "text": claim}
                table_rows.append(row)
                start += 1
    return table_rows
