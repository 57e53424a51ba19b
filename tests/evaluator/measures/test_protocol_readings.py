"""What each protocol reads in an output, written by hand (docs/definitions.md#citations).

Columns: strict; rage_toolkit (`[n]` only); ALCE (the first number of a bracket); Attributed-IR
(`[n]` and `[n, m]`). Numbers as written, in order, repeats kept; five passages are shown.
"""

import pytest

from citeforge.evaluator.measures.rage_citations import _REFERENCE as RAGE
from citeforge.evaluator.statements.alce import _MARK as ALCE
from citeforge.evaluator.statements.attributed_ir import mark_numbers as attributed_ir
from citeforge.schemas.citations.grammar import Grammar

N: list[int] = []

CASES: list[tuple[str, list[int], list[int], list[int], list[int]]] = [
    # plain marks, and where they stand
    ("A.", N, N, N, N),
    ("A [1].", [1], [1], [1], [1]),
    ("A. [1]", [1], [1], [1], [1]),
    ("A.[1]", [1], [1], [1], [1]),
    ("[1] A.", [1], [1], [1], [1]),
    ("A [1][2].", [1, 2], [1, 2], [1, 2], [1, 2]),
    ("A [1] [2].", [1, 2], [1, 2], [1, 2], [1, 2]),
    ("A [2][1].", [2, 1], [2, 1], [2, 1], [2, 1]),
    ("A [1][1].", [1, 1], [1, 1], [1, 1], [1, 1]),
    ("A[1]B", [1], [1], [1], [1]),
    ("(A [1])", [1], [1], [1], [1]),
    ('"A" [1]', [1], [1], [1], [1]),
    ("A\n[1]\nB [2]", [1, 2], [1, 2], [1, 2], [1, 2]),
    # lists
    ("A [1, 2].", [1, 2], N, [1], [1, 2]),
    ("A [1,2].", [1, 2], N, [1], [1, 2]),
    ("A [1,  2].", [1, 2], N, [1], [1, 2]),
    ("A [1, 2, 3].", [1, 2, 3], N, [1], [1, 2, 3]),
    ("A [1; 2].", [1, 2], N, [1], N),
    ("A [1 ,2].", [1, 2], N, [1], N),
    ("A [1,].", [1], N, [1], N),
    ("A [1 2].", [1, 2], N, [1], N),
    ("A [1 and 2].", [1, 2], N, [1], N),
    ("A [1][2, 3].", [1, 2, 3], [1], [1, 2], [1, 2, 3]),
    # ranges
    ("A [1-3].", [1, 2, 3], N, [1], N),
    ("A [1–3].", [1, 2, 3], N, [1], N),
    ("A [1—3].", [1, 2, 3], N, [1], N),
    ("A [1 - 3].", [1, 2, 3], N, [1], N),
    ("A [1-2, 4].", [1, 2, 4], N, [1], N),
    ("A [3-1].", N, N, [3], N),
    ("A [1-25].", N, N, [1], N),
    ("A [1..3].", N, N, [1], N),
    # other brackets and names
    ("A 【1】.", [1], N, N, N),
    ("A 【1†source】.", [1], N, N, N),
    ("A [^1].", [1], N, N, N),
    ("A [ 1 ].", [1], N, N, N),
    ("A [Document 2].", [2], N, N, N),
    ("A [document 2].", [2], N, N, N),
    ("A [doc 2].", [2], N, N, N),
    ("A [Context 1].", [1], N, N, N),
    ("A [Document 1, Document 2].", [1, 2], N, N, N),
    ("A (1).", N, N, N, N),
    ("A {1}.", N, N, N, N),
    ("A ¹.", [1], N, N, N),
    ("A [one].", N, N, N, N),
    ("A [[1]].", [1], [1], [1], [1]),
    ("A [NA].", N, N, N, N),
    # range of the context
    ("A [0].", [0], [0], [0], [0]),
    ("A [6].", [6], [6], [6], [6]),
    ("A [123].", [123], [123], [123], [123]),
    ("A [12345].", [12345], [12345], [12345], [12345]),
    ("In [2019].", N, [2019], [2019], [2019]),
    ("In [2019] B [1].", [1], [2019, 1], [2019, 1], [2019, 1]),
    ("A [-1].", N, N, N, N),
    ("A [1.5].", N, N, [1], N),
    ("A [01].", [1], [1], [1], [1]),
    # what is no citation
    ("See [1](https://example.org).", N, [1], [1], [1]),
    ("See [the docs](a[1].html) B [2].", [2], [1, 2], [1, 2], [1, 2]),
    ("Run `x[1]` B [2].", [2], [1, 2], [1, 2], [1, 2]),
    ("```\nx[1]\n``` B [2].", [2], [1, 2], [1, 2], [1, 2]),
    ("At https://a.org/x[1]y B [2].", [2], [1, 2], [1, 2], [1, 2]),
    ("A [sic] [1].", [1], [1], [1], [1]),
    ("A [1", N, N, [1], N),
    ("A 1].", N, N, N, N),
    ("A [].", N, N, N, N),
    # abbreviations and other scripts
    ("Smith et al. [1] e.g. [2].", [1, 2], [1, 2], [1, 2], [1, 2]),
    ("The U.S. [1].", [1], [1], [1], [1]),
    ("مرحبا [1].", [1], [1], [1], [1]),
    ("答案[1]。", [1], [1], [1], [1]),
]


def test_the_table_is_large_enough() -> None:
    assert len(CASES) >= 60
    assert len({c[0] for c in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_readings(case: tuple[str, list[int], list[int], list[int], list[int]]) -> None:
    output, strict, rage, alce, air = case
    assert [n for m in Grammar().parse(output, 5).markers for n in m.numbers] == strict
    assert [int(n) for n in RAGE.findall(output)] == rage
    assert [int(mark[1:]) for mark in ALCE.findall(output)] == alce
    assert attributed_ir(output) == air
