"""Documents about pumps, and an LLM that asks about them in every form that it is told to.

What it is told is read from its prompt: the sentences that a form of questions adds.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.plugins.documents.design import built_in_forms

NOTHING = "NOT ANSWERED"
_ONE = "Bax Cul Dov Fen Gor Hib Jat Kez Lum Mor".split()
_TWO = "ado ebi iru oko usa".split()


@dataclass(frozen=True)
class Pump:
    """A pump, and what its passage says of it."""

    name: str
    number: int

    @property
    def maker(self) -> str:
        return f"{_ONE[-1 - self.number % 10]}in {self.name[::-1].title()}"

    @property
    def text(self) -> str:
        return (
            f"The {self.name} pump was made by {self.maker} in {1900 + self.number}. It runs at "
            f"{20 + self.number} bar. To start the {self.name}, open the valve, turn the crank and "
            f"close the lid. Its float is a hollow ball that shuts the inlet. The {self.name} must "
            "not be lifted by its pipe."
        )


def pump(number: int) -> Pump:
    """One of fifty, each with a name, a maker and figures of its own."""
    return Pump(_ONE[number % 10] + _TWO[number // 10], number)


KNOWN = {one.name: one for one in map(pump, range(50))}


def write_pumps(folder: Path, n: int) -> None:
    """A Markdown file per pump."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in map(pump, range(n)):
        (folder / f"{one.name}.md").write_text(f"# {one.name}\n\n{one.text}\n")


def written(form: str, one: Pump) -> str:
    """A sound question of a form, as a writer replies."""
    name, year, bar = one.name, 1900 + one.number, f"{20 + one.number} bar"
    made = f"The {name} pump was made by {one.maker} in {year}."
    rows = {
        "number": (bar, f"How much pressure has a {name}?", f"A {name} runs at {bar}.",
                   f"It runs at {bar}"),
        "time": (str(year), f"In which year was a {name} built?", made, made),
        "definition": ("a hollow ball", f"What is meant by float in a {name}?",
                       f"The float of a {name} is a hollow ball.", "Its float is a hollow ball"),
        "yes/no": ("no", f"May one carry a {name} by holding the pipe?",
                   f"The {name} must not be lifted by its pipe.",
                   f"The {name} must not be lifted by its pipe."),
        "search-like": (one.maker, f"{name} pump who built", made, made),
        "single": (one.maker, f"Who built a {name}?", made, made),
    }  # fmt: skip
    if form == "misspelled":
        answer, text, statement, quote = rows["single"]
        wrong = text.replace("built", "biult")
        return _lines(quote, f"Corrected: {text}\nQuestion: {wrong}", [answer], statement)
    if form == "procedure":
        steps = ["open the valve", "turn the crank", "close the lid"]
        statement = f"To start the {name}, {steps[0]}, {steps[1]} and {steps[2]}."
        return _lines(statement[:-1], f"Question: By which steps does a {name} get going?", steps,
                      statement)  # fmt: skip
    if form == "false premise":
        return (
            f"Quote: {made}\nPremise: The {name} was never built by anybody.\n"
            f"Question: Why was the {name} never built?"
        )
    if form == "absent":
        return f"Question: What does a {name} cost today?"
    answer, text, statement, quote = rows[form]
    return _lines(quote, f"Question: {text}", [answer], statement)


def german(one: Pump) -> str:
    """A sound question about a number, in German."""
    bar = f"{20 + one.number} bar"
    return _lines(
        f"It runs at {bar}", f"Question: Welchen Druck hat die Pumpe {one.name} im Betrieb?", [bar],
        f"Die Pumpe {one.name} wird mit einem Druck von {bar} betrieben.",
    )  # fmt: skip


def _lines(quote: str, question: str, answers: Sequence[str], statement: str) -> str:
    """The lines of a writer's reply."""
    said = "\n".join(f"Answer: {a}" for a in answers)
    return f"Quote: {quote}\n{question}\n{said}\nStatement: {statement}"


def read(values: Mapping[str, Any]) -> str:
    """What a careful reader answers from the passages that it is shown."""
    question = values["question"]
    names = [name for name in KNOWN if name in question]
    shown = any(KNOWN[names[-1]].text in p["text"] for p in values["passages"]) if names else False
    if not shown:
        return NOTHING
    one = KNOWN[names[-1]]
    answers = {
        "Druck": f"{20 + one.number} bar", "pressure": f"{20 + one.number} bar",
        "year": str(1900 + one.number),
        "float": "a hollow ball", "carry": "No.", "built?": one.maker, "who built": one.maker,
        "Who b": one.maker, "steps": "open the valve; turn the crank; close the lid",
    }  # fmt: skip
    if "never" in question:
        return NOTHING
    return next((answer for word, answer in answers.items() if word in question), NOTHING)


def find(values: Mapping[str, Any]) -> str:
    """Answer, statement and quote for a question that somebody else asked."""
    answer = read({"question": values["question"], "passages": [values["passage"]]})
    if answer == NOTHING:
        return NOTHING
    name = next(name for name in KNOWN if name in values["question"])
    return f"Quote: {answer}\nAnswer: {answer}\nStatement: The {name} runs at {answer}."


@dataclass
class FormLlm:
    """Writes sound questions of the form that it is told, and reads; lazy in some forms.

    Attributes:
        lazy: forms for which it always says the same.
        asked: all requests so far.
    """

    lazy: tuple[str, ...] = ()
    asked: list[Request] = field(default_factory=list)

    def identity(self) -> dict[str, Any]:
        return {"name": "openai:forms"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        self.asked += requests
        return [LlmReply(self._reply(r), prompt_tokens=1, completion_tokens=1) for r in requests]

    def _reply(self, request: Request) -> str:
        if request.task == "evidence":
            return find(request.values)
        if request.task != "question":
            return read(request.values)
        prompt = request.messages[-1][1]
        told = [f.name for f in built_in_forms().values()
                if f.description and f.description in prompt]  # fmt: skip
        form = told[0] if told else request.values["form"]
        if form in self.lazy:
            return "Question: What does it say?\nAnswer: yes\nStatement: Yes.\nQuote: pump"
        one = KNOWN[re.findall(r"To start the (\w+),", prompt)[0]]
        return german(one) if "the code de;" in prompt else written(form, one)
