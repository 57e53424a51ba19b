"""Readers of outputs are linear on every input.

Each text below takes seconds at most to a linear reader and hours to a quadratic one. The
process that reads it is killed after five minutes: no other clock decides.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

KILL_AFTER = 300

READERS = {
    "parse": "lambda t: GRAMMAR.parse(t, 5)",
    "cited": "lambda t: GRAMMAR.cited(t, 5)",
    "without_markers": "lambda t: without_markers(t, GRAMMAR.parse(t, 5).markers)",
    "rage": "lambda t: strict_scorer(GRAMMAR)(t, 5, frozenset({1}), {1: ['x']})",
    "rage_reference": "lambda t: reference_scorer(GRAMMAR)(t, 5, frozenset({1}), {1: ['x']})",
    "triples": "lambda t: TripleGrammar([Triple('Q1', 'A', '', 'r', 'v')], ['rel']).parse(t)",
    "statements": "lambda t: split_statements(t, GRAMMAR, SEGMENTER, 5)",
    "statements_1": "lambda t: split_statements(t, Grammar(version=1), SpacySegmenter(), 5)",
    "split_list": "split_list",
}

_HEAD = """
import sys
from citeforge.engines.segment import SpacySegmenter
from citeforge.engines.sentences import SentenceSegmenter
from citeforge.evaluator.measures.alce import split_list
from citeforge.evaluator.measures.rage import reference_scorer, strict_scorer
from citeforge.evaluator.statements import split_statements
from citeforge.schemas.grammar import Grammar, without_markers
from citeforge.schemas.kg import Triple
from citeforge.schemas.triples import TripleGrammar
GRAMMAR, SEGMENTER = Grammar(), SentenceSegmenter()
"""

# (reader, text): one run of what each reader looks at, and each with a mark before and behind.
LONG: list[tuple[str, str]] = [
    ("parse", "'[' + '\\n' * 10**6"),
    ("parse", "'[1' + ' ' * 10**6 + 'x'"),
    ("parse", "'[1,' * 300_000"),
    ("parse", "'[1 ' * 300_000"),
    ("parse", "'[' * 10**6"),
    ("parse", "'`' * 999_999 + '[1]'"),
    ("parse", "'[a](' * 200_000"),
    ("parse", "'https://a[' * 100_000"),
    ("parse", "'[source' + ' ' * 10**6"),
    ("parse", "'$a[1]' * 100_000"),
    ("parse", "'Sources' + '-' * 10**6"),
    ("parse", "'\\n' * 10**6 + 'Sources [1]'"),
    ("parse", "'1. Sources ' * 100_000 + '[1]'"),
    ("parse", "'【1†' * 100_000"),
    ("parse", "'[1]: a\\n' * 50_000"),
    ("cited", "'[1]' * 300_000"),
    ("without_markers", "'a [1] ' * 100_000"),
    ("without_markers", "' ' * 10**6 + '[1'"),
    ("rage", "' ' * 10**6 + 'x [1]'"),
    ("rage_reference", "'[1' * 300_000"),
    ("triples", "'[Q1, r: v, ' * 20_000"),
    ("triples", "'[Q1' + ' ' * 10**6"),
    ("triples", "'[Q1' + ', r: v' * 100_000 + ']'"),
    ("triples", "'[' * 10**6"),
    ("statements", "'[' + '\\n' * 100_000"),
    ("statements", "'(' * 50_000"),
    ("statements", "'e.g. ' * 100_000"),
    ("statements", "'A is B [1]. ' * 20_000"),
    ("statements", "'a [1] ' * 30_000"),
    ("statements", "'a [1]\\n' * 20_000"),
    ("statements", "'Dr. A.' + ')' * 50_000"),
    ("statements", "'? ' * 100_000"),
    ("statements", "'.' * 10**6"),
    ("statements", "'w' * 10**6"),
    ("statements", "'. ' + ' ' * 10**6 + 'A'"),
    ("statements", "'References\\n[1] a\\n\\nText.\\n' * 10_000"),
    ("statements", "'[1] A b.\\n' * 20_000"),
    ("statements", "'# ' * 200_000"),
    ("statements", "'*' * 200_000 + 'a'"),
    ("statements", "'a (b. ' * 30_000"),
    ("statements", "'\"A. b ' * 30_000"),
    ("statements", "'1. A. ' * 20_000"),
    ("statements", "'。' * 200_000"),
    ("statements_1", "'[' + '\\n' * 50_000"),
    ("statements_1", "'(' * 10_000"),
    ("statements_1", "'e.g. ' * 20_000"),
    ("statements_1", "'Dr. A.' + ')' * 10_000"),
    ("split_list", "'a' * 10**6"),
    ("split_list", "',' * 10**6"),
]


@pytest.mark.parametrize("reader", READERS)
def test_linear_on(reader: str) -> None:
    """All texts of one reader in one process, which names the text it is at."""
    texts = [text for name, text in LONG if name == reader]
    lines = [_HEAD, f"read = {READERS[reader]}"]
    for text in texts:
        lines += [f"print({text!r}, flush=True)", f"read({text})"]
    try:
        result = subprocess.run(
            [sys.executable, "-c", "\n".join(lines)],
            capture_output=True,
            text=True,
            timeout=KILL_AFTER,
        )
    except subprocess.TimeoutExpired as error:
        at = (error.stdout or b"").decode().splitlines()
        pytest.fail(f"{reader} is not linear on {at[-1] if at else 'its first text'}")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == texts
