"""Answers, prompts and replies of CiteEval as its authors' code reads and writes them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citeforge.engines.text.segment import Segmenter
from citeforge.package.items import Passage
from citeforge.plugins.published_measures.citeeval_edits import Edit, rate_edits
from citeforge.schemas.citations.grammar import read_number

MOST_PASSAGES = 10
"""Largest number of a citation that the authors' code keeps, however many passages are shown."""
SHORT = 20
"""Characters of a sentence from which on it stands alone."""
_MARK = re.compile(r"\[(\d+)\]")
_SPACED_MARK = re.compile(r"(?<!\s)\s*\[\d+\]")
_OPENING_MARKS = re.compile(r"\W*(?:\[\d+\])+")
_THOUGHTS_END = "</thinking>"
_NOTHING = "no|none|not"
_ABSENT = (
    "information|details|answer|mention|mentioned|provided|source|sources|passage|passages|found"
)
_SAYS_NOTHING = re.compile(rf"\b(?:{_NOTHING})\b.{{0,30}}\b(?:{_ABSENT})\b", re.IGNORECASE)
RETRIEVAL = "2"
"""Category of a sentence that is from the passages, and so needs a citation."""
CATEGORIES = ("1", "2", "3", "4")
"""A sentence is from the query, the passages, the sentences before it, or the model."""
_CATEGORY = re.compile(r'<category sentence_id="(\d+)">\s*(\d+)\s*</category>')
_RATING = re.compile(r'<rating sentence_id="(\d+)">\s*(\d+)\s*</rating>')


@dataclass
class Sentence:
    """A sentence of an answer.

    Attributes:
        text: without citations.
        citations: numbers that it cites.
        ends_line: whether a line ends with it.
    """

    text: str
    citations: list[int]
    ends_line: bool = False


def read_sentences(output: str, segmenter: Segmenter, text_if_no_answer: str) -> list[Sentence]:
    """Split an answer (one that says it has none is replaced) as the authors' code does.

    Args:
        output: what the system wrote.
        segmenter: splits sentences.
        text_if_no_answer: sentence that stands for an answer that says it has none.
    """
    before, end, spoken = output.strip().partition(_THOUGHTS_END)
    text = (spoken if end else before).strip()
    if _SAYS_NOTHING.search(text):
        text = text_if_no_answer
    lines = text.replace("\n\n", "\n").split("\n")
    sentences: list[Sentence] = []
    for number, line in enumerate(lines):
        raw = [line[start:stop] for start, stop in segmenter.split(line)]
        for i, piece in enumerate(raw):
            ends_line = number < len(lines) - 1 and i == len(raw) - 1
            _add_sentence(sentences, piece, ends_line)
    merged: list[Sentence] = []
    for sentence in sentences:
        stands_alone = not merged or len(sentence.text) >= SHORT
        if stands_alone or not (sentence.ends_line or sentence.citations):
            merged.append(sentence)
        else:
            merged[-1].text += f" {sentence.text}"
            merged[-1].citations += sentence.citations
    for sentence in merged:
        # In the order of a Python set, as in the authors' code.
        sentence.citations = [n for n in set(sentence.citations) if 1 <= n <= MOST_PASSAGES]
    return merged


def _add_sentence(sentences: list[Sentence], raw_text: str, is_last_of_line: bool) -> None:
    """Append a sentence, if not empty; marks at its start are added to the sentence before."""
    text = _SPACED_MARK.sub("", raw_text).strip()
    opening = _OPENING_MARKS.match(raw_text)
    first = [] if opening is None else _read_numbers(opening[0])
    own = _read_numbers(raw_text if opening is None else raw_text[opening.end() :])
    if sentences:
        sentences[-1].citations += first
    else:
        own += first
    if text:
        sentences.append(Sentence(text, own, is_last_of_line))


def _read_numbers(text: str) -> list[int]:
    """List the numbers of a text's citation marks ``[n]``."""
    return [read_number(number) for number in _MARK.findall(text)]


def fill_prompt(
    template: str, question: str, passages: Sequence[Passage], sentences: Sequence[Sentence]
) -> str:
    """Fill a prompt template of the authors, whose placeholders are written ``{x.question}``.

    Args:
        template: has some of the placeholders question, passages, sentences, answer, citations.
        question: text of the query.
        passages: what was shown.
        sentences: of the answer.
    """
    numbered = list(enumerate(sentences, 1))
    values = {
        "question": question,
        "passages": "\n\n".join(
            f'<passage id="{n}" title="{p.title}">\n{p.text}\n</passage>'
            for n, p in enumerate(passages, 1)
        ),
        "sentences": "\n".join(
            f'<sentence sentence_id="{n}"> {s.text} </sentence>' for n, s in numbered
        ),
        "answer": " ".join(s.text for s in sentences),
        "citations": "\n".join(
            f'<citation sentence_id="{n}" sentence="{s.text}"> '
            f"{', '.join(map(str, s.citations)) or None} </citation>"
            for n, s in numbered
        ),
    }
    return re.sub(r"\{x\.(\w+)\}", lambda place: values.get(place[1], place[0]), template)


def read_categories(reply: str) -> dict[str, str]:
    """Read sentences' source categories, by number, from a reply; unknown ones are retrieval."""
    read = {}
    for number, category in _CATEGORY.findall(reply):
        known = category if category in CATEGORIES else category[0]
        read[number] = known if known in CATEGORIES else RETRIEVAL
    return read


def read_ratings(reply: str) -> dict[str, float]:
    """Read sentences' ratings (1 to 5), by number, from a reply: scaled to [0, 1]."""
    return {number: (read_number(mark) - 1) / 4 for number, mark in _RATING.findall(reply)}


def rate_edited(
    sentences: Sequence[Sentence], edits: Mapping[str, Sequence[Edit]]
) -> dict[str, float]:
    """Rate the citations of edited sentences, by number, as the authors' code does.

    The authors' code adds 1 to every citation before it compares it with those of edits, though
    both count from 1.
    """
    numbered = ((str(number), s) for number, s in enumerate(sentences, 1))
    return {
        number: rate_edits([str(n + 1) for n in sentence.citations], edits[number])
        for number, sentence in numbered
        if number in edits
    }


def rate_sentences(
    sentences: Sequence[Sentence], categories: Mapping[str, str], ratings: Mapping[str, float]
) -> list[float | None]:
    """Rate an answer's sentences in [0, 1]; None for one that needs no citation and has none.

    One that cites and got no rating has 1; one of the passages that cites nothing has 0, and so has
    one that got no category.

    Args:
        sentences: of an answer.
        categories: of sentences, by number from 1.
        ratings: likewise.
    """
    rated: list[float | None] = []
    for number, sentence in enumerate(sentences, 1):
        if sentence.citations:
            rated.append(ratings.get(str(number), 1.0))
        else:
            rated.append(0.0 if categories.get(str(number), RETRIEVAL) == RETRIEVAL else None)
    return rated
