"""Verifiability of long reports: precision of citations, and claims that sources support.

## deepscholar

Patel et al. 2025 (DeepScholar-Bench, arXiv 2508.20033) and its code. Only long sentences count:
those of at least 50 characters, so that short ones are neither checked nor counted. A sentence
without a citation has precision 0.

`strict` reads statements and citation marks as everywhere here, and measures the length without
marks. A citation out of range supports nothing. For a claim it asks twice at most: first all that
the statement cites, then, unless that is enough, all that it, the one before and the one after cite
(`w = 1`), short ones included.

`reference` does what the code does. It reads only `[1]`, and the first number of `[1, 2]`; leaves
citations out of range out; for precision counts marks into the 50 characters; and asks about the
premise of a claim with the text of the query (there: title and abstract of the paper) behind it.
Its window has no effect: the loop over the sentences around reads the claim's own citations again
each time.

*Example.* Three long statements; 1 cites passages A (supports it) and B (does not), 2 cites
nothing, but A supports it, 3 cites a passage out of range. P = (1/2 + 0 + 0)/3 = .17. Claims =
(1 + 1 + 0)/3 = .67, since A is cited next to 2; `reference`: (1 + 0 + 0)/3 = .33.
"""

import re
from functools import partial
from itertools import islice

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.declared import CitationQuality, per_answer
from citeforge.evaluator.measures.handed import Answer, Asking
from citeforge.evaluator.measures.judging import premise, premise_text
from citeforge.evaluator.measures.values import NOTHING, Value
from citeforge.evaluator.submissions.tools import Need

PAPER = "Patel et al. 2025 (DeepScholar-Bench, arXiv 2508.20033), verifiability"
LEAST_LENGTH = 50
"""Characters of the shortest sentence that counts."""
_WINDOW = 1
"""Statements on either side whose citations count for a claim, too."""
_NEEDS = (Need.STATEMENTS, Need.PASSAGES, Need.SEGMENTER, Need.JUDGE)
_ET_AL, _PROTECTED = "et al.", "ET__AL"
_NUMBER = re.compile(r"\[(\d+)")
_MARK = re.compile(r"\s*\[\d+\]")


_declare = partial(
    per_answer, "deepscholar", needs=_NEEDS, source=PAPER, requires="a judge", missing=NOTHING,
    reads_labels=False,
)  # fmt: skip


@_declare()
def precision(answer: Answer) -> Asking[Value]:
    """Compute the mean share of supporting citations over long statements; 0 without any."""
    long = [s for s in answer.statements if len(s.text) >= LEAST_LENGTH]
    values = yield [
        Pair(premise(answer.passages, (c,), True), s.text) for s in long for c in s.cited
    ]
    supporting = iter(values)
    return Value.mean([
        sum(islice(supporting, len(s.cited)), NOTHING) / (len(s.cited) + s.wrong or 1) for s in long
    ])  # fmt: skip


@precision.reference
def reference_precision(answer: Answer) -> Asking[Value]:
    """Compute the mean share of supporting citations as the paper's code does."""
    long = [
        (_remove_marks(sentence), _read_sources(sentence, answer))
        for sentence in split_sentences(answer)
        if len(sentence) >= LEAST_LENGTH
    ]
    supporting = iter((yield [Pair(source, text) for text, sources in long for source in sources]))
    return Value.mean([Value.mean([*islice(supporting, len(sources))]) for _, sources in long])


@_declare()
def claims(answer: Answer) -> Asking[Value]:
    """Compute the share of long statements that passages cited nearby support; 0 without any."""
    own, around = [], []
    for at, statement in enumerate(answer.statements):
        near = answer.statements[max(at - _WINDOW, 0) : at + _WINDOW + 1]
        if len(statement.text) >= LEAST_LENGTH:
            own.append(Pair(premise(answer.passages, statement.cited, True), statement.text))
            cited = dict.fromkeys(c for one in (statement, *near) for c in one.cited)
            around.append(Pair(premise(answer.passages, cited, True), statement.text))
    alone = yield own
    unsure = [pair for pair, value in zip(around, alone, strict=True) if not value.low]
    together = dict(zip(unsure, (yield unsure), strict=True))
    return Value.mean([
        Value.best([value, together.get(pair, NOTHING)])
        for pair, value in zip(around, alone, strict=True)
    ])  # fmt: skip


@claims.reference
def reference_claims(answer: Answer) -> Asking[Value]:
    """Compute the share of long sentences that cited passages (joined with the query) support."""
    rows = [(_remove_marks(s), _read_sources(s, answer)) for s in split_sentences(answer)]
    long = [(text, sources) for text, sources in rows if len(text) >= LEAST_LENGTH]
    supported = yield [
        Pair(" ".join(sources) + answer.query if sources else "", text) for text, sources in long
    ]
    return Value.mean(supported)


def split_sentences(answer: Answer) -> list[str]:
    """Split an answer into sentences as the paper's code does: "et al." ends none."""
    text = re.sub(rf"\b{re.escape(_ET_AL)}", _PROTECTED, answer.output)
    spans = answer.submission.tools.get_segmenter().split(text)
    return [text[start:end].replace(_PROTECTED, _ET_AL) for start, end in spans]


def _read_sources(sentence: str, answer: Answer) -> list[str]:
    """List the texts of the passages that a sentence cites, repeats included."""
    found = (digits.lstrip("0") for digits in _NUMBER.findall(sentence))
    numbers = (int(digits) for digits in found if 0 < len(digits) < 10)
    return [
        premise_text(answer.passages[number - 1], strict=False)
        for number in numbers
        if number <= len(answer.passages)
    ]


def _remove_marks(sentence: str) -> str:
    """Remove citation marks ``[n]``, and bars after a space, from a sentence."""
    return _MARK.sub("", sentence).replace(" |", "").strip()


MEASURES = (
    precision.measure(
        "DeepScholar.P", "citations of long statements that support them",
        formula="mean, over statements of at least 50 characters, of supporting citations ÷ "
        "citations",
        edge_cases="statement without a citation, answer without such a statement: 0. `reference`: "
        "citations out of range are left out",
        citation_quality=CitationQuality(
            "precision", "Each citation is asked about alone; only statements of at least 50 "
            "characters count, and those without a citation as 0.",
            "Their code reads the first number of a mark.")),
    claims.measure(
        "DeepScholar.Claims", "long statements that what they or their neighbours cite supports",
        formula="share of statements of at least 50 characters that their citations together "
        "entail, or those within one statement on either side",
        edge_cases="no such statement: 0. `reference`: own citations only",
        citation_quality=CitationQuality(
            "recall", "A statement may rest on what the one before or after it cites.",
            "Their code looks at its own citations alone.")),
)  # fmt: skip
