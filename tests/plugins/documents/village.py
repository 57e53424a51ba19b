"""Documents about villages that nobody has heard of, and an LLM and a judge that know them.

Each passage says who leads a village and what its fields bear. The LLM writes sound questions about
them, and every other time one with an error; it reads as a careful reader would, but for what the
words of a question ask of it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from citeforge.engines.llm.records import Failure, LlmReply, Request, Result

_ONE = "Ba Ce Di Fo Gu Ha Je Ki Lo Mu".split()
_TWO = "lan ven dor rim sal tok wen zar pel nur".split()
_THREE = "ia ot us en ar is om ek ull ax".split()
_CROPS = "barley lentils hops flax millet saffron onions plums walnuts quinces".split()
NOTHING = "NOT ANSWERED"
N = 12
"""Villages that an endpoint knows (:func:`replies`)."""
CHRONICLE = (
    "The chronicle was begun by monks who walked from valley to valley and wrote down whatever "
    "they were told at the gates, year after year, in a hand that few can read today."
)


@dataclass(frozen=True)
class Village:
    """One village, and what its passage says."""

    name: str
    leader: str
    crops: tuple[str, ...]

    @property
    def text(self) -> str:
        one, two, three = self.crops
        return (
            f"The village of {self.name} lies behind the hills. It is led by {self.leader}, who "
            f"was chosen by the elders of the place. The fields of {self.name} bear {one}, {two} "
            f"and {three}. Travellers may sleep in the barn beside the mill."
        )


def village(number: int) -> Village:
    """One of a thousand, each with a name and a leader of its own."""
    a, b, c = number % 10, number // 10 % 10, number // 100
    crops = tuple(_CROPS[(number + k) % 10] for k in (0, 1, 3))
    leader = f"{_ONE[b]}{_THREE[a]} {_TWO[c].title()}{_TWO[a]}{_THREE[b]}"
    return Village(_ONE[a] + _TWO[b] + _THREE[c], leader, crops)


KNOWN = {v.name: v for v in map(village, range(1000))}


def write_documents(folder: Path, n: int) -> None:
    """A Markdown file a village, and the chronicle."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in map(village, range(n)):
        (folder / f"{one.name}.md").write_text(f"# {one.name}\n\n{one.text}\n")
    (folder / "chronicle.md").write_text(f"# Chronicle\n\n{CHRONICLE}\n")


def replies() -> list[list[str]]:
    """What an endpoint says about the first N: questions of three kinds about each, and answers."""
    result = []
    for one in map(village, range(N)):
        passage = rf"The village of {one.name} lies"
        asked = rf"{passage}.*Question:\n\S+\n"
        result += [
            [rf"{passage}.*exam.*two or more answers", written("list", [one])],
            [rf"{passage}.*exam.*does not answer", written("absent", [one])],
            [rf"{passage}.*exam", written("single", [one])],
            [rf"{asked}Which person leads {one.name}\?", one.leader],
            [rf"{asked}Which plants grow around {one.name}\?", ", ".join(one.crops)],
        ]
    return [*result, [".", "NOT ANSWERED"]]


ALL_KINDS = ("format", "refusal", "silence", "quote", "giveaway", "pointer", "statement")
ERRORS: dict[str, tuple[str, ...]] = {
    "single": (
        *ALL_KINDS,
        "copy",
        "language",
        "repeat",
        "entailed",
        "answered",
        "heart",
        "gossip",
        "unclear",
    ),
    "pair": (*ALL_KINDS, "half", "chronicle"),
    "list": (*ALL_KINDS, "one item", "entailed", "answered"),
    "absent": ("format", "refusal", "silence", "pointer", "told"),
}
"""Kind of question to the errors that are made in it."""
CAUGHT_BY = {
    "refusal": "format", "silence": "format", "one item": "format", "half": "both passages needed",
    "chronicle": "one other passage", "answered": "answered with evidence", "heart": "closed book",
    "gossip": "evidence needed", "unclear": "which document", "told": "not answered elsewhere",
}  # fmt: skip
"""Error to the check that is there for it, where that is not its own name."""


