"""Items of list answers, as ``strict`` cuts them."""

import pytest

from citeforge.evaluator.statements.list_items import list_items
from citeforge.schemas.citations.grammar import Grammar

P, R, O = ("Paris", [1]), ("Rome", [2]), ("Oslo", [3])  # noqa: E741
PLAIN = [("Paris", []), ("Rome", []), ("Oslo", [])]


@pytest.mark.parametrize(
    ("output", "items"),
    [
        ("Paris [1], Rome [2], Oslo [3].", [P, R, O]),
        ("1. Paris [1]\n2. Rome [2]\n3. Oslo [3]", [P, R, O]),
        ("1) Paris [1] 2) Rome [2] 3) Oslo [3]", [P, R, O]),
        ("Paris [1], Rome [2], and Oslo [3].", [P, R, O]),
        ("Paris, Rome und Oslo", PLAIN),
        ("Paris [1] and Rome [2].", [P, R]),
        ("Trinidad and Tobago [1], Oslo [3]", [("Trinidad and Tobago", [1]), O]),
        ("Paris [1]; Rome [2]; Oslo [3]", [P, R, O]),
        ("• Paris [1]\n• Rome [2]", [P, R]),
        ("Here are the cities:\n- Paris [1]\n- Rome [2]", [P, R]),
        ("The cities are: Paris, Rome and Oslo.", PLAIN),
        ("Answer: Paris, Rome, Oslo", PLAIN),
        ("Star Wars: A New Hope, Oslo [3]", [("Star Wars: A New Hope", []), O]),
        ("巴黎[1]、罗马[2]", [("巴黎", [1]), ("罗马", [2])]),
        ("巴黎[1]和罗马[2]", [("巴黎", [1]), ("罗马", [2])]),
        ("| City | Source |\n|---|---|\n| Paris | [1] |\n| Rome | [2] |", [P, R]),
        ("A 12\" disc [1], a 5'10\" man, Rome [2]",
         [('A 12" disc', [1]), ("a 5'10\" man", []), R]),
        ('"Crosby, Stills" [1], 10,000 Days [2]',
         [('"Crosby, Stills"', [1]), ("10,000 Days", [2])]),
        ("Bonn (Beuel, Rhine) [1], Rome [2]", [("Bonn (Beuel, Rhine)", [1]), R]),
        ("\x00Paris [1]", [P]),
        ("", []),
    ],
)  # fmt: skip
def test_items_with_their_citations(output: str, items: list[tuple[str, list[int]]]) -> None:
    read = list_items(output, Grammar().parse(output, 5).markers)
    assert [(item.text, list(item.numbers)) for item in read] == items
