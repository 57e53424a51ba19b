"""The strict grammar against a table written by hand (docs/definitions.md#citations)."""

# ruff: noqa: E501 (cases, several a line)
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.statements.split import split_statements
from citeforge.schemas.citations.doubt import VARIABLES
from citeforge.schemas.citations.grammar import MAX_RANGE, Grammar, without_markers
from citeforge.schemas.citations.words import words_of

SEGMENTER = SentenceSegmenter()

# (output, numbers of each marker, text of each unparsed mark); five passages are shown.
CASES: list[tuple[str, list[list[int]], list[str]]] = [
    ("no marks at all", [], []),
    ("One [1].", [[1]], []),
    ("Two [1][2].", [[1], [2]], []),
    ("Comma [1, 2].", [[1, 2]], []),
    ("Tight comma [1,2].", [[1, 2]], []),
    ("Semicolon [1; 2].", [[1, 2]], []),
    ("Hyphen [1-3].", [[1, 2, 3]], []),
    ("En dash [1–3].", [[1, 2, 3]], []),
    ("Mixed [1, 3-5].", [[1, 3, 4, 5]], []),
    ("Lenticular 【1】.", [[1]], []),
    ("Footnote [^1].", [[1]], []),
    ("Named [Document 2].", [[2]], []),
    ("Short name [doc 2].", [[2]], []),
    ("Context [Context 1].", [[1]], []),
    ("Names [Document 1, Document 2].", [[1, 2]], []),
    ("Spaces [ 1 ].", [[1]], []),
    ("Repeat [1][1].", [[1], [1]], []),
    ("Zero [0].", [[0]], []),
    ("Out of range [9].", [[9]], []),
    ("Far out of range [123456].", [[123456]], []),
    ("Nested [[1]].", [[1]], []),
    ("Never closed [1 and [2].", [[2]], []),
    ("Year [2019].", [], ["[2019]"]),
    ("Year in a list [1, 2019].", [[1]], ["[1, 2019]"]),
    ("Years [1990-1995].", [], ["[1990-1995]"]),
    ("Backwards [3-1].", [], ["[3-1]"]),
    ("Too wide [1-40].", [], ["[1-40]"]),
    ("Note [see page 3].", [], ["[see page 3]"]),
    ("Link [1](https://example.org).", [], ["[1](https://example.org)"]),
    ("Link [docs 2](page(1).html).", [], ["[docs 2](page(1).html)"]),
    ("Code `x[1]` here.", [], []),
    ("Fence\n```\nx[1]\n```\nand [2].", [[2]], []),
    ("Open fence ```x[1]", [], []),
    ("Address https://example.org/a[1]b and [2].", [[2]], []),
    ("Mark behind an address https://example.org[1].", [[1]], []),
    ("Plain brackets [sic].", [], []),
    ("Empty [].", [], []),
    ("Right to left: \u0645\u0631\u062d\u0628\u0627 [1].", [[1]], []),
    ("Arabic digits [\u0661].", [[1]], []),
    ("Superscript [²].", [[2]], []),
    ("Letter [a].", [], []),
    ("Decimal [1.5].", [], ["[1.5]"]),
    ("Negative [-1].", [], ["[-1]"]),
    # Labels, in round brackets too, in the languages of `data/words.toml`.
    ("(Document 2).", [[2]], []),
    ("(Source 3, Source 1) and (see Doc. 2, p. 7).", [[3, 1], [2]], []),
    ("(Quellen 1 und 4), （文档4、文档2）, (см. документ 5).", [[1, 4], [4, 2], [5]], []),
    ("[المصدر ٢] [दस्तावेज़ 3] [문서 4] [n° 5] [Document n° 1]", [[2], [3], [4], [5], [1]], []),
    ("[Document 2: Bridges], [3: Bridges], [4, p. 12].", [[2], [3], [4]], []),
    ("[cite: 1, 2] [cite 3] [doc4] [ref_5] [web:1]", [[1, 2], [3], [4], [5], [1]], []),
    ("(Figure 2), (page 3), (2), {4} apples", [], ["{4}"]),
    # Other brackets, tags, superscripts.
    ("[[2]](https://a.example/x) [[3], [4]] [[Source:1]]", [[2], [3, 4], [1]], []),
    ("([1], [2]) and (see [3]).", [[1, 2], [3]], []),
    ("〔2〕 ⟦3⟧ {{source: 4}} ^[5] ^{[1]} [^2^]", [[2], [3], [4], [5], [1], [2]], []),
    ("A<sup>2</sup>, B<sup>[3]</sup>: 1964<sup>4</sup>", [[3], [4]], []),
    ("[REF]5,2[/REF] <cite>3</cite> \\cite{4} &#91;1&#93;", [[5, 2], [3], [4], [1]], []),
    ("One.⁵ Two.¹˒² Three⁽³⁾ and 1964⁴.", [[5], [1, 2], [3], [4]], []),
    ("5 km², x³, 10⁴, Ca²⁺, 25 m<sup>2</sup>", [], []),
    ("An army①. ① one ② two", [[1]], []),
    ("（資料5参照）[五]", [[5]], ["[五]"]),
    # RAGFlow counts from 0.
    ("[ID:0] [ID: 3, 4] ##1$$", [[1], [4, 5], [2]], []),
    ("(ID: 0) （ID：3，4） (ID: 3, 4)", [[1], [4, 5], [4, 5]], []),
    # More separators.
    ("[1|2] [1 / 2] [1 2] [1 oraz 2] [1・2]", [[1, 2]] * 5, []),
    ("[1 to 3] [1−3]", [[1, 2, 3]] * 2, []),
    ("[10 000] [5/8] [12 Jan]", [], ["[10 000]", "[5/8]", "[12 Jan]"]),
    ("请给出评分：[1-5] 満足度スケール[1-5]で 만족도 척도 [1-5] 로", [], ["[1-5]"] * 3),
    # Citations of what was not shown here: residue of tools.
    ("A【4:0†source】", [], ["【4:0†source】"]),
    ("B :contentReference[oaicite:0]{index=0}", [], [":contentReference[oaicite:0]{index=0}"]),
    (
        "A \ue200cite\ue202turn0search3\ue201 B citeturn0search3turn0view1",
        [],
        ["\ue200cite\ue202turn0search3\ue201", "citeturn0search3turn0view1"],
    ),
    ('A <cite index="1-1,1-2">b</cite> C', [], ['<cite index="1-1,1-2">']),
    ("A <co: 5>b</co: 5> ([5](u), [8](u))", [], ["<co: 5>", "([5](u), [8](u))"]),
    ("[cite_start]A <b>b</b><br/>.<|im_end|> <!-- [3] -->", [], []),
    # What is no citation, or may be none.
    ("The court held at [12] of it [1], see § 8 [2].", [[1]], ["[12]", "[2]"]),
    ("[1]benzothiophene and [18F]FDG", [], ["[1]"]),
    ("a[1], list[0], arr[2], user_ids[3]", [], ["[1]", "[0]", "[2]", "[3]"]),
    ("Vitamin C[4] and `table[1]`, so table[2]", [[4]], ["[2]"]),
    ('The word "[3]" and the interval [1, 5]', [], ["[3]", "[1, 5]"]),
    ("~~~\nx[1]\n~~~\nand [2].", [[2]], []),
    # Numbers in other signs: read in brackets with #, else counted.
    ("A [#2]. B [#1, #3]. C [#1-#3]. D [Document ID: 4].", [[2], [1, 3], [1, 2, 3], [4]], []),
    ("A #5. B (#2)", [], ["#5", "#2"]),
    ("It reached #5 [2].", [[2]], []),
    ("A [V]. B [II]. C [I]. D [X]", [], ["[V]", "[II]", "[I]", "[X]"]),
    ("“[I] saw it”\n- [X] done, [V]alue", [], []),
    ("A ⟨2⟩", [], ["⟨2⟩"]),
    ("The set S = [1, 5] holds [2].", [[2]], ["[1, 5]"]),
    # Marks of other assistants.
    ("甲^[5]^。", [[5]], []),
    ('A<sup id="c2">[2]</sup>.', [[2]], []),
    (
        'The span<sup><a href="#r5">5</a></sup>. B <source id="2"/>, <cite index=\'3\'></cite>.',
        [[5], [2], [3]],
        [],
    ),
    ("It is long$^{5}$, 10$^{2}$ m, 3 cm$^2$.", [[5]], []),
    ("A [5].<｜end▁of▁sentence｜>", [[5]], []),
    # Labels of further languages.
    ("[Zdroj 1] [Kilde 2] [Πηγή 3] [מקור 4] [Джерело 5]", [[1], [2], [3], [4], [5]], []),
    ("[Tài liệu 1] [Forrás 2] [Sursa 3] [Evidence 4]", [[1], [2], [3], [4]], []),
    # A passage that is named in a sentence counts where no mark cites it.
    ("As Document 3 says [1], and Document 1 too.", [[1]], ["Document 3"]),
    ("Document 2 says so, and so does 文档3.", [], ["Document 2", "文档3"]),
    ("Document 2 says so [1].", [[1]], ["Document 2"]),
    ("A document 5 of 9 sources", [], ["document 5"]),
    # A footnote that stands for a passage.
    ("One[^1]. Two[^2].\n\n[^1]: Passage 5, Bridges\n[^2]: Passage 3", [[5], [3], [], []], []),
    ("One [2].\n\nReferences:\n[2] Document [4]", [[4], [], []], []),
    ("One[^1].\n\n[^1]: https://a.example/5", [[1], []], []),
    # Rarer forms.
    ("Words [1 and 2].", [[1, 2]], []),
    ("Words [1, 2, and 3].", [[1, 2, 3]], []),
    ("Words [1 & 2] [1 und 2] [1 et 2].", [[1, 2], [1, 2], [1, 2]], []),
    ("Source mark 【3†source】.", [[3]], []),
    ("Lines 【3†L10-L12】.", [[3]], []),
    ("Full-width ［1］, ［１，２］ and [２].", [[1], [1, 2], [2]], []),
    ("Named [Source 1], [Sources 1 and 2], [source: 3], [Ref. 4].", [[1], [1, 2], [3], [4]], []),
    ("Two brackets [1]-[3].", [[1, 2, 3]], []),
    ("Two brackets [1]–[3].", [[1, 2, 3]], []),
    ("Backwards [3]-[1].", [[3], [1]], []),
    ("Apart [1] - [3].", [[1], [3]], []),
    ("Interval [0, 1].", [], ["[0, 1]"]),
    ("Interval [0-1].", [], ["[0-1]"]),
    ("Zero alone [0].", [[0]], []),
    ("Maths $x[1]$ and \\(y[2]\\), $$z[3]$$.", [], []),
    ("Prices $5 [1] and $6 [2].", [[1], [2]], []),
    ("Prices of $5[1] or $6[2].", [[1], [2]], []),
    ("Escaped \\[1\\].", [[1]], []),
    ("Round (1).", [], ["(1)"]),
    ("Footnotes [^1] and\n\n[^1]: Here.", [[1], []], []),
    ("第五 [第5篇]、「文档5」、（文書番号5）。", [[5], [5], [5]], []),
    (
        "다리 [5번 문서]. المصدر [المستند رقم 5]. הגשר [במסמך 5]. สะพาน [เอกสารที่ 5].",
        [[5], [5], [5], [5]],
        [],
    ),
    (
        "Bidi [\u200e5\u200e], comma [5,], table [5, Table 2], [src_5], [5†L1-L3].",
        [[5], [5], [5], [5], [5]],
        [],
    ),
    ('An anchor [5](#doc-5), a tag <cite doc_id="5"/>, \\citep[p. 4]{5}.', [[5], [5], [5]], []),
    # Counted, and no words.
    (
        'Tags <cite source="5">here</cite>, <source id=5>, <|cite_5|>, \\cite{smith2020}.',
        [],
        ['<cite source="5">', "<source id=5>", "<|cite_5|>", "\\cite{smith2020}"],
    ),
    ("Others 《5》, ＜5＞, [五、八].", [], ["《5》", "＜5＞", "[五、八]"]),
    # Maths and names of rings.
    (
        "Maths $x_{[5]}$, [5]Helicene, [3]Crown-6, 2\\textsuperscript{nd} [2].",
        [[2]],
        ["[5]", "[3]"],
    ),
]