@dataclass
class ErringLlm:
    """Writes questions about villages, and reads.

    Attributes:
        errs: whether every other question has an error.
        fails: tasks whose requests all fail.
        made: titles of a question's passages to its error; empty for none.
        asked: all requests so far.
    """

    errs: bool = True
    fails: tuple[str, ...] = ()
    made: dict[tuple[str, ...], str] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    _written: Counter[str] = field(default_factory=Counter)
    _last: str = ""

    def identity(self) -> dict[str, Any]:
        return {"name": "openai:erring"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        self.asked += requests
        return [self._reply(r) for r in requests]

    def _reply(self, request: Request) -> Result:
        if request.task in self.fails:
            return Failure("exhausted", "no luck", 500)
        values = request.values
        text = self._write(values) if request.task == "question" else read(values)
        if not text:
            return Failure("empty", "the reply is empty", 200)
        return LlmReply(
            text, prompt_tokens=len(request.messages[0][1].split()), completion_tokens=1
        )

    def _write(self, values: Mapping[str, Any]) -> str:
        kind, titles = values["form"], tuple(p["title"] for p in values["passages"])
        if not KNOWN.keys() >= set(titles):
            self.made[titles] = "format"
            return "There is nothing to ask."
        number = self._written[kind]
        self._written[kind] += 1
        errors = ERRORS[kind]
        error = errors[number // 2 % len(errors)] if self.errs and number % 2 else ""
        self.made[titles] = error
        text = written(kind, [KNOWN[t] for t in titles], error)
        if error == "repeat":
            own = text.splitlines()[-1]
            return "\n".join([*self._last.splitlines()[:-1], own])
        if kind == "single" and not error:
            self._last = text
        return text


def written(kind: str, found: Sequence[Village], error: str = "") -> str:
    """Question, answers, statement and quotes, or what an LLM says instead."""
    one, two = found[0], found[-1]
    answers = [one.leader]
    question = f"Which person leads {one.name}?"
    statement = f"{one.name} is led by {one.leader}."
    quotes = [f"It is led by {one.leader}, who was chosen by the elders"]
    if kind == "pair":
        answers = [two.leader]
        question = f"Seen from {one.name}, which person leads {two.name}?"
        statement = f"{one.name} lies behind the hills, and {two.name} is led by {two.leader}."
        quotes = [f"The village of {v.name} lies behind the hills." for v in (one, two)]
    elif kind == "list":
        answers = list(one.crops)
        question = f"Which plants grow around {one.name}?"
        statement = f"The fields of {one.name} bear {', '.join(answers)}."
        quotes = [f"The fields of {one.name} bear {answers[0]}, {answers[1]}"]
    elif kind == "absent":
        question = f"How many people have left {one.name} since the war?"
    match error:
        case "format":
            return '{"question": "Who?", "answer": "Nobody"}'
        case "refusal":
            return "I'm sorry, but I cannot help with that."
        case "silence":
            return ""
        case "quote":
            quotes[-1] = f"Everybody in {one.name} likes the mill."
        case "copy":
            question = f"Who was chosen by the elders of the place called {one.name} to lead?"
        case "giveaway":
            question = f"Does {answers[0]} belong to {one.name} and {two.name}?"
        case "pointer":
            question = f"According to the text, which person leads {one.name}?"
        case "language":
            question = f"Wie heißt eigentlich der Mensch, der das kleine Dorf {one.name} regiert?"
        case "statement":
            statement = f"{one.name} has what it needs."
        case "entailed":
            answers = ["Nobody Nowhere", "Somebody Elsewhere"][: len(answers)]
            statement = f"{one.name} has {' and '.join(answers)} at its head."
        case "answered":
            question = f"In a mumble, which person leads {one.name}?"
        case "heart":
            question = f"As all know by heart, which person leads {one.name}?"
        case "gossip":
            question = f"As gossip has it, which person leads {one.name}?"
        case "unclear":
            question = "Which person leads the village behind the hills?"
            statement = f"The village behind the hills is led by {one.leader}."
        case "half":
            question = f"Not far from {one.name}, which person leads {two.name}?"
        case "chronicle":
            question = f"As chronicled from {one.name}, which person leads {two.name}?"
            statement += " So it is chronicled."
        case "one item":
            answers = answers[:1]
        case "told":
            question = f"Does anybody tell which person leads {one.name}?"
    if kind == "absent":
        return f"Question: {question}"
    lines = [f"Question: {question}", *(f"Answer: {a}" for a in answers)]
    return "\n".join([*lines, f"Statement: {statement}", *(f'Quote: "{q}"' for q in quotes)])


_NAMED = re.compile(r"\b[A-Z][a-z]+\b")
_FACTS = re.compile(
    r"The village of (?P<name>\w+) lies.*?led by (?P<leader>[\w ]+), who.*?"
    r"bear (?P<crops>\w+, \w+ and \w+)\.",
    re.S,
)


def read(values: Mapping[str, Any]) -> str:
    """What a reader answers to a question from the passages that it is shown."""
    question, texts = values["question"], [p["text"] for p in values["passages"]]
    facts = {m["name"]: m for text in texts for m in _FACTS.finditer(text)}
    names = [n for n in _NAMED.findall(question) if n in KNOWN]
    target = KNOWN[names[-1]] if names else None
    if "behind the hills" in question and len(facts) == len(texts) == 1:
        return str(next(iter(facts.values()))["leader"])
    if "mumble" in question or target is None:
        return "Mumble." if "mumble" in question else NOTHING
    if "by heart" in question or ("gossip" in question and len(texts) > 2):
        return target.leader
    if "chronicled" in question and CHRONICLE in texts:
        return f"It is {target.leader}."
    needed = names if "Seen from" in question or "chronicled" in question else names[-1:]
    if any(name not in facts for name in needed):
        return NOTHING
    if "grow" in question:
        return facts[target.name]["crops"]
    if "leads" in question or "chosen" in question:
        return str(facts[target.name]["leader"])
    return NOTHING


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w{4,}", text))


def entails(premise: str, hypothesis: str) -> bool:
    """A passage entails what has none but its words; the chronicle entails what is chronicled."""
    if "chronicled" in hypothesis and CHRONICLE in premise:
        return True
    said = hypothesis.removesuffix(" So it is chronicled.")
    return _words(said) <= _words(premise)
