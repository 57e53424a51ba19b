"""Mentions of passages that are not marks: `Document 5 states`, `passage five`, `(5)` at an end.

They are counted as unread: what looks like a citation is never passed over without a warning.
"""

import re
import unicodedata
from collections.abc import Iterator, Set

from citeforge.schemas.citations.reference_list import HEADING
from citeforge.schemas.citations.words import NUMBER_WORDS, alternatives, find_last_label, words_of

_IN_TEXT = re.compile(r"(?<![\d.,:\[(])\d{1,3}(?![\w%.,:]?\d)")
_END = re.compile(r"\s*+(?:[.,;)]|\Z)|[ \t]*\n")
_HASH = re.compile(r"(?:^|[\s(])#\d")
_LONGEST_LABEL = 24
_SAYS = rf"\s+(?:{alternatives(words_of('verbs'))})\b"
_SPELT = re.compile(
    rf"(?<=[^\W\d_]\s)(?P<word>{'|'.join(NUMBER_WORDS)})(?=\s*+(?:[^\w\s]|\Z)|{_SAYS})"
    rf"|第(?P<counted>\d{{1,3}}|[一二三四五六七八九十])[段篇]"
    r"|(?<=[\u3040-\u30ff\u3400-\u9fff])(?P<han>[一二三四五六七八九十])(?=[)）\]】])",
    re.IGNORECASE,
)
_N = r"\d{1,3}(?:\s?[,;]\s?\d{1,3}){0,9}"
_CIRCLED = "❶-❿⓫-⓴⑴-⒇➀-➓⓵-⓾"
_PICTURES = "🔗📄📎🔖📌📚↩↪"
_SIGN = (
    rf"[ \t\u00a0]?(?:(?:[0-9]\ufe0f?\u20e3)+|[{_CIRCLED}]|[{_PICTURES}]\ufe0f?[ ]?\d{{1,3}}"
    r"|₍[₀-₉]{1,3}₎|(?:(?<=(?<!\d)(?:1[4-9]|20)\d\d)|(?<=[.!? ]))[₀-₉]{1,3})"
)
_LOOSE = re.compile(
    rf"(?<=[\w.!?…。！？%\"”’»)])(?:(?P<sign>{_SIGN})"
    rf"|[ \t\u00a0](?:\(\(?{_N}\)\)?|/\d{{1,3}}/|[«‹⁅]{_N}[»›⁆]|[@^]\d{{1,3}}|{_N}[\]】])"
    rf"|[ \t\u00a0]?(?:（{_N}）|[\[【]{_N}(?=[.)）\]】])[)）\]】]?)"
    r"|(?:(?<=[^\W\d_]{3})|(?<=(?<!\d)\d{4}))\^\(?\d{1,3}\)?"
    r"|(?<=[^\W\d_]{4}[.!?])\d{1,2}(?=\s+[^\W\d_a-z]|\s*\Z))"
    r"(?=[ \t]*+(?:[.,;!?。！？；，、]|\n|\Z|[(（/]\d)|(?<=[.!?]\d)|(?<=[.!?]\d\d)"
    r"|(?<=\u20e3)(?=\s+[^\W\d_a-z]))"
)
"""A number at the end of a statement or clause, in signs that are no marks."""
_MAY_BE_LOOSE = re.compile(
    rf"[\d₀-₉{_CIRCLED}](?:(?<=[₀-₉{_CIRCLED}])|(?=\ufe0f?\u20e3)|(?<=[(（]\d)(?=\d{{0,2}}\s?[),;）])"
    rf"|(?<=/\d)(?=\d{{0,2}}/)|(?<=[«‹⁅@^{_PICTURES}\ufe0f]\d)|(?<=[{_PICTURES}\ufe0f] \d)"
    r"|(?<=\^\(\d)|(?<=[\[【]\d)(?=\d{0,2}[.)）])|(?<=【\d)(?=\d{0,2}\])"
    r"|(?<=[\s,;]\d)(?=\d{0,2}[\]】])|(?<=[^\W\d_][.!?]\d))"
)
"""A quick test for :data:`_LOOSE`."""
_STEMS = tuple(
    "passage document source chunk snippet excerpt quelle dokument extrait fuente pasaje fonte "
    "документ источник 第 文档 来源 资料 文献 文書 資料".split()
)
"""Parts of words before a number in words; a quick test for :data:`_SPELT`."""
_STOPS = ".!?…。！？"
_VALUES = re.compile(rf"[\d₀-₉]+|[{_CIRCLED}]")
_CELL = re.compile(r"\s*(\d{1,3})(?:\s*[,;]\s*\d{1,3})*\s*")
_LAST_WORD = re.compile(r"[^\W\d_]+\Z")


