"""Forms of marks: the regular expressions of the strict grammar.

:data:`OPENER` finds where a mark, or what hides marks, may begin; :func:`all_forms` says what is
there, by the name of its group. Class escapes such as ``\\d`` take the digits of all scripts.
"""

import re
from functools import cache

from citeforge.schemas.citations.words import (
    AND,
    alternatives,
    is_label,
    may_stand_in_mark,
    words_of,
)
from citeforge.schemas.invisible import INVISIBLE, WORD_JOINER

_NUMBER = r"\d{1,30}"
# White space is possessive, and stands once between two parts: else these would be quadratic.
_SPACE = rf"[\s{INVISIBLE.replace(WORD_JOINER, '')}]*+"
_DASH = r"[-\u2010-\u2015\u2212\uff0d\uff5e\u301c~]"
_TO = rf"(?:\s*+{_DASH}\s*+|\s++(?:{alternatives(words_of('ranges'))})\s++|\s*+至\s*+)"
_WORD = (
    r"[^\d\s,;:：、，；，|/・&#_.^\[\](){}（）†*<>=+\"'`"
    r"\u060c\u061b\u2010-\u2015\u2212\uff0d\uff5e\u301c~-]{1,20}+"
)
_WORDS = rf"(?:{_WORD}\s*+(?:[:：#_.|]{{1,2}}+|-(?=\d))?+\s*+)"
_UP_TO = rf"(?:{_TO}(?:{_WORD}\s*+)?#?"
_RANGE = rf"#?{_NUMBER}{_UP_TO}{_NUMBER})?"
_JOINED = (
    rf"(?:\s*+(?:[,;，、；،|・&]|(?<=\s)/(?=\s))\s*+{_WORDS}{{0,3}}|\s*+{_WORDS}{{1,3}}"
    r"|[ ](?=\d{1,2}(?!\d)))"
)
# `: Title`, and the stop of `[5.]`.
_TAIL = (
    r"(?:\s*+[:：]\s*+(?=[^\W\d_])[^\[\]【】()（）\n]{1,120}"
    r"|\.(?=\s*+\W|\Z))?"
)
_FLAGS = re.IGNORECASE | re.DOTALL
_BODY = re.compile(
    rf"{_SPACE}\^?\s*+(?P<items>{_WORDS}{{0,4}}{_RANGE}(?:{_JOINED}{_RANGE})*)"
    rf"(?:参照|参考|より|による|[篇段条條号號番]|(?:\.|번)\s*+(?P<behind>{_WORD}))?"
    rf"{_TAIL}[,;，；]?\^?{_SPACE}",
    _FLAGS,
)
_PAGE = re.compile(
    rf"\s*+,\s*+(?:{alternatives(words_of('pages'))})\s*+\d+(?:\s*+[-–]\s*+\d+)?\s*+\Z",
    re.IGNORECASE,
)
_ANY_WORD = re.compile(_WORD)
_RANGE_WORDS = frozenset((*words_of("ranges"), "至"))
INNER = re.compile(r"\[([^\[\]]*)\]")
_INSIDE = r"[^\[\]【】［］〔〕〖〗⟦⟧{}()（）]{1,200}"


def read_mark_items(body: str, *, needs_label: bool = False) -> str | None:
    """Get a bracket's numbers (``1, 3-5``); None if no citation or a needed label is missing.

    Args:
        body: text between the brackets.
        needs_label: whether a word such as "Document" is required, as in round brackets.
    """
    if "," in body:
        body = _PAGE.sub("", body)
    if (match := _BODY.fullmatch(body)) is None:
        return None
    words = _ANY_WORD.findall(f"{match['items']} {match['behind'] or ''}".lower())
    before = re.split(r"\d", match["items"], maxsplit=1)[0].lower().split()
    are_known = all(may_stand_in_mark(word) or word in _RANGE_WORDS for word in words)
    if not are_known or not AND.isdisjoint(before):  # `[a1]` is none
        return None
    is_counted = any(word.endswith("第") for word in words) and body.rstrip()[-1] in "段篇"
    return None if needs_label and not (is_counted or any(map(is_label, words))) else match["items"]


def is_introduction(text: str) -> bool:
    """Whether a text may precede citation marks in round brackets: ``see`` in ``(see [4])``."""
    return all(may_stand_in_mark(word.lower()) for word in _ANY_WORD.findall(text))


