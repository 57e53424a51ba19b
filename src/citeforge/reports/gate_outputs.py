"""Outputs of a gate decision: for terminals, pull requests, and readers of JUnit XML or JSON."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from citeforge.engines.files import write_text
from citeforge.engines.keys import error_line, mask_keys
from citeforge.engines.markdown import markdown_text
from citeforge.engines.report_table import Table
from citeforge.engines.shown import DASH, show_interval, show_number
from citeforge.evaluator.gate_findings import FAIL, NOT_RUN, OPEN
from citeforge.reports.gate import GROUPS, Decision, DecisionRow
from citeforge.schemas.errors import CiteforgeError, InputError

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Variable of GitHub Actions: the file whose Markdown is shown with a job."""
OUTPUT = "GITHUB_OUTPUT"
"""Variable of GitHub Actions: the file with the outputs of a step, which later steps read."""
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def could_not_run(error: Exception) -> Decision:
    """Make a decision "could not run", with an error as its reason."""
    is_expected = isinstance(error, CiteforgeError | OSError)
    reason = mask_keys(str(error)) if is_expected else error_line(error)
    return Decision(NOT_RUN, [DecisionRow("gate", "run", NOT_RUN, sentence=reason)], [], [])


def to_markdown(decision: Decision) -> str:
    """Write a gate's decision as Markdown for a pull request: verdict, table, sentences.

    Names in it have no effect: no markup, no links, no mentions.
    """
    head = ("", "measure", "tier", "baseline", "new", "difference", "95 % interval", "allowed", "n")
    rows = [
        (r.word, r.name, r.group, show_number(r.baseline), show_number(r.new),
         show_number(r.difference, sign="+"), show_interval(r.low, r.high, sign="+"),
         DASH if r.allowed is None else f"−{show_number(r.allowed)}", f"{r.n:,}")
        for r in decision.rows if r.difference is not None
    ]  # fmt: skip
    parts = [f"### citeforge gate: {decision.verdict}", markdown_text(decision.headline)]
    parts += [Table(head, rows, left=3).markdown()] if rows else []
    for group, of_group in groupby(decision.rows, key=lambda row: row.group):
        sentences = (f"- {r.word}: {markdown_text(r.full_sentence)}" for r in of_group)
        parts += [f"**{GROUPS[group]}**", "\n".join(sentences)]
    if notes := decision.all_notes:
        parts += ["**notes**", "\n".join(f"- {markdown_text(note)}" for note in notes)]
    return "\n\n".join(parts) + "\n"


def to_junit(decision: Decision) -> str:
    """Write a gate's decision as JUnit XML, a test case per measure; undecided ones are errors.

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
    if notes := decision.all_notes:
        ElementTree.SubElement(suite, "system-out").text = _replace_invalid("\n".join(notes))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _replace_invalid(text: str) -> str:
    """Replace the characters of a text that XML cannot hold."""
    return _NO_XML.sub("\ufffd", text)


def to_json(decision: Decision) -> str:
    """Write a gate's decision as JSON: all measures and counts with their numbers."""
    return json.dumps(asdict(decision), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


_FORMS: dict[str, Callable[[Decision], str]] = {
    ".xml": to_junit, ".md": to_markdown, ".json": to_json,
}  # fmt: skip


def output_fault(path: Path, score_paths: Iterable[Path]) -> str:
    """Explain why a gate's decision cannot be written to a path; empty if it can be.

    Args:
        path: file to write.
        score_paths: score files, and folders of them, that the gate reads.
    """
    if path.suffix.lower() not in _FORMS:
        return "a decision is written as .xml (JUnit), .md or .json"
    read = {*map(os.path.realpath, score_paths)}
    if os.path.realpath(path) in read:
        return "is a score file that the gate reads; name another file"
    if path.suffix.lower() == ".json" and os.path.realpath(path.parent) in read:
        return "is in a folder of score files, which the next run would read; name another folder"
    return ""


def write_outputs(decision: Decision, paths: Iterable[Path]) -> None:
    """Write a gate's decision to files, in the format of each ending; warn if that fails.

    The decision, and with it the exit code, does not depend on its copies.
    """
    for path in paths:
        try:
            write_text(path, _FORMS[path.suffix.lower()](decision))
        except InputError as error:
            _warn(f"--out {path}: {error.message}")


def report_to_actions(decision: Decision) -> None:
    """Append a gate's decision to the summary and step outputs of GitHub Actions, if set.

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
    """Warn on standard error that a file with the gate's decision could not be written."""
    sys.stderr.write(f"warning: {text}; the exit code stays that of the decision\n")