def find_mentions(
    output: str, first_number: int, n_docs: int, cited: Set[int]
) -> Iterator[tuple[int, int]]:
    """Yield spans that name, in words, a passage that no mark cites: ``Document 5 states``.

    ``#5`` counts only in an output without marks: it may be a rank.

    Args:
        output: what the system wrote.
        first_number: number of the first passage: 0 or 1.
        n_docs: number of passages shown.
        cited: numbers that its marks cite.
    """
    for match in _IN_TEXT.finditer(output):
        if 0 <= int(match[0]) - first_number < n_docs and int(match[0]) not in cited:
            if not cited and _HASH.match(output, max(0, match.start() - 2)):
                yield match.start() - 1, match.end()
                continue
            label = _find_label(output, match.start())
            named = output[label : match.start()].lower()
            is_value = ":" in named and (
                named.startswith("result") or not _END.match(output, match.end())
            )
            if label >= 0 and not is_value:
                yield label, match.end()
    lower = output.lower()
    spelt = _SPELT.finditer(output) if any(stem in lower for stem in _STEMS) else ()
    for match in spelt:
        label = match.start() if match["counted"] else _find_label(output, match.start())
        text = match["word"] or match["counted"] or match["han"]
        value = int(text) if text.isdecimal() else NUMBER_WORDS.get(text.lower(), -1)
        if label >= 0 and 0 <= value - first_number < n_docs and value not in cited:
            yield label, match.end()
    yield from map(_trim_span, _find_loose_numbers(output, first_number, n_docs, cited))
    if "|" in output:
        yield from _find_source_cells(output, cited)


def find_loose_marks(
    output: str, first_number: int, n_docs: int, cited: Set[int]
) -> list[tuple[int, int]]:
    """List spans of uncited passage numbers between sentences, such as ``.5️⃣`` or ``(5).``.

    Numbers within a sentence stay in its text: ``Norway (5), Sweden (3).`` lists numbers. The
    arguments are those of :func:`find_mentions`.
    """
    found = list(_find_loose_numbers(output, first_number, n_docs, cited))
    plain = [m for m in found if not m["sign"]]
    end_sentences = (
        len(plain) > 1
        and not cited
        and all(
            output[m.end() : m.end() + 1] in (*_STOPS, "") and m[0].strip()[0] in "(（"
            for m in plain
        )
    )
    return [
        _trim_span(m)
        for m in found
        if (output[m.start() - 1] in _STOPS if m["sign"] else end_sentences)
    ]


def _trim_span(match: re.Match[str]) -> tuple[int, int]:
    """Get the span of a match without its leading white space."""
    return match.end() - len(match[0].lstrip()), match.end()


def _find_loose_numbers(
    output: str, first_number: int, n_docs: int, cited: Set[int]
) -> Iterator[re.Match[str]]:
    """Yield uncited passage numbers at ends of statements, in signs such as ``(5)`` or ``^5``."""
    if _MAY_BE_LOOSE.search(output) is None:
        return
    for match in _LOOSE.finditer(output):
        word = _LAST_WORD.search(output, max(0, match.start() - _LONGEST_LABEL), match.start())
        values = [
            int("".join(str(int(unicodedata.numeric(c))) for c in number))
            for number in _VALUES.findall(match[0])
        ]
        is_shown = all(0 <= n - first_number < n_docs and n not in cited for n in values)
        if is_shown and (word is None or word[0].lower() not in NUMBER_WORDS):
            yield match


def _find_source_cells(output: str, cited: Set[int]) -> Iterator[tuple[int, int]]:
    """Yield the spans of uncited numbers in a table's column with a heading such as "Sources"."""
    columns: set[int] = set()
    start = 0
    for line in output.splitlines(keepends=True):
        cells, at = line.split("|"), start
        start += len(line)
        named = [n for n, cell in enumerate(cells) if HEADING.fullmatch(cell.strip())]
        columns = set(named) or (columns if len(cells) > 1 else set())
        for column, cell in enumerate(cells):
            match = _CELL.fullmatch(cell)
            if column in columns and match is not None and int(match[1]) not in cited:
                yield at + match.start(1), at + match.end(1)
            at += len(cell) + 1


def _find_label(output: str, end: int) -> int:
    """Find the offset of a word such as "Document" that ends before an offset; -1 if none does."""
    window = max(0, end - _LONGEST_LABEL)
    label = find_last_label(output[window:end].rstrip(" \u00a0.:："))
    return window + label if label >= 0 else -1
