"""Steps of a model that writes an answer with check or search steps (ALCE, 3.1, appendix C)."""

import re
from dataclasses import dataclass
from typing import Literal

Verb = Literal["check", "search", "output", "end", "other"]

_VERB = re.compile(r"\W{0,3}(check|search|output|end)\b[\s*_]*:?[\s*_]*", re.IGNORECASE)
_NUMBER = re.compile(r"\[\s*(\d{1,9})")
_NAMED = re.compile(r"\W{0,9}documents?:? ?(?:\[\d{1,9}\](?:[ ,&.*]|and\b)*)+", re.IGNORECASE)
_ABSTAINS = re.compile(
    r"sorry\b.*\brelevant (?:document|information)|none of the documents", re.IGNORECASE
)


@dataclass(frozen=True)
class Action:
    """One step of a model that writes an answer step by step.

    Attributes:
        verb: kind of step; ``other`` where the reply is no step.
        text: sentence of the answer, words to search for, or documents to check.
        line: the step as the next prompt shows it.
    """

    verb: Verb
    text: str
    line: str

    @property
    def numbers(self) -> list[int]:
        """Document numbers in brackets, such as ``[2]``, in order, each once."""
        return [int(n) for n in dict.fromkeys(_NUMBER.findall(self.text))]


def read_action(reply: str, forced: bool = False, bare: bool = False) -> Action:
    """Parse the first line of a model's reply as a step: check, search, output, end or other.

    Args:
        reply: text of the model's reply.
        forced: whether the prompt ended with ``Output:``, so that the reply is a sentence.
        bare: whether a line that names no step counts as a sentence, or as a check where it
            only names documents, as small models write.
    """
    line = next((x.strip() for x in reply.splitlines() if x.strip()), "")
    match = _VERB.match(line)
    verb = match[1].lower() if match else None
    rest = line[match.end() :].strip() if match else line
    if verb == "end" and rest.strip(" .!*_"):
        verb, rest = None, line  # a sentence that happens to begin so
    if bare and not forced and verb is None and _NAMED.fullmatch(line):
        return Action("check", line, f"Check: {line}")
    if (forced and verb in (None, "output")) or (bare and verb is None):
        if _ABSTAINS.search(line) or not rest:
            return Action("end" if not rest else "other", "", line)
        return Action("output", rest, f"Output: {rest}")
    if verb is None or _ABSTAINS.search(line):
        return Action("other", "", line)
    if verb == "end":
        return Action("end", "", "End")
    text = f"{verb.capitalize()}: {rest}"
    return Action(verb, rest, text)  # type: ignore[arg-type]