def test_round_brackets_where_the_prompt_asked_for_them() -> None:
    asked = Grammar(form="(n)")
    assert asked.signature == "1,strict3(n)"
    assert asked.cited("A (1). B (2, 3) in (1990).", 5) == ({0, 1, 2}, 0, 0)
    assert asked.cited("甲（2）。", 5) == ({1}, 0, 0)
    assert [m.numbers for m in asked.parse("甲（2）。", 5).markers] == [(2,)]
    assert Grammar().signature == "1,strict3"


def test_an_interval_may_be_a_citation_where_counting_starts_at_0() -> None:
    assert Grammar(base=0).cited("[0, 1]", 5) == ({0, 1}, 0, 0)


@pytest.mark.parametrize(("output", "numbers", "unparsed"), CASES)
def test_reads_what_the_table_says(
    output: str, numbers: list[list[int]], unparsed: list[str]
) -> None:
    parsed = Grammar().parse(output, 5)
    assert [list(m.numbers) for m in parsed.markers if not m.is_residue] == numbers
    assert [output[a:b] for a, b in parsed.unparsed] == unparsed


def test_na_is_a_marker_without_numbers() -> None:
    (marker,) = Grammar().parse("Nobody knows [NA].", 5).markers
    assert marker.is_na
    assert marker.numbers == ()


