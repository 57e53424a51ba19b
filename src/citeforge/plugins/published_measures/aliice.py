"""ALiiCE: citation recall and precision of atomic claims, one for each position of citations.

## aliice

Xu et al. 2025 (ALiiCE, arXiv 2406.13375), section 3; `reference`: their `eval.py`. A sentence with
citations at several positions has a claim for each: its dependency tree (spaCy's small English
model, whose name is in signatures) without what belongs to the other positions. Any other sentence
is one claim. `C` are the citations of a claim `a`, and recall and precision are [ALCE's](#alce), of
claims in place of statements.

`strict` counts every claim, and each distinct citation of a claim once, those out of range too;
statements of more than 2,000 characters or 20 positions, and those mostly in other scripts than
Latin, which the parser does not read, are taken whole.
`reference` reads words without punctuation, and takes sentences whole that have more than 50 words
or cite at the root of the tree; claims without citations or with one out of range do not count, an
answer without others leaves, and of claims with the same words the last one's citations count.
There numbers above 5 are out of range, however many passages are shown: their program does not
pass on its option `--psg_num`.

*Example.* "Rome fell in 476 [1], and Paris grew [2]. Rome is old." has the claims "Rome fell in
476", "Paris grew" and "Rome is old". Passage 1 entails the first, passage 2 not the second. R =
1/3, P = 1/2; `reference`: R = 1/2, as the third claim cites nothing.
"""

import re
import string
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from citeforge.evaluator.measures.declared import CitationQuality, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.judging import CitationJudging, CitationScores
from citeforge.evaluator.measures.script_words import is_mostly_latin
from citeforge.evaluator.statements.alce import reference_clean
from citeforge.evaluator.statements.split import Statement, split_statements
from citeforge.evaluator.statements.strict import CitedStatement, make_statement
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import Need
from citeforge.plugins.published_measures.claim_trees import (
    Parsed,
    build_tree,
    claim_tokens,
    parse,
    parser_name,
)
from citeforge.schemas.citations.grammar import read_number

SOURCE = "Xu et al. 2025 (ALiiCE), section 3"
_MOST_WORDS = 50
"""Words of a sentence from which on the authors' code takes it whole."""
_MOST_CHARACTERS = 2_000
_MOST_POSITIONS = 20
"""In ``strict``, statements that pass one of them are no sentences, and taken whole."""
_MOST_NUMBER = 5
"""Largest number in range for the authors' program, whatever is shown."""
_MARK = re.compile(r"\[\d+\]")
_MARK_OR_TEXT = re.compile(r"(\[\d+\])")
_DROPPED = re.compile(r"[^\w\s\[\],]")
Claim = tuple[str, tuple[int, ...]]
"""Text of a claim, and the numbers that it cites."""


@per_submission(
    "aliice", needs=(Need.STATEMENTS, Need.SEGMENTER, Need.PASSAGES, Need.JUDGE), source=SOURCE,
    requires="a judge, a parser of English (the extra ner)", reads_labels=False,
    options=lambda tools, protocol: parser_name(),
)  # fmt: skip
def claims(answers: Answers) -> dict[AnswerKey, CitationScores]:
    """Let the judge score the citations of all answers' claims: recall and precision by answer."""
    parser_name()  # Signatures name it, also where no sentence is parsed.
    strict = answers.protocol == "strict"
    read = read_claims if strict else read_reference_claims
    judging = CitationJudging(answers.tools.get_judge(), strict, levels=answers.tools.levels)
    rows = list(answers)
    scores = judging.score([(answer, read(answer)) for answer in rows])
    return {answer.key: score for answer, score in zip(rows, scores, strict=True)}


def read_claims(answer: Answer) -> list[CitedStatement]:
    """Split an answer into claims with their citations, by the protocol ``strict``."""
    inputs = answer.submission
    if inputs.task == "qampari":  # items of its lists are claims
        return [*answer.statements]
    segmenter = inputs.tools.get_segmenter()
    statements = split_statements(answer.output, inputs.grammar, segmenter, answer.n_shown)
    return [
        make_statement(text, numbers, answer, inputs)
        for statement in statements.statements
        for text, numbers in _cut_statement(answer.output, statement)
    ]


def _cut_statement(output: str, statement: Statement) -> list[Claim]:
    """Split a statement into claims, one per position of its citations; long ones stay whole."""
    places: dict[int, list[int]] = {}
    for marker in statement.markers:
        if marker.numbers:
            places.setdefault(_map_offset(output, statement, marker.start), []).extend(
                marker.numbers
            )
    is_too_long = len(statement.text) > _MOST_CHARACTERS or len(places) > _MOST_POSITIONS
    if len(places) < 2 or is_too_long or not is_mostly_latin(statement.text):
        return [(statement.text, tuple(statement.numbers))]
    parsed = parse(statement.text)
    starts = _find_starts(statement.text, parsed.words)
    cited: dict[int, list[int]] = {}
    for place, numbers in places.items():
        cited.setdefault(_find_token_before(parsed, starts, place), []).extend(numbers)
    claims = []
    for token, numbers in cited.items():
        kept = set(claim_tokens(parsed, cited, token))
        text = _join_tokens(statement.text, parsed.words, starts, kept)
        claims.append((text or statement.text, tuple(numbers)))
    return claims


