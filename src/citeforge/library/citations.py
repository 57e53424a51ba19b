"""Citations and statements of one output, in Python."""

from functools import lru_cache

from citeforge.engines.running.names import make_segmenter
from citeforge.evaluator.statements.split import Statements
from citeforge.evaluator.statements.split import split_statements as _split
from citeforge.schemas.citations.grammar import Grammar, Parsed

_kept_segmenter = lru_cache(maxsize=4)(make_segmenter)
_PASSAGES_UNSAID = 1 << 30
"""Number of passages shown when the caller does not say: no citation is out of range."""


def parse_citations(output: str, n_docs: int | None = None, base: int = 1) -> Parsed:
    """Read an answer's citation marks like protocol ``strict``; passages count from ``base``.

    docs/definitions.md#citations has the rules.

    Args:
        output: what a system wrote.
        n_docs: number of passages shown; None when it does not matter (marks such as ``[2019]``
            then count as citations).
        base: number of the first passage, 1 or 0.

    Returns:
        ``markers`` (offsets and numbers as written) and ``unparsed`` (offsets of brackets that
        look like citations and are not read as such). Never raises.
    """
    return Grammar(base).parse(output, _PASSAGES_UNSAID if n_docs is None else n_docs)


def split_statements(
    output: str, n_docs: int | None = None, base: int = 1, segmenter: str = "nupunkt"
) -> Statements:
    """Split an answer into statements with their citations; passages count from ``base``.

    docs/definitions.md#statements has the rules.

    Args:
        output: what a system wrote.
        n_docs: number of passages shown; None when it does not matter.
        base: number of the first passage, 1 or 0.
        segmenter: splits sentences; see ``--segmenter``.

    Returns:
        Statements without markers, each with its citation numbers as written, in order.

    Raises:
        UnknownValueError: no such segmenter.
    """
    n = _PASSAGES_UNSAID if n_docs is None else n_docs
    return _split(output, Grammar(base), _kept_segmenter(segmenter), n)
