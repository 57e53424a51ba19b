"""Worked examples of each form of question; LLMs are shown them as earlier turns."""

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
_KETTLE = {
    "title": "Model K2 kettle > Cleaning",
    "text": "Unplug the kettle first. To remove scale, fill it with half a litre of vinegar and "
    "let it stand overnight. Never put the base into water.",
}
_HOLIDAY = {
    "title": "Staff handbook",
    "text": "Requests for leave go to the head of the team, at least 14 days before the first "
    "day. Days that are left in December can be taken until the end of March.",
}
EXAMPLES = {
    SINGLE: (
        (
            [_KETTLE],
            "Quote: To remove scale, fill it with half a litre of vinegar\n"
            "Question: Which liquid takes the scale out of a K2 kettle?\n"
            "Answer: vinegar\n"
            "Statement: Scale in the K2 kettle is removed with vinegar.",
        ),
        (
            [_LOCK],
            "Quote: Its keeper, Ada Lindqvist, lived in the white house\n"
            "Question: Who looked after Heron Lock?\n"
            "Answer: Ada Lindqvist\n"
            "Statement: Ada Lindqvist was the keeper of Heron Lock.",
        ),
        (
            [_HOLIDAY],
            "Quote: at least 14 days before the first day\n"
            "Question: How long in advance must staff ask for leave?\n"
            "Answer: 14 days\n"
            "Statement: Staff must ask for leave at least 14 days in advance.",
        ),
    ),
    PAIR: (
        (
            [_LOCK, _KEEPER],
            "Quote: Its keeper, Ada Lindqvist, lived in the white house\n"
            "Quote: Ada Lindqvist was born in Ystad\n"
            "Question: In which town was the keeper of Heron Lock born?\n"
            "Answer: Ystad\n"
            "Statement: The keeper of Heron Lock was born in Ystad.",
        ),
    ),
    LIST: (
        (
            [_LOCK],
            "Quote: opened in 1871 for barges with coal, timber and salt\n"
            "Question: What did boats carry through Heron Lock?\n"
            "Answer: coal\n"
            "Answer: timber\n"
            "Answer: salt\n"
            "Statement: Barges with coal, timber and salt went through Heron Lock.",
        ),
    ),
    ABSENT: (
        ([_KETTLE], "Question: How many years of guarantee does a K2 kettle have?"),
        ([_LOCK], "Question: How much did it cost to build Heron Lock?"),
    ),
}
"""Form to (passages, what is written about them)."""
