"""Readers of outputs are linear on every input: anything, repeated until it is long.

A linear reader takes `TIMES` as much of its processor for a text that is `TIMES` as long, and a
quadratic one the square of that: the ratio decides, on a machine of any speed.
"""

import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from citeforge.engines.text.refusals import is_refusal
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.engines.text.thoughts import split_thoughts
from citeforge.evaluator.measures.rage_citations import reference_scorer, strict_scorer
from citeforge.evaluator.statements.list_items import split_list
from citeforge.evaluator.statements.split import split_statements
from citeforge.evaluator.submissions.url_marks import read_markup
from citeforge.plugins.responses.marks import place_marks
from citeforge.plugins.responses.records import Cited
from citeforge.schemas.citations.grammar import Grammar, without_markers
from citeforge.schemas.citations.triples import TripleGrammar
from citeforge.schemas.kg import Triple
from citeforge.schemas.refusals import LANGUAGES
from patience import patience

LENGTH, TIMES = 50_000, 8
SHORT_LENGTH = 8_000
"""Length at which a quadratic reader takes no more than a second."""
MOST = 2 * TIMES
"""Growth of the time from which on a reader is not linear: a quadratic one has `TIMES` squared."""
TRIES = 4
TICK = 0.01
"""Seconds that the processor's clock may be wrong by."""

GRAMMAR, SEGMENTER = Grammar(), SentenceSegmenter()


def place_many(text: str) -> object:
    starts = range(0, len(text) - 9, 40)
    spans = [Cited(i, i + 9, i % 5) for i in starts]
    return place_marks(text, spans, [1 + i % 5 for i in starts], GRAMMAR, SEGMENTER, 5)


READERS: dict[str, Callable[[str], object]] = {
    "parse": lambda t: GRAMMAR.parse(t, 5),
    "cited": lambda t: GRAMMAR.cited(t, 5),
    "without_markers": lambda t: without_markers(t, GRAMMAR.parse(t, 5).markers),
    "rage": lambda t: strict_scorer(GRAMMAR)(t, 5, frozenset({1}), {1: ["x"]}),
    "rage_reference": lambda t: reference_scorer(GRAMMAR)(t, 5, frozenset({1}), {1: ["x"]}),
    "triples": lambda t: TripleGrammar([Triple("Q1", "A", "", "r", "v")], ["rel"]).parse(t),
    "sentences": SEGMENTER.split,
    "statements": lambda t: split_statements(t, GRAMMAR, SEGMENTER, 5),
    "refusals": lambda t: is_refusal(t, "rules:" + ",".join(LANGUAGES)),
    "split_list": split_list,
    "markup": read_markup,
    "place_marks": place_many,
    "thoughts": split_thoughts,
}
QUADRATIC: dict[str, Callable[[str], object]] = {"quadratic": lambda t: re.findall(" +y", t)}

_PROGRAM = """
import gc, json, os, resource, sys, time
sys.path[:0] = sys.argv[1:]
from test_long_inputs import QUADRATIC, READERS
READERS |= QUADRATIC
for reader in READERS.values():
    reader("A [1] b.")  # whatever is loaded once
gc.freeze()
for line in sys.stdin:
    limit, length, name, before, fragment, after = json.loads(line)
    text = before + fragment * (length // len(fragment)) + after
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        begin = time.process_time()
        READERS[name](text)
        os.write(there, str(time.process_time() - begin).encode())
        os._exit(0)
    os.close(there)
    with open(here) as figure:
        used = figure.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(used or ("inf" if code == -9 else f"it ended with {code}"), flush=True)
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
    ("refusals", "", "information!", "a"),
    ("refusals", "The passages ", "never ", "say"),
    ("refusals", "", "the provided passages ", "do not say"),
    ("refusals", "is not ", "ly", " known"),
    ("refusals", "not", " ", "known"),
    ("refusals", "not ", "\n", "known"),
    ("refusals", "", "无法回答问题吗", ""),
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
def growth() -> Iterator[Callable[..., float]]:
    """How many times as long a reader takes for a text that is `TIMES` as long."""
    here = Path(__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(here), str(here.parent)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    into, out = process.stdin, process.stdout

    def seconds(case: tuple[str, ...], length: int, limit: float) -> float:
        """Processor time of a process of its own, that is killed when it has used the limit."""
        into.write(json.dumps([math.ceil(limit), length, *case]) + "\n")
        into.flush()
        return float(out.readline())

    def run(*case: str) -> float:
        tiny = max(TICK, seconds(case, LENGTH // TIMES**2, patience(60)))
        short = long = math.inf
        for _ in range(TRIES):  # what disturbs a measurement makes it longer: the least is kept
            # A part of bounded length may be read in quadratic time; nothing is in cubic.
            times = [seconds(case, LENGTH // TIMES, 1 + 2 * TIMES**2 * tiny) for _ in "ab"]
            short = max(TICK, min(short, *times))
            if short == math.inf:
                return math.inf
            long = min(long, seconds(case, LENGTH, 1 + MOST * short))
            if long < MOST * short:
                break
        return long / short

    yield run
    into.close()
    process.wait()


def growth_here(reader: Callable[[str], object], before: str, fragment: str, after: str) -> float:
    """The same of a short text, in this process."""

    def seconds(length: int) -> float:
        text = before + fragment * (length // len(fragment)) + after
        begin = time.process_time()
        reader(text)
        return time.process_time() - begin

    reader("A [1] b.")  # whatever is loaded once
    short = long = math.inf
    for _ in range(3 * TRIES):
        short = min(short, seconds(SHORT_LENGTH // TIMES))
        long = min(long, seconds(SHORT_LENGTH))
        if long < MOST * short:
            break
    return long / short


@pytest.mark.parametrize("case", KNOWN, ids=[f"{k[0]}-{n}" for n, k in enumerate(KNOWN)])
def test_known_cases_are_linear(case: tuple[str, str, str, str]) -> None:
    assert growth_here(READERS[case[0]], *case[1:]) < MOST


def test_a_quadratic_reader_of_a_short_text_is_found() -> None:
    assert growth_here(QUADRATIC["quadratic"], "", " ", "x") > MOST


def known_cases(test: Callable[..., None]) -> Callable[..., None]:
    for reader, before, fragment, after in KNOWN:
        test = example(reader, before, fragment, after)(test)
    return test


@pytest.mark.slow
# A failure is shown as it is drawn: every step of making it smaller would take seconds.
@settings(max_examples=60, phases=[Phase.explicit, Phase.generate])
@given(
    reader=st.sampled_from(sorted(READERS)),
    before=pieces.map("".join),
    fragment=pieces.filter(bool).map("".join),
    after=pieces.map("".join),
)
@known_cases
def test_linear(
    growth: Callable[..., float], reader: str, before: str, fragment: str, after: str
) -> None:
    assert growth(reader, before, fragment, after) < MOST


@pytest.mark.slow
def test_a_quadratic_reader_is_found(growth: Callable[..., float]) -> None:
    assert growth("quadratic", "", " ", "x") > MOST