def test_four_digits_in_range_are_a_citation() -> None:
    assert Grammar().cited("[1500]", 2000) == ({1499}, 0, 0)
    assert Grammar().cited("[1500]", 1499) == (set(), 0, 1)


@pytest.mark.parametrize(
    ("base", "expected"), [(1, ({0}, 1, 0)), (0, ({0, 1}, 0, 0))], ids=["base 1", "base 0"]
)
def test_index_base(base: int, expected: tuple[set[int], int, int]) -> None:
    assert Grammar(base).cited("[0] and [1]", 3) == expected


def test_widest_range() -> None:
    numbers = Grammar().parse(f"[1-{MAX_RANGE}]", 100).markers[0].numbers
    assert numbers == tuple(range(1, MAX_RANGE + 1))
    assert Grammar().parse(f"[1-{MAX_RANGE + 1}]", 100).markers == ()


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("Gold [1].", "Gold."),
        ("Gold [1][2] and tin [3]", "Gold and tin"),
        ("[1] Gold", "Gold"),
        ("Gold[1]en", "Golden"),
        # A space before a marker goes with it only where no word follows.
        ("Gold [1]. Tin", "Gold. Tin"),
        ("Gold [1]tin", "Gold tin"),
        ("Gold [1] [2], tin", "Gold, tin"),
        # Nor where another marker follows, of whatever form.
        ("Gold [1]【2】.", "Gold."),
        ("Gold ［1］［2］.", "Gold."),
        (r"Gold \[1\]\[2\].", "Gold."),
        ("a  b\t c\nd", "a b c\nd"),
        ("kept [2019]", "kept [2019]"),
    ],
)
def test_text_without_markers(output: str, text: str) -> None:
    assert without_markers(output, Grammar().parse(output, 5).markers) == text