def _map_offset(output: str, statement: Statement, offset: int) -> int:
    """Map an offset in an answer's text to the offset in a statement's normalised text.

    White space differs between them, so that other characters are counted.
    """
    before = "".join(
        output[start : min(end, offset)] for start, end in statement.spans if start < offset
    )
    n = sum(not c.isspace() for c in before)
    places = [i for i, c in enumerate(statement.text) if not c.isspace()]
    return places[min(n, len(places)) - 1] + 1 if n else 0


def _find_starts(text: str, words: Iterable[str]) -> list[int]:
    """Find the start offset of each token in a text."""
    starts, at = [], 0
    for word in words:
        at = text.index(word, at)
        starts.append(at)
        at += len(word)
    return starts


def _find_token_before(parsed: Parsed, starts: Sequence[int], offset: int) -> int:
    """Find the last word token that starts before an offset, else the first: its index."""
    n = bisect_right(starts, offset - 1)
    words = [i for i, word in enumerate(parsed.words) if any(c.isalnum() for c in word)]
    return max((i for i in words if i < n), default=words[0])


def _join_tokens(text: str, words: Sequence[str], starts: Sequence[int], kept: set[int]) -> str:
    """Join the tokens of a text whose indices are in ``kept``, with the text's white space."""
    pieces = [
        word + (" " if text[start + len(word) :][:1].isspace() else "")
        for i, (word, start) in enumerate(zip(words, starts, strict=True))
        if i in kept
    ]
    return "".join(pieces).strip()


def read_reference_claims(answer: Answer) -> list[CitedStatement]:
    """Split an answer into claims as the authors' code does; keep those with valid citations.

    ``[0]`` is the last passage, at −1, which is another citation than its number; repeats are kept.
    """
    segmenter, n = answer.submission.tools.get_segmenter(), answer.n_passages
    sentences = [answer.output[s:e] for s, e in segmenter.split(answer.output)]
    for i in range(1, len(sentences)):
        # Of the marks that open a sentence the first goes to the sentence before.
        if sentences[i].startswith("[") and (mark := _MARK.search(sentences[i])):
            sentences[i - 1] += mark[0]
            sentences[i] = sentences[i][: mark.start()] + sentences[i][mark.end() :]
    return [
        CitedStatement(text, tuple(number - 1 for number in numbers))
        for sentence in sentences
        for text, numbers in cut_sentence(sentence)
        if numbers and n and max(numbers) <= min(n, _MOST_NUMBER)
    ]


def cut_sentence(sentence: str) -> list[Claim]:
    """Split a sentence into (claim, cited numbers) as the authors' code does.

    A citation is of the token nearest to the word that it follows and that contains it, or is
    contained in it.
    """
    if _MARK.search(sentence) is None:
        return []
    if len(sentence.split()) > _MOST_WORDS:
        return [_read_whole_sentence(sentence)]
    sentence = _DROPPED.sub("", sentence)
    words, cited_words = _read_words(sentence)
    parsed = parse(" ".join(words))
    cited: dict[int, tuple[int, ...]] = {}
    for at, numbers in cited_words.items():
        like = [
            i for i, token in enumerate(parsed.words)
            if at < len(words) and (words[at] in token or token in words[at])
        ]  # fmt: skip
        if not like:
            return []
        cited[min(like, key=lambda i: abs(i - at))] = numbers
    if build_tree(parsed).index in cited:
        return [_read_whole_sentence(sentence)]
    claims: dict[str, tuple[int, ...]] = {}
    for token, numbers in cited.items():
        if kept := claim_tokens(parsed, cited, token):
            claims[" ".join(parsed.words[i] for i in kept)] = numbers
    return list(claims.items())


def _read_whole_sentence(sentence: str) -> Claim:
    """Make one claim of a sentence: (text without citation marks, all numbers that it cites)."""
    numbers = tuple(read_number(mark[1:-1]) for mark in _MARK.findall(sentence))
    return reference_clean(sentence), numbers


def _read_words(sentence: str) -> tuple[list[str], dict[int, tuple[int, ...]]]:
    """Split a sentence: (words without punctuation, cited numbers by index of word before).

    Citations that open the sentence are of the first word, unless that has its own.
    """
    words: list[str] = []
    cited: dict[int, tuple[int, ...]] = {}
    group: tuple[int, ...] = ()
    pieces = [p for part in sentence.split() for p in _MARK_OR_TEXT.split(part) if p]
    for piece in pieces:
        if _MARK.fullmatch(piece):
            group += (read_number(piece[1:-1]),)
            cited[max(len(words) - 1, 0)] = group
        else:
            words.append(piece.strip(string.punctuation))
            group = ()
    return words, cited


MEASURES = (
    claims.measure(
        "ALiiCE.R", "claims that their citations together entail", linear=True,
        mean=lambda scores: scores.recall,
        formula="share of claims with `C` not empty and `φ(all of C, a) = 1`",
        edge_cases="no claim: 0",
        citation_quality=CitationQuality(
            "recall", "Each position of citations has its own part of the sentence to entail.",
            "Theirs leaves out claims without citations or with one out of range.")),
    claims.measure(
        "ALiiCE.P", "citations that are needed for a claim that is entailed",
        mean=lambda scores: scores.precision,
        formula="share of citations whose claim is entailed, and which are not irrelevant: "
        "`φ(c, a) = 0` and `φ(C without c, a) = 1`",
        edge_cases="nothing cited: 0",
        citation_quality=CitationQuality(
            "precision", "A citation counts for its own part of the sentence alone.",
            "Theirs leaves out claims without citations or with one out of range.")),
)  # fmt: skip