_DIGITS = r"\s*+\d{1,3}(?:\s*+(?:,|;|-|–)\s*+\d{1,3})*\s*+"

# What hides marks. A bracket belongs to a URL only when the URL goes on behind it.
_HIDDEN = (
    r"(?P<hidden>```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`"
    r"|https?://[^\s<>\"\[\]【】]*(?:\[[^\[\]\s]*\][\w/?=&%#~+-][^\s<>\"\[\]【】]*)*"
    r"|\[[^\[\]\n]*\]\((?:[^()\s]|\([^()\s]*\))+\))"
)
_TARGET = r"\((?:[^()\s]|\([^()\s]*\))+\)"
# A link to a passage, `[Bridges](doc:5)`, or one that is named like a passage, `[source 5](…)`.
_PASSAGE_LINK = (
    rf"(?<![\w\])!])\[(?P<words>[^\[\]\n\d]{{1,80}})\]\(#?(?P<link>[^()\s\d/.]{{0,20}}\d{{1,3}})\)"
    rf"|[(（]?\[(?P<link_name>[^\W\d_]{{2,20}} \d{{1,3}})\]{_TARGET}[)）]?"
)
_NUMBERED_LINK = rf"\[\^?\d{{1,3}}\]{_TARGET}"
_DOUBLE = rf"\[(?P<double>\[{_INSIDE}\](?:[\s,;]*\[{_INSIDE}\])*)\](?:{_TARGET})?"
# Marks in round brackets, with or without a word: `(see [4])`, `([1], [2])`.
_IN_ROUND = (
    rf"[(（](?P<before>[^\[\]()（）\d\n]{{0,30}})(?P<wrapped>\[{_INSIDE}\](?:[\s,;]*\[{_INSIDE}\])*)"
    r"\s*+[)）]"
)
_SUP, _END_SUP = r"<sup\b[^<>]{0,99}>\s*+(?:<a\s[^<>]{1,200}>)?", r"(?:</a>)?\s*+</sup>"
_CITING = "cite|ref|citation|source|document|doc|passage|citations|reference|chunk|snippet|context"
_MARKS = (
    rf"\[(?P<from>\d{{1,3}})\]{_DASH}\[(?P<to>\d{{1,3}})\]"
    r"|\[ID\s*+[:：]\s*+(?P<ids>\d{1,3}(?:\s*+[,，]\s*+(?:ID\s*+[:：]\s*+)?\d{1,3})*)\s*+\]"
    r"|[(（]ID\s*+[:：]\s*+(?P<round_ids>\d{1,3}(?:\s*+[,，]\s*+(?:ID\s*+[:：]\s*+)?\d{1,3})*)\s*+[)）]"
    rf"|\[REF\](?P<ref>{_DIGITS})\[/REF\]|%\[(?P<percent>{_DIGITS})\]%"
    r"|\[\s*+(?P<na>NA)\s*+\]"
    rf"|(?:\^\{{?)?\[(?P<square>[^\[\]]{{1,200}})\](?:(?<=\])[\}}^](?=\W|\Z))?"
    rf"|[［【〔〖⟦](?P<wide>{_INSIDE}?)(?:†[^【】\n]{{0,200}})?[］】〕〗⟧]"
    rf"|[(（「『《〈](?P<named>{_INSIDE})[)）」』》〉]|\{{\{{?(?P<brace>{_INSIDE})\}}?\}}"
    rf"|{_SUP}[\[(](?P<sup>{_DIGITS})[\])]{_END_SUP}|{_SUP}(?P<raised>{_DIGITS}){_END_SUP}"
    rf"|<(?P<empty>{_CITING})\s++(?:(?:doc|document|source|cite)?_?(?:id|index)|num|number|doc|source)\s*+="
    r"\s*+[\"']?(?P<attribute>\d{1,3})[\"']?\s*+(?:/>|>\s*+</(?P=empty)>)"
    rf"|<(?:{_CITING}|span\s[^<>]{{0,40}}\bcit(?:e|ation)s?\b[^<>]{{0,40}})>\s*+\[?(?P<tag>{_DIGITS})\]?\s*+</\w+>"
    rf"|(?<!\w)<(?:{_CITING})[:_-]?\s*+(?P<glued>\d{{1,3}})\s*+/?>"
    rf"|\\footnote\{{(?P<tex_note>(?:passage |document |source )?{_DIGITS})\}}"
    rf"|\\footnotemark\[(?P<tex_mark>{_DIGITS})\]|::?cite[\[{{](?P<directive>{_DIGITS})[\]}}](?:::)?"
    r"|\\(?:cite[a-z]*|autocite|parencite|textcite|footcite)(?:\[[^\[\]\n]{0,99}\]){0,2}"
    rf"\{{(?P<tex>[^{{}}\n]{{1,200}})\}}"
    rf"|&(?:#91|#x5b|lsqb|lbrack);(?P<entity>{_INSIDE})&(?:#93|#x5d|rsqb|rbrack);|##(?P<ragflow>\d{{1,3}})\$\$|\^(?P<caret>\d{{1,2}})\^"
    rf"|<(?:{_CITING})\s(?P<other_tag>[^<>\n]{{0,99}}?\d[^<>\n]{{0,99}})>"
    r"|(?P<super>[⁽]?[⁰¹²³⁴-⁹]+(?:[,˒‚⸴،·⁻–-]?[⁰¹²³⁴-⁹]+)*[⁾]?)(?![⁺⁻ⁿ])|(?P<circled>[①-⑳])"
)
_ANCHOR = r"\[\^?(?P<anchor>\d{1,3})\]\(#[^()\s]{0,99}\)"
# Citations of what was not shown here: they are counted, and are no text.
_RESIDUE = (
    rf"(?P<residue>[(（]\s*{_NUMBERED_LINK}(?:[,;\s]+{_NUMBERED_LINK})*\s*[)）]|{_NUMBERED_LINK}"
    r"|【\d{1,3}:\d{1,3}†[^【】\n]{0,200}】|\[\d{1,3}:\d{1,3}†[^\[\]\n]{0,200}\]"
    r"|:contentReference\[oaicite:\d+\](?:\{index=\d+\})?|\[oaicite:\d+\](?:\{index=\d+\})?"
    r"|\ue200[^\ue201]{0,500}\ue201|[\ue200-\ue21f]++(?:(?:file)?cite[\ue200-\ue21f])?+"
    r"|[\[【(](?:turn\d{1,3}[a-z]{2,12}\d{1,3}[,;\s]*+)++[\]】)]"
    r"|(?:(?:file)?cite|(?<![^\W_]))(?:turn\d{1,3}[a-z]{2,12}\d{1,3})+"
    r"|[<(]cite\s+index\s*=\s*\"[^\"\n]{0,200}\"\s*>|<co(?::\s*[\d,\s]{1,60})?>"
    r"|<\|(?:cite|ref|source|doc)\w*\|>|<grok:render\b.{0,600}?</grok:render>"
    r"|<grok-card\b.{0,600}?(?:/>|</grok-card>)|<(?:\|\d{1,3}\||fact_\d{1,3})>|`\[\d{1,3}\]`(?=\s*+(?:[.!?]|\Z))"
    r"|&lt;(?:cite|ref|source|(?<=[.,;!?]&lt;)sup)&gt;\[?\d{1,3}\]?&lt;/\w+&gt;)"
    r"|(?P<token>\[cite_(?:start|end)\])"
)
# Neither marks nor words.
_ATTRIBUTE = r"\s+[\w:-]+\s*=\s*(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'<>=]+)"
_TAGS = (
    r"p|br|li|ul|ol|div|tr|td|th|table|thead|tbody|h[1-6]|b|i|em|strong|u|span|a|sup|sub|hr|small|mark|"
    r"blockquote|answer|response|final"
)
_NOISE = (
    rf"(?P<noise><!--.*?(?:-->|\Z)|<\|[a-z][a-z0-9_]{{1,30}}\|>|<｜[^<>\n]{{1,40}}｜>|</?s>|<end_of_turn>|<eos>"
    rf"|(?<!\w)<(?:{_CITING}|statement|claim)(?:{_ATTRIBUTE})*\s*/?>"
    rf"|<(?:{_TAGS})(?:{_ATTRIBUTE})*\s*/?>|</(?:{_TAGS}|{_CITING}|statement|claim)\s*>|</(?:co(?::[^<>\n]{{0,60}})?|(?:{_CITING})[:_-]?\d{{1,3}})>)"
)
BLOCK_TAG = re.compile(r"</?(?:p|br|li|ul|ol|div|tr|table|h[1-6]|blockquote|hr)\b", re.IGNORECASE)
"""Noise that ends a line."""
# Maths: what stands in dollars, and `\\(…\\)`, `\\[…\\]`. Brackets there are glued to a name.
_MATHS = (
    r"\$\$.{1,500}?\$\$|\$(?=[^\s$])[^$\n]{1,200}(?<=\S)\$(?!\d)"
    r"|\\\(.{1,500}?\\\)|\\\[.{1,500}?\\\]"
)
_DOLLAR = rf"(?:\$|\\\()\^\{{?\[?(?P<dollar>{_DIGITS})\]?\}}?(?:\$|\\\))"
_ESCAPED = rf"\\{{1,4}}\[(?P<escaped>{_INSIDE}?)\\{{1,4}}\]"
_ALL = "|".join(
    (
        _ANCHOR,
        _RESIDUE,
        _DOUBLE,
        _IN_ROUND,
        _PASSAGE_LINK,
        _HIDDEN,
        _ESCAPED,
        _DOLLAR,
        f"(?P<maths>{_MATHS})",
        _MARKS,
        _NOISE,
    )
)
# Alternatives that begin with one character each: only then is the search fast.
_STARTS = (
    *"[【［(（〔〖⟦「『《〈{<^$`", "\\\\", "~~~", "##", "%[",
    "http", "HTTP", "citeturn", "filecite", ":contentRef", ":cite", "::cite", "&",
    *(f"turn{n}" for n in range(10)), *"⁽⁰¹²³⁴⁵⁶⁷⁸⁹",
    *map(chr, range(ord("①"), ord("⑳") + 1)), *map(chr, range(0xE200, 0xE220)),
)  # fmt: skip
OPENER = re.compile("|".join(re.escape(s.replace("\\\\", "\\")) for s in _STARTS))
"""Where something may begin that :func:`all_forms` knows."""