def test_brackets_of_every_script_are_suspected() -> None:
    for text in ("［a1］ ［1］", "【a1】 【1】", "[a1] [1]"):
        parsed = Grammar().parse(text, 9)
        assert [m.numbers for m in parsed.markers] == [(1,)]
        assert [text[start:end] for start, end in parsed.unparsed] == [text[:4]]


def test_a_range_of_two_marks_is_as_wide_as_any() -> None:
    widest = Grammar().parse(f"[1]-[{MAX_RANGE}]", 1000).markers
    assert [len(m.numbers) for m in widest] == [MAX_RANGE]
    assert [m.numbers for m in Grammar().parse(f"[1]-[{MAX_RANGE + 1}]", 1000).markers] == [
        (1,),
        (MAX_RANGE + 1,),
    ]


def test_what_stands_in_a_reference_list_is_no_suspect() -> None:
    text = "So [1] [x2].\n\nReferences:\n[1] A paper [2019b]\n[2] Another [x1]\n"
    parsed = Grammar().parse(text, 5)
    assert [(text[m.start : m.end], m.is_listed) for m in parsed.markers] == [
        ("[1]", False),
        ("[1]", True),
        ("[2]", True),
    ]
    assert [text[start:end] for start, end in parsed.unparsed] == ["[x2]"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Sources: [1], [2] both describe the fire; [2] adds the date.", [1, 2, 2]),
        ("Quellen: [1] und [3] beschreiben den Brand.", [1, 3]),
        ("References: [1] & [2], [3] all agree with this.", [1, 2, 3]),
        ("It burnt [2].\nSources: [1] the annual report, [2] a map", [2]),
        ("It burnt [2].\nSources: [1], [2] (both of 1964)", [2]),
    ],
)
def test_a_label_with_several_marks_and_a_predicate_is_a_sentence(
    text: str, numbers: list[int]
) -> None:
    assert [n for m in Grammar().parse(text, 5).markers for n in m.numbers] == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Most byl otevřen [zdroj 3 a 4].", [3, 4]),  # "and" of every language that has labels
        ("Η γέφυρα άνοιξε [Έγγραφο 3 και 4].", [3, 4]),
        ("Міст відкрили [Документ 3 та 4].", [3, 4]),
        ("大桥开放（见文档3和文档4）。", [3, 4]),  # words without spaces between them
        ("A híd megnyílt [3. forrás].", [3]),  # the label stands behind its number
        ("Die Brücke ist lang (3. Quelle).", [3]),
        ("It opened [3, lines 4-5].", [3]),  # lines, pages and sections are no passages
        ("It opened [3, §4].", [3]),
        ("It opened {{cite|3}}.", [3]),
        ("It opened%[3]%.", [3]),  # Bedrock's prompts
        ("The matrix [[1, 2], [3, 4]] is regular [5].", [5]),
        ("It opened [[1, 2]] and [[3], [4]].", [1, 2, 3, 4]),
    ],
)
def test_more_forms_of_marks(text: str, numbers: list[int]) -> None:
    assert [n for m in Grammar().parse(text, 5).markers for n in m.numbers] == numbers


