"""Which citation belongs to which statement, written by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.statements.split import split_statements
from citeforge.schemas.citations.grammar import Grammar

SEGMENTER = SentenceSegmenter()

# (output, [(statement, citation numbers)])
CASES: list[tuple[str, list[tuple[str, list[int]]]]] = [
    ("A is Bo [1].", [("A is Bo.", [1])]),
    ("A is Bo. [1]", [("A is Bo.", [1])]),
    ("A is Bo.[1]", [("A is Bo.", [1])]),
    ("A is Bo. [1] C is Do. [2]", [("A is Bo.", [1]), ("C is Do.", [2])]),
    ("A is Bo [1]. C is Do [2].", [("A is Bo.", [1]), ("C is Do.", [2])]),
    ("A [1] is Bo [2]. C.", [("A is Bo.", [1, 2]), ("C.", [])]),
    ("A is Bo.[1] C is Do.[2][3]", [("A is Bo.", [1]), ("C is Do.", [2, 3])]),
    # The output opens with a marker: those between bind forward throughout.
    ("[3] A is Bo. [1] C is Do.", [("A is Bo.", [3]), ("C is Do.", [1])]),
    ("[1][2] A is Bo. C is Do.", [("A is Bo.", [1, 2]), ("C is Do.", [])]),
    (" [1] A is Bo. [2]", [("A is Bo.", [1, 2])]),
    ("[1] A is [2] Bo.", [("A is Bo.", [1, 2])]),
    # Lists: one statement a line.
    ("- A is Bo [1]\n- C is Do [2]", [("A is Bo", [1]), ("C is Do", [2])]),
    ("1. A is Bo [1].\n2. C is Do [2].", [("A is Bo.", [1]), ("C is Do.", [2])]),
    ("3. Oktober 1990 war ein Mittwoch [1].", [("3. Oktober 1990 war ein Mittwoch.", [1])]),
    ("A is Bo.\n[1]\nC is Do.", [("A is Bo.", [1]), ("C is Do.", [])]),
    # Abbreviations do not tear a statement from its citation.
    ("Smith et al. found it [1]. So.", [("Smith et al. found it.", [1]), ("So.", [])]),
    ("The U.S. grew, e.g. in 1990 [2].", [("The U.S. grew, e.g. in 1990.", [2])]),
    ("It was 5 p.m. [1] Then it rained [2].", [("It was 5 p.m.", [1]), ("Then it rained.", [2])]),
    ("A is Bo [1, 3-4]. C.", [("A is Bo.", [1, 3, 4]), ("C.", [])]),
    ("A is Bo 【2】. C.", [("A is Bo.", [2]), ("C.", [])]),
    ("A is Bo [Document 2]. C.", [("A is Bo.", [2]), ("C.", [])]),
    # Not citations: they stay in the statement.
    ("See [1](https://example.org). C.", [("See.", []), ("C.", [])]),
    ("Run `x[1]`. C [2].", [("Run `x[1]`.", []), ("C.", [2])]),
    ("In [2019] it was [1].", [("In [2019] it was.", [1])]),
    ("مرحبا بالعالم [1]. نص آخر [2].", [("مرحبا بالعالم.", [1]), ("نص آخر.", [2])]),
    ("A is Bo [9]. C [1].", [("A is Bo.", [9]), ("C.", [1])]),
    # Residue, tags and tokens are no text, and block tags end a line.
    ("A is Bo【4:0†source】. C<|im_end|>", [("A is Bo.", []), ("C", [])]),
    ("<p>A is Bo [1].</p><p>C is Do [2].</p>", [("A is Bo.", [1]), ("C is Do.", [2])]),
    ("<ul><li>A is [1]</li><li>C is [2]</li></ul>", [("A is", [1]), ("C is", [2])]),
    ("A is <!-- [2] --> Bo [1].", [("A is Bo.", [1])]),
    ("A is Bo [[1]](https://a.example/x).", [("A is Bo.", [1])]),
    ("A is Bo (Document 1).", [("A is Bo.", [1])]),
    # Rows of a table are statements, its header is none.
    (
        "A is Bo [1].\n\n| Y | X |\n|---|---|\n| 1964 | [2] |\n| 1937 | [3] |",
        [("A is Bo.", [1]), ("| 1964 | |", [2]), ("| 1937 | |", [3])],
    ),
    ("Y | X\n---|---\n1964 | a [2]", [("1964 | a", [2])]),
    # Code is none.
    ("A is Bo [1].\n\n```py\nx = a\n```\nC.", [("A is Bo.", [1]), ("C.", [])]),
    ("A is Bo [1].\n\n~~~\nx = arr[2]\n~~~", [("A is Bo.", [1])]),
    ("A is Bo [1].\n\n    x = a\n    y = b\n\nC.", [("A is Bo.", [1]), ("C.", [])]),
    ("- A is Bo [1].\n\n    C is Do [2].", [("A is Bo.", [1]), ("C is Do.", [2])]),
    # "Answer:" is no word of a statement.
    ("**Answer:** A is Bo [1].", [("A is Bo.", [1])]),
    ("Antwort: A ist Bo [1].", [("A ist Bo.", [1])]),
    # Abbreviations of other languages; Thai, where marks end statements.
    (
        "Sie kostete 3 Mrd. Euro [1]. Es war 50 v. Chr. in Rom [2].",
        [("Sie kostete 3 Mrd. Euro.", [1]), ("Es war 50 v. Chr. in Rom.", [2])],
    ),
    (
        "Vgl. Meier [1]. Mme. Curie est née [2].",
        [("Vgl. Meier.", [1]), ("Mme. Curie est née.", [2])],
    ),
    ("Son aprox. 3 mill. de euros [1].", [("Son aprox. 3 mill. de euros.", [1])]),
    ("สะพานเปิดในปี 1964 [1] มันยาวมาก [2]", [("สะพานเปิดในปี 1964", [1]), ("มันยาวมาก", [2])]),
    ("ຂົວເປີດໃນປີ 1964 [1] ມັນຍາວ [2]", [("ຂົວເປີດໃນປີ 1964", [1]), ("ມັນຍາວ", [2])]),
    ("Jembatan itu dibuka th. Seribu [1].", [("Jembatan itu dibuka th. Seribu.", [1])]),
    ("Most je dlouhý cca. Dva kilometry [1].", [("Most je dlouhý cca. Dva kilometry.", [1])]),
    # Markers of quotations, lists and tasks are no words; nor is what has no width.
    ("> A is Bo [1].\n> C is Do [2].", [("A is Bo.", [1]), ("C is Do.", [2])]),
    ("> > A is Bo [1].\n&gt; C is Do [2].", [("A is Bo.", [1]), ("C is Do.", [2])]),
    ("> 1. A is Bo [1].\n> 2. C is Do [2].", [("A is Bo.", [1]), ("C is Do.", [2])]),
    ("> ## Head\n> A is Bo [1].", [("A is Bo.", [1])]),
    (
        "* A is Bo [1].\n+ C is Do.\n– E is Fo.",
        [("A is Bo.", [1]), ("C is Do.", []), ("E is Fo.", [])],
    ),
    ("• A is Bo [1]. • C is Do [2].", [("A is Bo.", [1]), ("C is Do.", [2])]),
    (
        "- [x] A is Bo [1].\n1. [ ] C is Do.\n2. [X] E is Fo.",
        [("A is Bo.", [1]), ("C is Do.", []), ("E is Fo.", [])],
    ),
    ("-5 degrees [1].\n>5 km is long [2].", [("-5 degrees.", [1]), (">5 km is long.", [2])]),
    ("\u200bA is\u200b Bo\u2060 [1].\ufeff", [("A is Bo.", [1])]),
    ("این می\u200cشود [1].", [("این می\u200cشود.", [1])]),
    # The ends of a scale stay in the text.
    ("It was rated on a scale of [1-5] [2].", [("It was rated on a scale of [1-5].", [2])]),
]


@pytest.mark.parametrize(("output", "expected"), CASES, ids=[c[0][:40] for c in CASES])
def test_attachment(output: str, expected: list[tuple[str, list[int]]]) -> None:
    result = split_statements(output, Grammar(), SEGMENTER, 5)
    assert [(s.text, s.numbers) for s in result.statements] == expected


@pytest.mark.parametrize("output", ["", "   ", "[1]", "[1] [2]\n[3]"])
def test_outputs_without_statements(output: str) -> None:
    result = split_statements(output, Grammar(), SEGMENTER, 5)
    assert result.statements == ()
    assert len(result.stray) == output.count("[")


@given(st.text(st.sampled_from('[]12, .ABab\n!?"【】') | st.characters(codec="utf-8"), max_size=60))
def test_no_character_or_marker_is_in_two_statements(output: str) -> None:
    grammar = Grammar()
    result = split_statements(output, grammar, SEGMENTER, 5)
    markers = grammar.parse(output, 5).markers
    owner = [0] * len(output)
    for start, end in [*((m.start, m.end) for m in markers),
                       *(span for s in result.statements for span in s.spans)]:  # fmt: skip
        for i in range(start, end):
            owner[i] += 1
    assert max(owner, default=0) <= 1
    attached = [m for s in result.statements for m in s.markers] + list(result.stray)
    assert sorted(attached, key=lambda m: m.start) == [
        m for m in markers if not (m.is_listed or m.is_residue)
    ]
