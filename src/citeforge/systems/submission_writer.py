"""Write submissions, and the lines of an LLM's answers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import atomic_file
from citeforge.engines.llm.records import Failure, LlmReply
from citeforge.evaluator.submissions.unwrapping import SameAnswers
from citeforge.schemas.citations.grammar import citation_marks
from citeforge.schemas.counts import count_key
from citeforge.schemas.finish_reasons import TRUNCATED
from citeforge.schemas.submission import Header
from citeforge.systems.system import Reply


def write_submission(out: Path, header: Header, lines: Iterable[Mapping[str, Any]]) -> SameAnswers:
    """Write a submission file; return the number of answers, and whether all are the same.

    Args:
        out: file to write.
        header: first line.
        lines: fields of each answer.

    Returns:
        Number of answers, and whether all are one text.
    """
    same = SameAnswers()
    with atomic_file(out) as file:
        file.write(msgspec.json.encode(header) + b"\n")
        for line in lines:
            file.write(msgspec.json.encode(line) + b"\n")
            same.add(line["query_id"], line["output"])
    return same


def count_endings(
    answers: Sequence[LlmReply | Reply | Failure], max_tokens: int, logprobs: bool
) -> dict[str, int]:
    """Count LLM answers by ending: cut off, empty, with thoughts, without log probabilities.

    Args:
        answers: replies and failures.
        max_tokens: most tokens of an answer, for the name of the count.
        logprobs: whether log probabilities were asked for.

    Returns:
        Number of answers by name of the count.
    """
    answered = [a for a in answers if not isinstance(a, Failure)]
    thoughts = [" ".join(a.thoughts) for a in answered]
    return {
        count_key("answers_cut", max_tokens): sum(a.finish_reason == TRUNCATED for a in answered),
        "empty_answers": sum(not a.text.strip() for a in answered),
        "answers_without_log_probabilities": sum(logprobs and a.logprobs is None for a in answered),
        "answers_after_thoughts": sum(map(bool, thoughts)),
        "words_of_thoughts": sum(len(text.split()) for text in thoughts),
    }


def answer_line(
    query_id: str, run: int, fields: Mapping[str, Any], answer: LlmReply | Reply
) -> dict[str, Any]:
    """Make a submission line from an answer, its run, and further fields such as ``context``.

    Args:
        query_id: id of the query.
        run: number of the run.
        fields: further fields of the line, such as ``context`` or ``passages``.
        answer: the answer.
    """
    line = {"query_id": query_id, "output": answer.text, "run": run, **fields}
    if answer.logprobs is not None:
        line["logprobs"] = citation_logprobs(answer)
    if answer.finish_reason is not None:
        line["finish_reason"] = answer.finish_reason
    return line


def citation_logprobs(answer: LlmReply | Reply) -> list[dict[str, Any]]:
    """List (index, token, logprob) of an answer's tokens with digits in citation marks.

    Each is listed under the index of its mark in
    :func:`citeforge.schemas.citations.grammar.citation_marks`, which the scorer uses, too.

    Returns:
        ``index`` of the mark, ``token`` and ``logprob`` of each such token.
    """
    marks = citation_marks(answer.text)
    values = []
    at = 0
    for token in answer.logprobs or ():
        start = answer.text.find(token.token, at)
        if start < 0:
            continue
        at = start + len(token.token)
        if not any(c.isdigit() for c in token.token):
            continue
        for index, mark in enumerate(marks):
            if mark.start < at and start < mark.end:
                values.append({"index": index, "token": token.token, "logprob": token.logprob})
    return values
