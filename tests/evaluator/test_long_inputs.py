"""Readers of answers are linear on every input: anything, repeated until it is long.

Loops of the package count their steps, which are the same on every machine. Regular expressions
take no steps: for these the ratio of two times of one thread decides, on a machine of any speed.
"""

import gc
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from conftest import sampled
from long_texts import (
    READERS,
    REFERENCE_READERS,
    SOURCES,
    STRINGS,
    Case,
    Reader,
    count_steps,
    long_text,
)
from patience import patience

LENGTH, TIMES = 50_000, 8
MOST = 2 * TIMES
"""Growth of the time from which on a reader is not linear: a quadratic one has `TIMES` squared."""
TRIES = 4
TICK = 0.01
"""Seconds that the processor's clock may be wrong by."""

QUADRATIC: dict[str, Reader] = {"quadratic": lambda t: re.findall(" +y", t)}

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
    ("replies", "", '{"a":', ""),
    ("replies", "", '{"a":', "x"),
    ("replies", "", '{"a":[', ""),
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
        [sys.executable, "-c", _PROGRAM, str(here.parent), str(here)],
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


MOST_STEPS = 2.3
"""Growth of the steps for twice the text; a linear reader has 2, and looks at a window once."""
FEW_STEPS = 1_000
"""Steps that do not depend on the length."""
SHORT = 4_000
SIZES = 25_000, 50_000, 100_000, 200_000
FACTOR, MOST_TIME = 8, 27.0
"""Growth of the time for so many times the text: three times for each doubling; a linear reader has
8, a quadratic one 64. Twice the text would not tell them apart on a busy machine."""
SHORTEST, LONGEST = 1_000, 200_000
"""Characters of the texts that are timed: they double until the long one takes `ENOUGH` seconds."""
ENOUGH, LEAST = 0.04, 0.001
"""Seconds; the short text counts as `LEAST` at least, as the clock may be wrong by that."""
COVERED = {"parse", "cited", "without_markers", "rage", "sentences", "thoughts", "judge"}
"""Readers whose regular expressions others use, too: `statements`, `unwrap`, `short_answers`."""
TIMED = {n: r for n, r in (READERS | REFERENCE_READERS).items() if n not in COVERED}
MANY = [*STRINGS[:-20:2], *STRINGS[-20:]]


def grow_steps(reader: Reader, case: Case, *sizes: int) -> list[int]:
    """Steps for texts of these sizes that are more than a linear reader takes; none if all fit."""
    steps = [count_steps(reader, long_text(case, size)) for size in sizes]
    are_linear = all(b <= MOST_STEPS * a + FEW_STEPS for a, b in pairwise(steps))
    return [] if are_linear else steps


@pytest.mark.parametrize("case", KNOWN, ids=[f"{k[0]}-{n}" for n, k in enumerate(KNOWN)])
def test_steps_of_known_cases_double(case: tuple[str, str, str, str]) -> None:
    assert not grow_steps(READERS[case[0]], case[1:], SHORT, 2 * SHORT)


def test_steps_of_a_quadratic_reader_are_found() -> None:
    code = compile("for a in text:\n    for b in text: pass", f"{SOURCES}/nested.py", "exec")
    assert grow_steps(lambda text: exec(code, {"text": text}), ("", "a", ""), 100, 200)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("number", range(len(READERS)))
def test_steps_double(number: int) -> None:
    """A third of the strings for each reader, another third for the next one."""
    reader = list(READERS.values())[number]
    cases = sampled([*STRINGS[number % 3 :], *STRINGS[: number % 3]])
    wrong = {case: grow_steps(reader, case, SHORT // 4, SHORT // 2) for case in cases}
    assert not {case: steps for case, steps in wrong.items() if steps}


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("part", range(4))
def test_steps_double_up_to_200_kB(part: int) -> None:
    """Every string through one reader each; the readers take turns."""
    names = [name for name in READERS if name != "place_marks"]
    wrong = {}
    for number, case in sampled(list(enumerate(MANY))[part::4]):
        name = names[number % len(names)]
        if steps := grow_steps(READERS[name], case, *SIZES):
            wrong[name, case] = steps
    assert not wrong


def thread_seconds(reader: Reader, text: str) -> float:
    """Time of this thread for a text, without that of a search for garbage of other tests."""
    gc.disable()
    try:
        begin = time.thread_time()
        reader(text)
        return time.thread_time() - begin
    finally:
        gc.enable()


def grow_time(reader: Reader, case: Case) -> float:
    """How many times as long a reader takes for a text of `FACTOR` times the length.

    What disturbs a measurement makes it longer: the least of several in turn is kept.
    """
    size = SHORTEST
    while (
        FACTOR * size < LONGEST and thread_seconds(reader, long_text(case, FACTOR * size)) < ENOUGH
    ):
        size *= 2
    growth = grow_time_from(reader, case, size)
    # Memory that texts above some length need is a step; what grows too fast does so above it, too.
    if growth > MOST_TIME:
        growth = min(growth, grow_time_from(reader, case, FACTOR * size))
    return growth


def grow_time_from(reader: Reader, case: Case, size: int) -> float:
    """How many times as long a reader takes for `FACTOR` times a length."""
    texts = [long_text(case, n) for n in (size, FACTOR * size)]
    short = long = math.inf
    for _ in range(6):
        times = [thread_seconds(reader, text) for text in texts]
        short, long = min(short, times[0]), min(long, times[1])
        if long <= MOST_TIME * max(short, LEAST):
            break
    return long / max(short, LEAST)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("name", TIMED)
def test_eight_times_the_text_takes_no_more_than_27_times_as_long(name: str) -> None:
    reader = TIMED[name]
    reader("A [1] b.")  # whatever is loaded once
    known = [case[1:] for case in KNOWN if case[0] == name]
    growth = {case: grow_time(reader, case) for case in [*known, *sampled(MANY)]}
    assert not {case: times for case, times in growth.items() if times > MOST_TIME}


@pytest.mark.slow
def test_time_of_a_quadratic_reader_is_found() -> None:
    assert grow_time(QUADRATIC["quadratic"], ("", " ", "x")) > MOST_TIME


@pytest.mark.slow
# A failure is shown as it is drawn: every step of making it smaller would take seconds.
@settings(max_examples=60, phases=[Phase.generate])
@given(
    reader=st.sampled_from(sorted(READERS)),
    before=pieces.map("".join),
    fragment=pieces.filter(bool).map("".join),
    after=pieces.map("".join),
)
def test_linear(
    growth: Callable[..., float], reader: str, before: str, fragment: str, after: str
) -> None:
    assert growth(reader, before, fragment, after) < MOST


@pytest.mark.slow
def test_a_quadratic_reader_is_found(growth: Callable[..., float]) -> None:
    assert growth("quadratic", "", " ", "x") > MOST
