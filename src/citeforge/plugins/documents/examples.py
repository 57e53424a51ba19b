"""A worked example of each form of question; LLMs are shown it as an earlier turn."""

from __future__ import annotations

from citeforge.plugins.documents.recipe import ABSENT, LIST, PAIR, SINGLE

_LOCK = {
    "title": "Heron Lock",
    "text": "Heron Lock was opened in 1871 for barges with coal, timber and salt. Its keeper, Ada "
    "Lindqvist, lived in the white house beside it.",
}
_KEEPER = {
    "title": "People of the canal",
    "text": "Ada Lindqvist was born in Ystad and went to sea as a girl.",
}
EXAMPLES = {
    SINGLE: (
        [_LOCK],
        "Question: Who looked after Heron Lock?\n"
        "Answer: Ada Lindqvist\n"
        "Statement: Ada Lindqvist was the keeper of Heron Lock.\n"
        "Quote: Its keeper, Ada Lindqvist, lived in the white house",
    ),
    PAIR: (
        [_LOCK, _KEEPER],
        "Question: In which town was the keeper of Heron Lock born?\n"
        "Answer: Ystad\n"
        "Statement: The keeper of Heron Lock was born in Ystad.\n"
        "Quote: Its keeper, Ada Lindqvist, lived in the white house\n"
        "Quote: Ada Lindqvist was born in Ystad",
    ),
    LIST: (
        [_LOCK],
        "Question: What did boats carry through Heron Lock?\n"
        "Answer: coal\n"
        "Answer: timber\n"
        "Answer: salt\n"
        "Statement: Barges with coal, timber and salt went through Heron Lock.\n"
        "Quote: opened in 1871 for barges with coal, timber and salt",
    ),
    ABSENT: ([_LOCK], "Question: How much did it cost to build Heron Lock?"),
}
"""Form to passages and what is written about them."""