READ = r"""
[[cite:5]] | [[5]] | [^5] | [#5] | [doc-5] | [DOC_5] | [5†L1-L4] | [5, p. 3] | \[5\] | ［5］ | 〔5〕 | [५]
\cite{5} | ~\citep[p.~3]{5} | \footnote{Passage 5} | \footnotemark[5] | $^{5}$ | \(^{[5]}\) | :cite[5] | ::cite[5]::
<ref>5</ref> | <passage>5</passage> | <citations>[5]</citations> | <citation id="5"/> | <doc5> | <document_5> | <cite:5>
<span class="cite">5</span> | &#91;5&#93; | &#x5B;5&#x5D; | &lsqb;5&rsqb; | [5](#5) | [source](doc:5) | *[5]* | **[5]**
（第5段） | （见第5篇） | (passage no. 5) | (see Passage [5])
"""
"""Marks of passage 5, as models and tools write them."""

COUNTED = """
(5) | ((5)) | （5） | /5/ | «5» | @5 | ^5 | [5 | [5) | 5] | 5️⃣ | ❺ | ⑸ | ₍₅₎ | 🔗5 | `[5]` | [Text 5] | <|5|> | [source](#5) | [S5]
<co>… | <fact_5> | &lt;cite&gt;5&lt;/cite&gt; | turn0search3 | 【turn0search3】 | [source 5](https://a.example/x)
<grok-card data-id="5"></grok-card> | (Passage five) | per Passage V | Source: 5 | 第五段 | （文档五） | Quelle fünf
"""
"""What may name passage 5, and is not certain to."""

