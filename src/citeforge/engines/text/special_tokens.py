"""Special tokens in foreign text: written so that no tokenizer reads them as such.

A tokenizer that parses special tokens in all of a prompt lets a quoted text end its turn and open
another one. The list of ``data/special_tokens.toml`` has the tokens of the common families; further
ones are found by their form (:data:`_FORMS`).
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from citeforge.schemas.invisible import is_invisible
from citeforge.schemas.lookalikes import latin_letters

_BARS = "|¦│∣ǀ"
_QUOTE_TAG = r"<(?=\s*(?:/\s*)?quote)"
"""Beginning of a delimiter of :class:`~citeforge.engines.text.quoting.Quotes`."""
_TOKEN_WORDS = (
    "tokens?|reserved|unused|unk|[be]o[acdhmst]|sep|cls|pad|mask|turn|assistant|fim|soft|special|sys"
    "|inst|placeholder|(?:start|begin|end)_of"
)
"""Words that a special token has among the words of its name; ``_`` is between them."""
_TOKEN_NAME = (
    rf"(?=\w{{0,60}}_)(?:[a-z0-9]{{1,20}}_){{0,4}}_?(?:{_TOKEN_WORDS})(?:_?\d+)?(?:_\w{{1,60}})?"
)
_CAPITALS = r"(?-i:[A-Z]+(?:_[A-Z0-9]+){1,8})"
_FORMS = (
    rf"<(?=\s*[{_BARS}])|\[(?=[{_BARS}])",  # <|im_end|>, [|user|]
    rf"<(?=/?[a-z]\w{{0,60}}[{_BARS}]>)",  # <turn|>
    rf"<(?=\[?/?{_TOKEN_NAME}\]?>)",  # <reserved_106>, <end_of_x>, <[begin_of_x]>
    rf"<(?=/?{_CAPITALS}>)",  # <META_END>
    rf"\[(?=/?{_CAPITALS}\])(?=/?{_TOKEN_NAME}\])",  # [UNUSED_TOKEN_7]
    r"<(?=/?(?-i:_[a-z][a-z0-9_]{0,60})>)",  # <_user>
    r"<(?=</?(?-i:[A-Z][A-Z_]{1,60})>>)",  # <<SYS>>
    r">(?=>(?-i:[A-Z][A-Z_]{1,60})<<)",  # >>SUMMARY<<
    r"<(?=/?[be]o[acdehimpqst]>)",  # <eoh>, <bos>
    r"<(?=0x[0-9a-f]{2}>)",  # <0x0A>
)
"""Forms that special tokens have; prose and HTML have none, and of code names in capitals alone."""
_ENTITY = re.compile(r"&(?:(?P<less>lt|LT|#0*60|#[xX]0*3[cC])|gt|GT|#0*62|#[xX]0*3[eE]);?")
_HARMLESS = {"<": "‹", ">": "›", "[": "⁅", "]": "⁆", "|": "¦"}
"""First characters of special tokens, and what is written in their place."""


def break_special_tokens(text: str, extra_tokens: Iterable[str] = ()) -> str:
    """Replace the first character of each special token and quote tag in a text by a look-alike.

    Tokens are also found in compatibility forms (NFKC), with invisible characters between theirs,
    in any case, and with letters of other scripts; ``&lt;`` counts as ``<``, and ``▁`` as ``_``.

    Args:
        text: foreign text.
        extra_tokens: further special tokens, such as those of the model's own tokenizer.
    """
    shown, offsets = _read_leniently(text)
    pattern = _compile_pattern(tuple(extra_tokens))
    starts = [match.start() for match in pattern.finditer(shown)]
    if not starts:
        return text
    pieces: list[str] = []
    done = 0
    for start in starts:
        first = offsets[start]
        if first < done:  # a second match in what one character or entity stands for
            continue
        entity = _ENTITY.match(text, first)
        pieces += text[done:first], _HARMLESS.get(shown[start], "‹")
        done = entity.end() if entity else first + 1
    return "".join([*pieces, text[done:]])


@cache
def special_tokens() -> dict[str, list[str]]:
    """Read the special tokens of each family of models."""
    path = Path(__file__).parent / "data" / "special_tokens.toml"
    families = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: family["tokens"] for name, family in families.items()}


@cache
def _compile_pattern(extra_tokens: tuple[str, ...]) -> re.Pattern[str]:
    """Compile the pattern that finds special tokens and quote tags, by their first characters.

    A match is that character alone: replacing it breaks the token.

    Args:
        extra_tokens: further special tokens.
    """
    listed = {token for tokens in special_tokens().values() for token in tokens}
    tokens = sorted(
        {_read_leniently(token)[0] for token in listed | set(extra_tokens) if token.strip()}
    )
    rests: dict[str, list[str]] = {}
    for token in tokens:
        rest = re.sub(r"\d+", lambda _: r"\d+", re.escape(token[1:]))
        rests.setdefault(token[0], []).append(rest)
    listed_pattern = (f"{re.escape(c)}(?={'|'.join(rest)})" for c, rest in rests.items())
    return re.compile("|".join((_QUOTE_TAG, *_FORMS, *listed_pattern)), re.IGNORECASE)


def _read_leniently(text: str) -> tuple[str, Sequence[int]]:
    """Replace look-alikes and entities, drop invisible characters: (text, original offsets)."""
    if text.isascii() and "&" not in text:
        return text, range(len(text))
    shown: list[str] = []
    offsets: list[int] = []
    at = 0
    while at < len(text):
        entity = _ENTITY.match(text, at) if text[at] == "&" else None
        seen = (">", "<")[bool(entity["less"])] if entity else _normalise_character(text[at])
        shown.append(seen)
        offsets += [at] * len(seen)
        at = entity.end() if entity else at + 1
    return "".join(shown), offsets


@cache
def _normalise_character(character: str) -> str:
    """Replace a character by the Latin letters that it looks like; empty if it is invisible."""
    return "" if is_invisible(character) else latin_letters(character).replace("▁", "_")
