"""Tokens made of several words or numbers: dates, money, ranges, compounds."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from citeforge.schemas.matching.dates import MONTHS, date_token, read_written_date
from citeforge.schemas.matching.numbers import (
    MONEY_CODES,
    Key,
    Token,
    make_token,
    money_token,
    negated,
    range_keys,
    read_values,
    second_years,
    with_unit,
)

_RANGE = re.compile(r"\s?-{1,2}\s?| ?~ ?")
_Span = tuple[int, int, Token]
"""Positions (start, end) of some tokens, and the one token that takes their place."""
Words = list[str | Token]


@dataclass(slots=True)
class Tokens:
    """The tokens of a text.

    Attributes:
        main: words and other tokens, one after the other.
        joined: position to (word, end) of tokens that punctuation joins: ``co-operate`` is
            ``co``, ``operate``, and from the first on also ``cooperate``.
        no_start: positions where no answer starts: ``16`` in ``F-16``.
        no_end: positions where no answer ends: behind ``X`` in ``X-ray``.
    """

    main: Words
    joined: dict[int, tuple[str, int]] = field(default_factory=dict)
    no_start: set[int] = field(default_factory=set)
    no_end: set[int] = field(default_factory=set)


def merge_values(tokens: Words, separators: list[str]) -> None:
    """Merge tokens of a date, an amount of money or a range into one token each, in place.

    Args:
        tokens: tokens of a text: words, and numbers read so far.
        separators: text before each token: blanks and punctuation.
    """
    numbers = _value_positions(tokens)
    for find in (_find_negatives, _find_dates, _find_money, _find_ranges):
        if spans := list(find(tokens, separators, numbers)):
            _replace_spans(tokens, separators, spans)
            numbers = _value_positions(tokens)


def _replace_spans(tokens: Words, separators: list[str], spans: list[_Span]) -> None:
    """Put one token in place of each span of tokens; spans are in order and do not overlap."""
    words: Words = []
    before: list[str] = []
    at = 0
    for start, end, token in spans:
        words += [*tokens[at:start], token]
        before += separators[at : start + 1]
        at = end
    tokens[:], separators[:] = words + tokens[at:], before + separators[at:]


def _value_positions(tokens: Words) -> list[int]:
    """List the positions of tokens that are values (numbers, dates, …), not words."""
    return [at for at, token in enumerate(tokens) if token.__class__ is Token]


def _find_negatives(
    tokens: Words, separators: list[str], number_positions: Sequence[int]
) -> Iterator[_Span]:
    """Yield spans such as ``minus 5`` with a token of the negative number; not ``7 minus 5``."""
    for at in number_positions:
        token = tokens[at]
        if not isinstance(token, Token) or not token.raw.isdecimal() or tokens[at - 1] != "minus":
            continue
        if at and separators[at] == " " and (at < 2 or isinstance(tokens[at - 2], str)):
            values = negated(read_values(token.raw))
            yield at - 1, at + 1, make_token(values, f"-{token.raw}", is_number=True)


def _find_dates(
    tokens: Words, separators: list[str], number_positions: Sequence[int]
) -> Iterator[_Span]:
    """Yield spans of dates such as ``12 November 1964``, with a token of the date.

    A date starts at one of its numbers, or up to 3 words before it.
    """
    end = 0
    if MONTHS.keys().isdisjoint(tokens):
        return
    for number in number_positions:
        for at in range(max(end, number - 3), number + 1):
            token = tokens[at]
            if not (token in MONTHS if isinstance(token, str) else token.raw):
                continue
            if (date := read_written_date(tokens, separators, at)) is not None:
                token, end = date
                yield at, end, token
                break


def _find_money(
    tokens: Words, separators: list[str], number_positions: Sequence[int]
) -> Iterator[_Span]:
    """Yield spans of amounts behind a currency's code: ``EUR 5``, ``US$5``, with a money token."""
    for at in number_positions:
        token, before = tokens[at], tokens[at - 1] if at else None
        if not isinstance(token, Token) or not token.is_number or not isinstance(before, str):
            continue
        if separators[at] == "$" and len(before) < 3:
            yield at - 1, at + 1, money_token("$" if before == "us" else f"{before}$", token)
        elif before in MONEY_CODES and separators[at] in ("", " ", ". "):
            yield at - 1, at + 1, money_token(MONEY_CODES[before], token)


def _find_ranges(
    tokens: Words, separators: list[str], number_positions: Sequence[int]
) -> Iterator[_Span]:
    """Yield spans of numbers joined by dashes or ``to``: ``40-50``, ``1964 to 1970``, ``1-2-3``."""
    end = 0
    for at in number_positions:
        token = tokens[at]
        if at < end or not isinstance(token, Token) or not token.is_number:
            continue
        chain, end = [token], at + 1
        while (joined := _next_of_range(tokens, separators, end)) is not None:
            other, end = joined
            chain.append(other)
        if len(chain) > 1:
            yield at, end, _range_token(chain)


