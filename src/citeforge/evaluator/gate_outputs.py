"""Outputs of a gate decision: for terminals, pull requests, and readers of JUnit XML or JSON."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from xml.etree import ElementTree

from citeforge.engines.files import write_text
from citeforge.engines.markdown import markdown_text
from citeforge.engines.report_table import Table
from citeforge.evaluator.gate import Decision
from citeforge.evaluator.gate_rows import FAIL, NOT_RUN, OPEN, PASS, Row
from citeforge.evaluator.table import folded_note
from citeforge.schemas.errors import CiteforgeError, InputError
from citeforge.schemas.signature import joined_signatures

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable of GitHub Actions: the file whose Markdown is shown with a job."""
OUTPUT = "GITHUB_OUTPUT"
"""Variable of GitHub Actions: the file with the outputs of a step, which later steps read."""
_WORDS = {PASS: "pass", FAIL: "fail", OPEN: "unclear", NOT_RUN: "error"}
_GROUPS = {
    "run": "why the gate could not run",
    "files": "score files",
    "critical": "critical: shown not to fall by more than the margin",
    "supporting": "supporting: not shown to fall",
    "advisory": "advisory: decides nothing",
    "required": "required queries",
    "counts": "counts",
}
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def could_not_run(error: Exception) -> Decision:
    """Make the decision that gives an error as the reason why nothing could be decided."""
    is_expected = isinstance(error, CiteforgeError | OSError)
    reason = str(error) if is_expected else f"{type(error).__name__}: {error}"
    return Decision(NOT_RUN, [Row("gate", "run", NOT_RUN, reason)], [], [])


def to_text(decision: Decision, width: int | None = None) -> str:
    """Write a decision as text: one sentence per row, under the heading of its group.

    Args:
        decision: the decision.
        width: of the terminal; None where lines may be of any length.
    """
    lines = [*folded_note(decision.headline, width)]
    for group, rows in groupby(decision.rows, key=lambda row: row.group):
        lines += ["", _GROUPS[group]]
        for row in rows:
            lines += wrap(
                _sentence(row), width or 10**6, initial_indent=f"  {_word(row):<9}",
                subsequent_indent=" " * 11, break_on_hyphens=False,
            )  # fmt: skip
    notes = _notes(decision)
    lines += ["", *(line for note in notes for line in folded_note(note, width))] if notes else []
    return "\n".join(lines)


def _notes(decision: Decision) -> list[str]:
    """List a decision's notes, and the signatures (settings) of its scores, one per line."""
    recipes = [f"signature: {s}" for s in joined_signatures(decision.signatures)]
    return [*(f"note: {note}" for note in decision.notes), *recipes]


def _word(row: Row) -> str:
    """Return a row's verdict as a word; a dash for an advisory row, which decides nothing."""
    return _WORDS[row.verdict] if row.decides else "–"