@cache
def all_forms() -> re.Pattern[str]:
    """Compile the regular expression that matches citation marks of every kind, once."""
    return re.compile(_ALL, _FLAGS)


RANGES = re.compile(rf"({_NUMBER}){_UP_TO}({_NUMBER}))?", re.IGNORECASE)
SUSPECT = re.compile(
    r"\[(?!\d{1,3}[A-Z][a-z]?\][A-Za-z])[^\[\]\n]{0,80}\d[^\[\]\n]{0,80}\](?![a-z])"
    r"|【[^【】\n]{0,80}\d[^【】\n]{0,80}】"
    r"|［[^［］\n]{0,80}\d[^［］\n]{0,80}］|(?<![\w\\]){\d{1,2}}"
    r"|⟨\d{1,2}⟩|《\d{1,2}》|＜\d{1,2}＞"
    r"|\[[一二三四五六七八九十、，]{1,9}\]"
    # Roman numbers; `[I]` and `[X]` only where a mark may stand: they are words and crosses, too.
    r"|\[(?:V|[IVX]{2,5}|[IX](?=\]\s*(?:[.,;:!?)\[]|\Z)))\](?!\w)"
)
"""Brackets that look like a mark."""
FREE_BRACKET = re.compile(r"(?:^|[^\w{}\])'^])\s*[\[【［]")
DEFINITION = re.compile(
    r"[ \t>*•–-]*+(?:\[\^?(?P<mark>\d{1,3})\^?\]|(?P<bare>\d{1,3})[.)])\s*+:?\s*+"
    rf"(?P<label>{_WORDS}{{0,3}})(?P<bracket>\[?)(?P<number>\d{{1,3}})(?!\d)"
)
"""An entry of a reference list that may be a passage: ``[^1]: Passage 5``."""
CIRCLED_RUN = re.compile("[①-⑳]+")
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹˒‚⸴،·⁻", "0123456789,,,,,-", "⁽⁾")
"""Superscripts as plain text."""


def without_last_space(text: str) -> str:
    """Remove spaces at the end of a text, also TeX's ``~``, but not the end of ``~~struck~~``."""
    text = text.rstrip(" \t")
    if text.endswith("~") and not text.endswith("~~"):
        return text[:-1].rstrip(" \t")
    return text
