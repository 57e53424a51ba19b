"""ALCE's reading of answers (Gao et al. 2023, sections 3 and 4, and their code)."""

import re
from collections.abc import Iterator

from citeforge.evaluator.measures.judging import Claim
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.evaluator.statements.split import strict_statements
from citeforge.evaluator.tools import Tools
from citeforge.schemas.citations.grammar import read_number, without_markers

ALCE = "Gao et al. 2023 (ALCE), section 3"
APPENDIX = "Gao et al. 2023 (ALCE), appendix"
_MARK = re.compile(r"\[\d+")
_SPACED_MARK = re.compile(r" \[\d+")


def alce_text(item: AnswerItem, inputs: Inputs) -> str:
    """The output as ALCE's word measures see it."""
    if inputs.protocol == "reference":
        return reference_clean(reference_output(item.output))
    return without_markers(
        item.output, inputs.grammar.parse(item.output, len(item.passages)).markers
    )


def strict_claims(item: AnswerItem, inputs: Inputs) -> list[Claim]:
    """Statements of the whole output; each distinct citation once, out-of-range ones wrong."""
    if inputs.task == "qampari":
        return list(_strict_qampari(item, inputs))
    assert inputs.tools.segmenter is not None
    reading = strict_statements(
        item.output, inputs.grammar, inputs.tools.segmenter, len(item.passages)
    )
    return [in_range(s.text, s.numbers, item, inputs) for s in reading.statements]


def in_range(text: str, numbers: list[int], item: AnswerItem, inputs: Inputs) -> Claim:
    """A statement with its distinct citations; those out of range are counted as wrong."""
    distinct = [n - inputs.grammar.base for n in dict.fromkeys(numbers)]
    inside = tuple(p for p in distinct if 0 <= p < len(item.passages))
    return Claim(text, inside, wrong=len(distinct) - len(inside))


def _strict_qampari(item: AnswerItem, inputs: Inputs) -> Iterator[Claim]:
    for part in split_list(answer_part(item.output, inputs)):
        markers = inputs.grammar.parse(part, len(item.passages)).markers
        gaps = zip([0, *(m.end for m in markers)], [*(m.start for m in markers), len(part)],
                   strict=True)  # fmt: skip
        text = "".join(part[start:end] for start, end in gaps)
        text = " ".join(text.strip(" .,\n").split())
        if text:
            numbers = [n for m in markers for n in m.numbers]
            yield in_range(f"{item.query} {text}", numbers, item, inputs)


def options(tools: Tools, protocol: str) -> str | None:
    """What moves scores of lists besides the data."""
    return "cot" if tools.options.cot else None


def answer_part(text: str, inputs: Inputs) -> str:
    """With ``cot``, what follows the first colon; nothing without one."""
    return text.partition(":")[2] if inputs.tools.options.cot else text


def split_list(text: str) -> list[str]:
    """Items of a list answer: cut at newlines, and at commas outside quotes and brackets."""
    parts = []
    start = depth = 0
    quoted = False
    for at, character in enumerate(text):
        if character in "([【":
            depth += 1
        elif character in ")]】":
            depth = max(0, depth - 1)
        elif character in '"“”':
            quoted = not quoted
        if (character == "," and depth == 0 and not quoted) or character == "\n":
            parts.append(text[start:at])
            start = at + 1
            depth, quoted = 0, False
    return [*parts, text[start:]]


def reference_output(output: str) -> str:
    """The output as ALCE's evaluator prepares it."""
    return output.strip().split("\n")[0].replace("<|im_end|>", "")


def reference_clean(text: str) -> str:
    """ALCE's removal of citations: ``[1, 2]`` leaves ``, 2``."""
    return _MARK.sub("", _SPACED_MARK.sub("", text)).replace(" |", "").replace("]", "")


def reference_claims(item: AnswerItem, inputs: Inputs) -> list[Claim]:
    """Statements and citations as ALCE's evaluator reads them, faults included.

    Range is checked on all markers first, then the list is cut to ``at_most_citations``; ``[0]``
    is the last passage; repeats are kept. ``cot`` changes nothing here.
    """
    output = reference_output(item.output)
    if inputs.task == "qampari":
        parts = output.rstrip().rstrip(".").rstrip(",").split(",")
        sentences = [f"{item.query} {part.strip()}" for part in parts]
    else:
        assert inputs.tools.segmenter is not None
        sentences = [output[s:e] for s, e in inputs.tools.segmenter.split(output)]
    claims = []
    n = len(item.passages)
    for sentence in sentences:
        positions = [read_number(mark[1:]) - 1 for mark in _MARK.findall(sentence)]
        text = reference_clean(sentence).strip()
        if any(p >= n or p < -n for p in positions):
            claims.append(Claim(text, (), wrong=len(positions), skipped=True))
        else:
            cited = positions[: inputs.tools.options.at_most_citations]
            claims.append(Claim(text, tuple(p % n for p in cited)))
    return claims
