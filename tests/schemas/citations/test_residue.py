"""Residue of tools: what exports of products have, and what may be residue and is read as words."""

import pytest

from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.citations.residue import find_unknown_residue


@pytest.mark.parametrize(
    ("output", "marks", "words"),
    [
        ("A [4:0†source].", ["[4:0†source]"], "A."),
        ("A [oaicite:0]{index=0}.", ["[oaicite:0]{index=0}"], "A."),
        ("A :contentReference[oaicite:0]", [":contentReference[oaicite:0]"], "A"),
        # Cut off, as an answer that reached its limit is.
        ("A \ue200cite\ue202turn0search3", ["\ue200cite\ue202", "turn0search3"], "A"),
        ("A<grok:render id='5'>\n<argument>1</argument>\n</grok:render> B",
         ["<grok:render id='5'>\n<argument>1</argument>\n</grok:render>"], "A B"),
    ],
)  # fmt: skip
def test_residue_of_products(output: str, marks: list[str], words: str) -> None:
    parsed = Grammar().parse(output, 10)
    assert [output[a:b] for a, b in parsed.unparsed] == marks
    assert Grammar().strip_marks(output, 10) == words
    assert find_unknown_residue(output, parsed) == []


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (r"It is long\textsuperscript{1}.", [r"\textsuperscript{1}"]),
        (r"It is long\textsuperscript{1, 2}.", [r"\textsuperscript{1, 2}"]),
        ("It is long <5>.", ["<5>"]),
        ("It is long [1 [2].", ["[1"]),
        ("It is long oaicite:0, contentReference[x].", ["oaicite:0", "contentReference"]),
        ("It is long \uf0b7 wide.", ["\uf0b7"]),
        (r"It is long \ue200cite\ue202turn0search1\ue201.", [r"\ue200cite\ue202", r"\ue201"]),
        ("It is long <grok:render card_id=", ["<grok:render card_id="]),
        (
            "It is long <x:citation id='a'>here</x:citation>",
            ["<x:citation id='a'>", "</x:citation>"],
        ),
        ("<bos>It is long [1].", ["<bos>"]),
        # Read by the grammar, or words.
        (r"An area of 5 km\textsuperscript{2}.", []),
        ("A [4:0†source] B [oaicite:0] C \ue200cite\ue202turn0search3", []),
        ("It is long [1 km] and [2], a vector<5>, 3 < 5 > 4.", []),
        ("It is long [1].\n\nSources:\n[1] <5> Bridges", []),
    ],
)
def test_what_looks_like_residue(output: str, found: list[str]) -> None:
    parsed = Grammar().parse(output, 10)
    assert [output[a:b] for a, b in find_unknown_residue(output, parsed)] == found