def _next_of_range(tokens: Words, separators: list[str], position: int) -> tuple[Token, int] | None:
    """Get the number that a dash or ``to`` joins to the one before: (its token, position behind).

    Args:
        tokens: tokens of a text.
        separators: text before each token.
        position: position behind the number before.
    """
    step = 1 if tokens[position : position + 1] == ["to"] else 0
    other = tokens[position + step] if position + step < len(tokens) else None
    if not isinstance(other, Token) or not other.is_number:
        return None
    if step:
        return (
            (other, position + 2)
            if separators[position] == separators[position + 1] == " "
            else None
        )
    if separators[position] == " " and other.raw.startswith("-"):  # `1964 -1981`
        digits = other.raw.removeprefix("-")
        return make_token(read_values(digits), digits, is_number=True), position + 1
    return (other, position + 1) if _RANGE.fullmatch(separators[position]) else None


def _range_token(chain: list[Token]) -> Token:
    """Make the token of a chain of numbers: two are a range or score, more are ``1-2-3``.

    It has a key for each reading: ``1964-65`` also ends in 1965, ``1964-05`` is also a month.
    """
    if len(chain) > 2:
        return make_token(frozenset({("-", *(min(t.keys, key=repr) for t in chain))}))
    first, second = _share_unit(*chain)
    keys = range_keys(first.keys, second.keys)
    if later := second_years(first.raw, second.raw):
        keys |= range_keys(first.keys, later)
        second = make_token(later)
    held = keys | first.held | second.held
    months = chain[1].raw
    if len(first.raw) == 4 and len(months) == 2 and months != "00":
        date = date_token([(int(first.raw), int(months), None)])
        if date is not None:
            keys, held = keys | date.keys, held | date.held
    return Token(keys, held)


def _share_unit(first: Token, second: Token) -> tuple[Token, Token]:
    """Return both numbers of ``40-50 %`` or ``$5-10`` with the one unit that is written."""
    sides = [first, second]
    for at, other in ((0, second), (1, first)):
        units = {k[0] for k in other.keys if isinstance(k, tuple) and len(k) == 2}
        if sides[at].raw and len(units) == 1:
            keys = with_unit(str(units.pop()), sides[at].keys)
            is_money = bool(other.held - other.keys)
            sides[at] = Token(keys, keys | sides[at].keys if is_money else keys)
    return sides[0], sides[1]


def join_compounds(tokens: Words, separators: list[str]) -> Tokens:
    """Make a text's final tokens, adding compounds of punctuated tokens (``co-operate``).

    Args:
        tokens: tokens of a text.
        separators: text before each token.
    """
    points = [
        at for at, gap in enumerate(separators)
        if at and gap != " " and (gap == ". " or (len(gap) == 1 and not gap.isspace()))
    ]  # fmt: skip
    result = Tokens([] if points else tokens)
    copied = at = 0
    while at < len(points):
        first = end = points[at] - 1
        while at < len(points) and points[at] == end + 1:
            end, at = points[at], at + 1
        result.main += tokens[copied:first]
        _add_touching(result, tokens[first : end + 1], separators[first : end + 1])
        copied = end + 1
    if points:
        result.main += tokens[copied:]
    return result


def _add_touching(result: Tokens, tokens: Words, separators: list[str]) -> None:
    """Append touching tokens (``co``, ``operate``) to ``result``, with the compounds they form.

    Args:
        result: tokens of the text so far, which are changed.
        tokens: touching tokens, such as ``co``, ``operate``.
        separators: text before each of them, such as ``-``.
    """
    out = result.main
    spelt: list[str] = []
    glued: list[str] = []
    start = len(out)

    def end_word() -> None:
        """Append the parts in ``glued`` to the last word: ``r&d`` becomes ``rd``."""
        if glued:
            out[-1] = "".join([str(out[-1]), *glued])
            spelt[-1] = "".join([spelt[-1], *glued])
            glued.clear()

    def end_compound() -> None:
        """Record the compound word of the tokens since ``start``, if there are several."""
        if len(out) - start > 1:
            result.joined[start] = "".join(spelt), len(out)

    for token, gap in zip(tokens, separators, strict=True):
        text = _spelling(token)
        before = out[-1] if spelt else None
        is_unit = gap == "/" and start > 0 and isinstance(out[start - 1], Token)
        if isinstance(before, str) and isinstance(token, str) and (
            gap == "&" or is_unit or (gap == "'" and before == "o" and not glued)
        ):  # fmt: skip
            glued.append(text)
            continue
        end_word()
        if not spelt or not text or (gap == ". " and not len(spelt[-1]) == len(text) == 1):
            end_compound()
            spelt, start = [text] if text else [], len(out)
            out.append(token)
            continue
        has_letter = gap == "-" and any(
            len(t) == 1 and not t.isdecimal() for t in (text, spelt[-1])
        )
        if has_letter or (gap == "-" and not isinstance(token, str)):
            result.no_start.add(len(out))
        if has_letter:
            result.no_end.add(len(out))
        spelt.append(text)
        out.append(token)
    end_word()
    end_compound()


def _spelling(token: str | Token) -> str:
    """Get a token's spelling within a compound word; empty if it cannot be part of one."""
    if isinstance(token, str):
        return token
    if token.raw:
        return token.raw
    words: list[Key] = [k for k in token.keys if isinstance(k, str)]
    return str(words[0]) if len(words) == 1 else ""
