"""Texts that are made long by repetition, readers of answers, and the steps that these take.

A step is a line of the package's own code that runs, the turns of its loops included. The same
text takes the same steps on every machine, however busy.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import citeforge
from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.records import Pair
from citeforge.engines.text.quoting import Quotes
from citeforge.engines.text.refusals import is_refusal
from citeforge.engines.text.segmenters import PunktSegmenter
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.engines.text.short_replies import read_field, read_mark, read_words
from citeforge.engines.text.thoughts import split_thoughts
from citeforge.evaluator.measures.rage_citations import score_reference, score_strict
from citeforge.evaluator.statements.list_items import split_list
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.submissions.unwrapping import Unwrapper
from citeforge.evaluator.submissions.url_marks import read_markup
from citeforge.plugins.documents.outline import read_outline
from citeforge.plugins.responses.marks import place_marks
from citeforge.plugins.responses.records import Cited
from citeforge.schemas.citations.grammar import Grammar, citation_marks, without_markers
from citeforge.schemas.citations.triples import TripleGrammar
from citeforge.schemas.kg import Triple
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.refusals import LANGUAGES
from citeforge.schemas.submission import CitedSpan, SubmissionLine, TokenLogprob

Reader = Callable[[str], object]
Case = tuple[str, str, str]
"""What stands before the part that is repeated, that part, and what stands behind it."""

GRAMMAR, SEGMENTER = Grammar(), SentenceSegmenter()
SOURCES = str(Path(citeforge.__file__).parent)


def place_many(text: str) -> object:
    starts = range(0, len(text) - 9, 40)
    spans = [Cited(i, i + 9, i % 5) for i in starts]
    return place_marks(text, spans, [1 + i % 5 for i in starts], GRAMMAR, SEGMENTER, 5)


def unwrap(text: str) -> object:
    places = range(0, len(text) - 9, 40)
    line = SubmissionLine(
        "q", text, spans=[CitedSpan(i, i + 9, 0) for i in places],
        logprobs=[TokenLogprob(i, "1", -0.5) for i in range(len(places))],
    )  # fmt: skip
    return Unwrapper().unwrap(line)


def judge(text: str) -> object:
    pairs = [Pair(text, "Io has 5 moons"), Pair("Io has 5 moons", text)]
    return LexicalJudge().decide(pairs, lambda _: None)


def read_reply(text: str) -> object:
    return read_field(text, "entailed", (True, False)), read_words(text, ("yes",)), read_mark(text)


READERS: dict[str, Reader] = {
    "parse": lambda t: GRAMMAR.parse(t, 5),
    "cited": lambda t: GRAMMAR.cited(t, 5),
    "marks": citation_marks,
    "without_markers": lambda t: without_markers(t, GRAMMAR.parse(t, 5).markers),
    "rage": lambda t: score_strict(GRAMMAR, t, 5, frozenset({1}), {1: ["x"]}),
    "rage_reference": lambda t: score_reference(t, 5, frozenset({1}), {1: ["x"]}),
    "triples": lambda t: TripleGrammar([Triple("Q1", "A", "", "r", "v")], ["rel"]).parse(t),
    "sentences": SEGMENTER.split,
    "statements": lambda t: split_statements(t, GRAMMAR, SEGMENTER, 5),
    "refusals": lambda t: is_refusal(t, "rules:" + ",".join(LANGUAGES)),
    "split_list": split_list,
    "markup": read_markup,
    "place_marks": place_many,
    "thoughts": split_thoughts,
    "unwrap": unwrap,
    "short_answers": lambda t: AnswerText(t).contains_any(("Io", "5 km", "Vitamin A")),
    "judge": judge,
    "quotes": lambda t: Quotes(t).quote(t),
    "replies": read_reply,
    "outline": read_outline,
}
REFERENCE_READERS: dict[str, Reader] = {"punkt": PunktSegmenter().split}

_REPEATED = """
a A 1 . , ; ! ? - – † ^ ` " $ # * _ | ~ = \\ & @ < > ( ) [ ] { } “ ” 【 】 ［ 〔 「 《 （ 。 ！ ؟
। … • ① ⑳ ¹ ² ⁽ ½ 五 ß İ 5️⃣ 😀 👨‍👩‍👧 ![ [a]( ](x) [1] [1, [1- [1]- [1]] [[1]] [^1] [^1]:
^[1] (1) (1 (5). (see a.b.c. (a.b. e.g. Dr. 1) ** *[1]* **[1]** [**1**] ``` `a `[1] ~~~
$[1] \\( \\cite{1} {1 <a <sup>1</sup> <sup> <cite <details <!-- <!--a--> &#91; &lt;
<think> </think> <|channel|> <|im_start|> <answer> </answer> <summary> [THINK] |a |-|
https://a https://a( https://a[ turn0search1 【1† 【[1] ①② ①a a² ¹⁻² [Q1 [Q1,r:v] [Q1,r:v,
[NA] #1 Document1, [source [0] a[0] list[1] %[1] ##1$$ "a. “a” a&b o' a-b 1-2 1,000,
10^9 minus 1/2/2020 1° 12345 中。 第一 हि।
""".split()
_SPACES = (
    " ",
    "\n",
    "\t",
    "\r\n",
    "\u00a0",
    "\u2028",
    "\x0b",
    "\u200b",
    "\u202e",
    "\u0301",
    "\ue200",
)
_LAID_OUT = (
    "A is B [1]. ¶a [1]. b ¶Dr. ¶. ¶! ¶a, ¶minus 5 ¶[1] A b.\n¶1. A\n¶- a\n¶# a\n¶a:\n¶> a\n"
    "¶|-|\n¶| 1 | 2 |\n¶References\n[1] a\n¶[1]: a\n¶Sources:\n¶```\n¶<think>a</think>b\n"
    "¶- - -\n"
).split("¶")
STRINGS: list[Case] = [
    *(("", fragment, "") for fragment in (*_REPEATED, *_SPACES, *_LAID_OUT)),
    ("[", "a, ", "1]"), ("(", "1, ", ")"), ("", "a ", "b [1] c"), ("<sup", " a", ">1"),
    ("<aa></aa><answer>", " ", "x"), ("<|channel|>", "a", ""), ("`", "a", "`"), ("|a\n|", "-", "x"),
    ("<details type=reasoning>", " ", "x</details>"), ("```\n", "``` ", "\n```"),
    ("", "<!---->", "x"),
    ("<details type=reasoning>", "<summary>", "x</details>"), ("# ", "[", ""), ("# ", " ", "x"),
    ('{"answer": "', "a", '"}'), ("", '{"a":', ""), ("Sources:\n", "[1] a\n", ""),
]  # fmt: skip


def long_text(case: Case, length: int) -> str:
    """Repeat the part of a case up to about so many characters."""
    before, fragment, after = case
    return before + fragment * (length // len(fragment)) + after


def count_steps(reader: Reader, text: str) -> int:
    """Count the lines of the package's code that a reader runs."""
    steps = 0

    def count_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += 1
        return count_line

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return count_line if frame.f_code.co_filename.startswith(SOURCES) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        reader(text)
    finally:
        sys.settrace(before)
    return steps
