"""Ratings of citations by the edits that they need, after CiteEval's second rater.

Xu et al. 2025 (CiteEval, arXiv 2506.01829), section 4: every citation that is kept, deleted or
added has a rating, which depends on the reason; the authors fitted the ratings to marks of people.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citeforge.schemas.citations.grammar import read_number

_KEPT = 1.00298631
_DELETED = {"1": 0.06935712, "2": 0.79767963, "3": 0.5318322}
_ADDED = {"1": 0.0, "2": 0.01623296, "3": 0.43404136}
_INTERCEPT = -0.010901728784493359
"""Ratings of `citeeval_config.json` of the authors, by the number of the reason."""
REASONS = {
    "delete": {"off-topic": "1", "weaker": "2", "needless": "3"},
    "add": {"evidence": "1", "better": "2", "support": "3"},
}
"""Our words for the reasons of the authors' prompt, to their numbers."""
_SENTENCE = re.compile(r'<editing sentence_id="(\d+)">[\s\n]*((?:.|\n)*?)[\s\n]*</editing>')
_EDIT = re.compile(
    r'<(DELETE|ADD) citation="(\d+)">[\s\n]*(?:DELETE|ADD)*\s*REASON\s*(\d+)[\s\n]*'
    r"</(?:DELETE|ADD)>"
)


@dataclass(frozen=True)
class Edit:
    """A citation that is to be deleted or added.

    Attributes:
        action: ``delete`` or ``add``.
        citation: number of the passage, as text.
        reason: number of the reason, from 1 to 3, as text.
    """

    action: str
    citation: str
    reason: str


def read_edits(reply: str) -> dict[str, list[Edit]]:
    """Read citation edits, by number of sentence, from a reply to the authors' prompt.

    A sentence without an edit is left out, and so is an edit with another reason than theirs, on
    which the authors' code ends.
    """
    edits = {
        number: [
            Edit(action.lower(), citation, reason)
            for action, citation, reason in _EDIT.findall(text)
            if reason in _DELETED
        ]
        for number, text in _SENTENCE.findall(reply)
    }
    return {number: of_sentence for number, of_sentence in edits.items() if of_sentence}


def read_verdict(verdict: object, n_passages: int) -> list[Edit] | None:
    """Read citation edits from an LLM's JSON verdict on a statement; None if it is incomplete.

    Args:
        verdict: a member of the LLM's reply.
        n_passages: how many are shown; edits of others are left out.
    """
    edits = []
    for action, reasons in REASONS.items():
        rows = verdict.get(action) if isinstance(verdict, dict) else None
        if not isinstance(rows, list):
            return None
        for row in rows:
            said = row if isinstance(row, dict) else {}
            passage, reason = str(said.get("passage")), reasons.get(str(said.get("why")))
            if reason is None or not (passage.isascii() and passage.isdigit()):
                return None
            if 1 <= (number := read_number(passage)) <= n_passages:
                edits.append(Edit(action, str(number), reason))
    return edits


def rate_edits(cited: Iterable[str], edits: Sequence[Edit]) -> float:
    """Rate a sentence's citations by the edits that they need: about 0 to 1.

    Deleting what was added, or adding what was deleted, takes the first edit back.

    Args:
        cited: numbers of the passages that it cites, as text.
        edits: in their order.

    Returns:
        The mean rating of all citations that were there or are to be added, about 0 to 1.
    """
    ratings = dict.fromkeys(cited, _KEPT)
    added, deleted = set[str](), set[str]()
    for edit in edits:
        name = edit.citation
        if edit.action == "add":
            if name not in ratings:
                ratings[name] = _ADDED[edit.reason]
                added.add(name)
            elif name in deleted:
                ratings[name] = _KEPT
                deleted.remove(name)
        elif name in added:
            del ratings[name]
            added.remove(name)
        elif name in ratings:
            ratings[name] = _DELETED[edit.reason]
            deleted.add(name)
    return sum(ratings.values()) / len(ratings) + _INTERCEPT if ratings else 1.0