KEPT = r"""
Medals: Norway (5), Sweden (3). | 金牌：挪威（5）、瑞典（3）。 | Nach § 5 (1), § 6 (2) und § 7 (3). | See Eq. (4) and Eq. (5).
The points are A (1, 2), B (3, 4). | E=mc^2, F = width^2, V = side^3. | Канал «5», канал «2». | Lunch @5, dinner @8.
Press 1️⃣, then press 2️⃣. | The octal number 1234₈. | return5abc6 | f[x](3) and A[i](2) | List<Document> and Vec<Claim>
See Section \ref{5} | Column <c>3</c> | Send (text 5) to join. | 10&lt;sup&gt;4&lt;/sup&gt; km | vector<doc2>
"""
"""Texts whose numbers are no marks, and stay: each is a text by itself."""


def listed(marks: str) -> list[str]:
    return [mark.strip() for line in marks.strip().splitlines() for mark in line.split(" | ")]


@pytest.mark.parametrize("mark", listed(READ))
def test_marks_of_models_and_tools_are_read(mark: str) -> None:
    output = f"It opened in 1964 {mark}."
    parsed = Grammar().parse(output, 8)
    assert [n for m in parsed.markers for n in m.numbers] == [5]
    assert parsed.unparsed == ()
    assert [s.text for s in split_statements(output, Grammar(), SEGMENTER, 8).statements] == [
        "It opened in 1964."
    ]


@pytest.mark.parametrize("text", listed(KEPT))
def test_ordinary_numbers_stay_in_the_text(text: str) -> None:
    parsed = Grammar().parse(text, 8)
    assert without_markers(text, parsed.markers) == text
    assert not parsed.markers


@pytest.mark.parametrize("mark", listed(COUNTED))
def test_what_may_be_a_mark_is_counted(mark: str) -> None:
    output = f"It opened in 1964 {mark}."
    parsed = Grammar().parse(output, 8)
    assert not any(m.numbers for m in parsed.markers)
    assert len(parsed.unparsed) == 1
    assert Grammar().cited(output, 8) == (set(), 0, 1)


def test_columns_and_repeated_numbers_are_counted() -> None:
    table = "| Bridge | Source |\n|---|---|\n| A | 5 |\n| B | 8 |"
    assert Grammar().cited(table, 8) == (set(), 0, 2)
    several = split_statements("It is long (5). It is old (8).", Grammar(), SEGMENTER, 8)
    assert [s.text for s in several.statements] == ["It is long.", "It is old."]


@pytest.mark.parametrize(
    "text",
    [
        "The team won five (5) medals.",
        "It is (1) long, (2) old and (3) high.",
        "(1) It is long.\n(2) It is old.",
        "The function f(5) is in section 4(5), version 2.5 (5.1).",
        "The war (1939-1945) ended (1945).",
        "Open /5/ in the path /usr/5/bin; the 5️⃣ key opens it.",
        "1️⃣ It is long.\n2️⃣ It is old.",
        "She read the passage five times; it has five sources.",
        "The source one uses matters, as the Fifth Amendment says.",
        "[18F]FDG and UO2(NO3)2 emit CO₂.",
        "Result: 5.",
    ],
)
def test_numbers_in_text_are_no_marks(text: str) -> None:
    assert Grammar().cited(text, 8) == (set(), 0, 0)
    assert Grammar().parse(text, 8).markers == ()


