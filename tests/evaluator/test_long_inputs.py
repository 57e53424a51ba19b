"""Readers of outputs are linear on every input: anything, repeated until it is long.

A linear reader takes at most two seconds of its processor for each text below, a quadratic one many
times that. The kernel kills a reader that has used `SECONDS` of processor time: other work on the
machine decides nothing.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

SECONDS = 7
LENGTH = 100_000

READERS = {
    "parse": "lambda t: GRAMMAR.parse(t, 5)",
    "cited": "lambda t: GRAMMAR.cited(t, 5)",
    "without_markers": "lambda t: without_markers(t, GRAMMAR.parse(t, 5).markers)",
    "rage": "lambda t: strict_scorer(GRAMMAR)(t, 5, frozenset({1}), {1: ['x']})",
    "rage_reference": "lambda t: reference_scorer(GRAMMAR)(t, 5, frozenset({1}), {1: ['x']})",
    "triples": "lambda t: TripleGrammar([Triple('Q1', 'A', '', 'r', 'v')], ['rel']).parse(t)",
    "sentences": "SEGMENTER.split",
    "statements": "lambda t: split_statements(t, GRAMMAR, SEGMENTER, 5)",
    "statements_1": "lambda t: split_statements(t, Grammar(version=1), SpacySegmenter(), 5)",
    "split_list": "split_list",
    "markup": "read_markup",
    "place_marks": "lambda t: place_marks(t, [Cited(i, i + 9, i % 5) for i in range(0, len(t) - 9, "
    "40)], [1 + i % 5 for i in range(0, len(t) - 9, 40)], GRAMMAR, SEGMENTER, 5)",
}
QUADRATIC = "lambda t: re.findall(' +y', t)"

_PROGRAM = """
import json, os, re, resource, sys
from citeforge.engines.segment import SpacySegmenter
from citeforge.engines.sentences import SentenceSegmenter
from citeforge.evaluator.measures.alce import split_list
from citeforge.evaluator.measures.rage import reference_scorer, strict_scorer
from citeforge.evaluator.research.markup import read_markup
from citeforge.evaluator.statements import split_statements
from citeforge.evaluator.vendors.placing import place_marks
from citeforge.evaluator.vendors.records import Cited
from citeforge.schemas.grammar import Grammar, without_markers
from citeforge.schemas.kg import Triple
from citeforge.schemas.triples import TripleGrammar
GRAMMAR, SEGMENTER = Grammar(), SentenceSegmenter()
READERS = {name: eval(text) for name, text in json.loads(sys.argv[1]).items()}
for line in sys.stdin:
    seconds, name, before, fragment, after = json.loads(line)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        READERS[name](before + fragment * (int(sys.argv[2]) // len(fragment)) + after)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

# One run of what each reader looks at, and each with a mark before and behind.
KNOWN: list[tuple[str, str, str, str]] = [
    ("parse", "[", "\n", ""),
    ("parse", "[1", " ", "x"),
    ("parse", "", "[1,", ""),
    ("parse", "", "[1 ", ""),
    ("parse", "", "[", ""),
    ("parse", "", "`", "[1]"),
    ("parse", "", "[a](", ""),
    ("parse", "", "https://a[", ""),
    ("parse", "[source", " ", ""),
    ("parse", "", "$a[1]", ""),
    ("parse", "Sources", "-", ""),
    ("parse", "", "\n", "Sources [1]"),
    ("parse", "", "1. Sources ", "[1]"),
    ("parse", "", "【1†", ""),
    ("parse", "", "[1]: a\n", ""),
    ("cited", "", "[1]", ""),
    ("without_markers", "", "a [1] ", ""),
    ("without_markers", "", " ", "[1"),
    ("rage", "", " ", "x [1]"),
    ("rage_reference", "", "[1", ""),
    ("triples", "", "[Q1, r: v, ", ""),
    ("triples", "[Q1", " ", ""),
    ("triples", "[Q1", ", r: v", "]"),
    ("triples", "", "[", ""),
    ("statements", "[", "\n", ""),
    ("statements", "", "(", ""),
    ("statements", "", "e.g. ", ""),
    ("statements", "", "A is B [1]. ", ""),
    ("statements", "", "a [1] ", ""),
    ("statements", "", "a [1]\n", ""),
    ("statements", "Dr. A.", ")", ""),
    ("statements", "", "? ", ""),
    ("statements", "", ".", ""),
    ("statements", "", "w", ""),
    ("statements", ". ", " ", "A"),
    ("statements", "", "References\n[1] a\n\nText.\n", ""),
    ("statements", "", "[1] A b.\n", ""),
    ("statements", "", "# ", ""),
    ("statements", "", "*", "a"),
    ("statements", "", "a (b. ", ""),
    ("statements", "", '"A. b ', ""),
    ("statements", "", "1. A. ", ""),
    ("statements", "", "。", ""),
    ("statements_1", "[", "\n", ""),
    ("statements_1", "", "(", ""),
    ("statements_1", "", "e.g. ", ""),
    ("statements_1", "Dr. A.", ")", ""),
    ("split_list", "", "a", ""),
    ("split_list", "", ",", ""),
    ("markup", "", "[", ""),
    ("markup", "", "[a](https://a.org/(", ""),
    ("markup", "https://a.org", " ", "x https://b.org"),
    ("markup", "", "A is B [1]. ", ""),
    ("markup", "", "![a](", ""),
    ("place_marks", "", "A is B [1]. ", ""),
    ("place_marks", "```", "A is B. ", ""),
    ("place_marks", "", "a", ""),
]

MARKS = """[ ] ( ) 【 】 ［ ］ 1 12 , ; - – † ^ ` ``` $ # * _ | " “ ” ' : . ? ! 。 ؟ … a A w Q1 r v
[1] [1, [Q1 [Q1, ,r:v [NA] [source doc https://a ](x) e.g. Dr. No. 1. - Sources:""".split()
pieces = st.lists(
    st.sampled_from([*MARKS, " ", "\n", "\t", "References\n"]) | st.characters(codec="utf-8"),
    max_size=4,
)


@pytest.fixture(scope="module")
def ended() -> Iterator[Callable[..., int]]:
    """Runs a reader in a process of its own and says how that ended."""
    arguments = [json.dumps({**READERS, "quadratic": QUADRATIC}), str(LENGTH)]
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    into, out = process.stdin, process.stdout

    def run(*case: str, seconds: int = SECONDS) -> int:
        into.write(json.dumps([seconds, *case]) + "\n")
        into.flush()
        return int(out.readline())

    yield run
    into.close()
    process.wait()


def known_cases(test: Callable[..., None]) -> Callable[..., None]:
    for reader, before, fragment, after in KNOWN:
        test = example(reader, before, fragment, after)(test)
    return test


# A failure is shown as it is drawn: every step of making it smaller would take `SECONDS`.
@settings(max_examples=60, phases=[Phase.explicit, Phase.generate])
@given(
    reader=st.sampled_from(sorted(READERS)),
    before=pieces.map("".join),
    fragment=pieces.filter(bool).map("".join),
    after=pieces.map("".join),
)
@known_cases
def test_linear(
    ended: Callable[..., int], reader: str, before: str, fragment: str, after: str
) -> None:
    code = ended(reader, before, fragment, after)
    assert code != -signal.SIGKILL, f"{reader} has used {SECONDS} s"
    assert code == 0


def test_a_quadratic_reader_is_found(ended: Callable[..., int]) -> None:
    assert ended("quadratic", "", " ", "x", seconds=2) == -signal.SIGKILL