def to_markdown(decision: Decision) -> str:
    """Write a decision as Markdown for a pull request: verdict, table and all sentences.

    Names in it have no effect: no markup, no links, no mentions.
    """
    head = ("", "measure", "tier", "baseline", "new", "difference", "95 % interval", "allowed", "n")
    rows = [
        (_word(r), r.name, r.group, _number(r.baseline), _number(r.new),
         _number(r.difference, "+"),
         "–" if r.low is None else f"[{_number(r.low, '+')}, {_number(r.high, '+')}]",
         "–" if r.allowed is None else f"−{r.allowed:.2f}", f"{r.n:,}")
        for r in decision.rows if r.difference is not None
    ]  # fmt: skip
    parts = [f"### citeforge gate: {decision.verdict}", markdown_text(decision.headline)]
    parts += [Table(head, rows, left=3).markdown()] if rows else []
    for group, of_group in groupby(decision.rows, key=lambda row: row.group):
        sentences = (f"- {_word(r)}: {markdown_text(_sentence(r))}" for r in of_group)
        parts += [f"**{_GROUPS[group]}**", "\n".join(sentences)]
    if notes := _notes(decision):
        parts += ["**notes**", "\n".join(f"- {markdown_text(note)}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def _sentence(row: Row) -> str:
    """Write a row's sentence, preceded by what tells its score file from others, if anything."""
    return f"{row.place}: {row.sentence}" if row.place else row.sentence


def _number(value: float | None, sign: str = "") -> str:
    """Format a number with two decimals; a dash for None."""
    return "–" if value is None else f"{value:{sign}z.2f}"


def to_junit(decision: Decision) -> str:
    """Write a decision as JUnit XML: a test case per row; undecided ones are errors.

    The notes are the output of the suite.
    """
    suites = ElementTree.Element("testsuites")
    verdicts = [row.verdict for row in decision.rows if row.decides]
    suite = ElementTree.SubElement(
        suites, "testsuite", name=_replace_invalid(decision.headline),
        tests=str(len(decision.rows)), failures=str(verdicts.count(FAIL)),
        errors=str(verdicts.count(OPEN) + verdicts.count(NOT_RUN)), skipped="0",
    )  # fmt: skip
    for row in decision.rows:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"citeforge.gate.{row.group}",
            name=_replace_invalid(row.name),
        )
        tag = (
            {FAIL: "failure", OPEN: "error", NOT_RUN: "error"}.get(row.verdict)
            if row.decides
            else None
        )
        if tag is None:
            ElementTree.SubElement(case, "system-out").text = _replace_invalid(row.sentence)
        else:
            ElementTree.SubElement(
                case, tag, type=row.verdict, message=_replace_invalid(row.sentence)
            )
    if notes := _notes(decision):
        ElementTree.SubElement(suite, "system-out").text = _replace_invalid("\n".join(notes))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _replace_invalid(text: str) -> str:
    """Replace the characters of a text that XML cannot hold."""
    return _NO_XML.sub("\ufffd", text)


def to_json(decision: Decision) -> str:
    """Write a decision as JSON: all rows with their numbers."""
    return json.dumps(asdict(decision), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


_FORMS: dict[str, Callable[[Decision], str]] = {
    ".xml": to_junit, ".md": to_markdown, ".json": to_json,
}  # fmt: skip


def output_fault(path: Path, inputs: Iterable[Path]) -> str:
    """Say why a decision cannot be written to a path; empty if it can be.

    Args:
        path: file to write.
        inputs: score files, and folders of them, that the gate reads.
    """
    if path.suffix.lower() not in _FORMS:
        return "a decision is written as .xml (JUnit), .md or .json"
    read = {*map(os.path.realpath, inputs)}
    if os.path.realpath(path) in read:
        return "is a score file that the gate reads; name another file"
    if path.suffix.lower() == ".json" and os.path.realpath(path.parent) in read:
        return "is in a folder of score files, which the next run would read; name another folder"
    return ""


def write_outputs(decision: Decision, paths: Iterable[Path]) -> None:
    """Write a decision to files, each in the format of its ending; warn if one cannot be written.

    The decision, and with it the exit code, does not depend on its copies.
    """
    for path in paths:
        try:
            write_text(path, _FORMS[path.suffix.lower()](decision))
        except InputError as error:
            _warn(f"--out {path}: {error.message}")


def report_to_actions(decision: Decision) -> None:
    """Append a decision to a job's summary, and its verdict to a step's outputs, on GitHub Actions.

    Does nothing elsewhere; warns if a file cannot be written.
    """
    texts = {SUMMARY: to_markdown(decision) + "\n", OUTPUT: f"verdict={decision.verdict}\n"}
    for variable, text in texts.items():
        if path := os.environ.get(variable):
            try:
                with Path(path).open("a", encoding="utf-8") as file:
                    file.write(text)
            except OSError as error:
                _warn(f"{variable}={path}: cannot be written: {error.strerror or error}")


def _warn(text: str) -> None:
    """Print a warning about a copy of the decision to standard error."""
    sys.stderr.write(f"warning: {text}; the exit code stays that of the decision\n")