DOUBTFUL = (
    *(f"{word} [1] " for word in (*words_of("paragraphs"), *words_of("intervals"))),
    *(f"{word}[1] " for word in (*words_of("intervals", unspaced=True), *VARIABLES)),
)
"""Brackets that may be no citations, by the word before them."""
# Text rich in what the grammar looks at.
outputs = st.lists(
    st.sampled_from(
        [
            *"[]【】［］()^`-–,; \n0123456789aDocument://†.$\\",
            "References:\n",
            "[1] ",
            "]-[",
            *DOUBTFUL,
        ]
    )
    | st.characters(),
    max_size=60,
).map("".join)
grammars = st.builds(Grammar, st.sampled_from([0, 1]), st.sampled_from(["[n]", "(n)"]))


@given(outputs, st.integers(0, 50), grammars)
def test_never_raises_and_spans_are_sound(output: str, n_docs: int, grammar: Grammar) -> None:
    parsed = grammar.parse(output, n_docs)
    at = 0
    for marker in parsed.markers:
        assert at <= marker.start < marker.end <= len(output)
        at = marker.end
    for start, end in parsed.unparsed:  # brackets, or signs such as ``²`` and ``5️⃣``
        assert 0 <= start < end <= len(output)
        assert not output[start].isspace() and not output[end - 1].isspace()
    assert all(a[1] <= b[0] for a, b in pairwise(parsed.unparsed))


@given(outputs, st.integers(0, 50), grammars)
def test_the_short_way_agrees_with_the_long_one(output: str, n_docs: int, grammar: Grammar) -> None:
    base = grammar.base
    parsed = grammar.parse(output, n_docs)
    numbers = {n for m in parsed.markers for n in m.numbers}
    inside = {n - base for n in numbers if 0 <= n - base < n_docs}
    assert grammar.cited(output, n_docs) == (
        inside,
        len(numbers) - len(inside),
        len(parsed.unparsed),
    )


@pytest.mark.parametrize("text", [f"See {text}." for text in DOUBTFUL])
def test_the_number_of_a_paragraph_an_interval_or_an_index_cites_nothing(text: str) -> None:
    parsed = Grammar().parse(text, 8)
    assert (parsed.markers, len(parsed.unparsed)) == ((), 1)
    assert Grammar().cited(text, 8) == (set(), 0, 1)


@given(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=4), max_size=5))
def test_rendered_citations_come_back(groups: list[list[int]]) -> None:
    output = " ".join(f"Word [{', '.join(map(str, group))}]." for group in groups)
    assert [list(m.numbers) for m in Grammar().parse(output, 30).markers] == groups


@pytest.mark.parametrize(
    "output",
    [
        "Ratings were given on a scale of [1-5].",
        "The scores of [0-10] were means.",
        "Es wurde auf einer Skala von [1–5] bewertet.",
        "La note est sur une échelle de [1-5].",
        "En una escala de [1-10] tiene un ocho.",
        "Оценка дана по шкале [1-5].",
        "Each was rated on a [1-5] Likert scale.",
        "They used the Likert scale [1-7].",
        "It is a [1-5] rating.",
        "按[1-5]分制评分。",
    ],
)
def test_the_ends_of_a_scale_are_counted_and_cite_nothing(output: str) -> None:
    parsed = Grammar().parse(output, 10)
    assert [output[start:end] for start, end in parsed.unparsed] == [
        output[output.index("[") : output.index("]") + 1]
    ]
    assert not any(m.numbers for m in parsed.markers)
    assert Grammar().cited(output, 10) == (set(), 0, 1)


@pytest.mark.parametrize(
    "output",
    [
        "It was shown at a large scale [1-3].",
        "The scales of [2-4] differ.",
        "Scores rose [1-3]. Scale matters.",
        "It is rated highly in [1-3].",
    ],
)
def test_a_range_of_passages_behind_such_words_cites_them(output: str) -> None:
    cited, n_beyond, n_unparsed = Grammar().cited(output, 10)
    assert (len(cited), n_beyond, n_unparsed) == (3, 0, 0)
