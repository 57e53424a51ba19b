"""Verdict of the gate with its reasons, and its text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import groupby
from textwrap import wrap

from citeforge.engines.report_table import Displayed, Table, folded_note
from citeforge.engines.shown import DASH
from citeforge.evaluator.gate import Outcome
from citeforge.evaluator.gate_findings import FAIL, NOT_RUN, OPEN, PASS, Row, RowFigures, Verdict
from citeforge.reports.gate_sentences import row_title, write_sentence
from citeforge.reports.notes import limit_lines, scope_lines, small_slice_lines
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import joined_signatures

WORDS = {PASS: "pass", FAIL: "fail", OPEN: "unclear", NOT_RUN: "error"}
GROUPS = {
    "run": "why the gate could not run",
    "files": "score files",
    "critical": "critical: shown not to fall by more than the margin",
    "supporting": "supporting: not shown to fall",
    "advisory": "advisory: decides nothing",
    "required": "required queries",
    "counts": "counts",
}


@dataclass(frozen=True, kw_only=True)
class DecisionRow(RowFigures):
    """Row of a decision as it is printed: its numbers, and a sentence on what was found."""

    sentence: str

    @property
    def word(self) -> str:
        """Verdict on a measure or count in one word; a dash if it is only advisory."""
        return WORDS[self.verdict] if self.decides else DASH

    @property
    def full_sentence(self) -> str:
        """Sentence on a measure or count, after the compared contexts and settings if several."""
        return f"{self.place}: {self.sentence}" if self.place else self.sentence


def describe_row(row: Row) -> DecisionRow:
    """Convert a row of the gate (a measure or count) to its printed form with a sentence."""
    figures = {field.name: getattr(row, field.name) for field in fields(RowFigures)}
    return DecisionRow(**figures | {"what": row_title(row)}, sentence=write_sentence(row))


@dataclass(frozen=True, repr=False)
class Decision(Displayed):
    """Verdict of the gate; ``str`` of it is what the command prints.

    With :mod:`~citeforge.reports.gate_outputs` it becomes a file.

    Attributes:
        verdict: ``pass``, ``fail``, ``not enough evidence`` or ``could not run``.
        rows: what decided it, and what was only reported.
        new: names of the new systems.
        baseline: names of the systems of the baseline.
        notes: cautions on the verdict.
        signatures: signatures of the new scores that decided.
    """

    verdict: Verdict
    rows: list[DecisionRow]
    new: list[str]
    baseline: list[str]
    notes: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)

    @property
    def headline(self) -> str:
        """The gate's verdict in one line, with the measures and counts that decided it."""
        of_verdict = (r for r in self.rows if r.decides and r.verdict == self.verdict)
        names = dict.fromkeys(r.name for r in of_verdict if r.group != "files")
        new, old = ", ".join(self.new), ", ".join(self.baseline)
        if not new:
            return f"{self.verdict}: {self.rows[0].sentence}"
        subject = f"{new} against {old}" if old else f"{new} without a baseline"
        why = f": {', '.join(names)}" if names and self.verdict != PASS else ""
        return f"{self.verdict}: {subject}{why}"

    def text(self, width: int | None = None) -> str:
        """Write the gate's decision as text: a sentence per measure or count, under headings.

        Args:
            width: of the terminal; None where lines may be of any length.
        """
        lines = [*folded_note(self.headline, width)]
        for group, rows in groupby(self.rows, key=lambda row: row.group):
            lines += ["", GROUPS[group]]
            for row in rows:
                lines += wrap(
                    row.full_sentence, width or 10**6, initial_indent=f"  {row.word:<9}",
                    subsequent_indent=" " * 11, break_on_hyphens=False,
                )  # fmt: skip
        if self.all_notes:
            lines += ["", *(line for note in self.all_notes for line in folded_note(note, width))]
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return the gate's decision as text, in lines of any length."""
        return self.text()

    @property
    def all_notes(self) -> list[str]:
        """Cautions on the decision, and signatures (settings) of the new scores, one per line."""
        recipes = [f"signature: {s}" for s in joined_signatures(self.signatures)]
        return [*(f"note: {note}" for note in self.notes), *recipes]

    def _headline(self) -> str:
        """Summarise the gate's decision in one line."""
        return self.headline

    def _tables(self) -> Iterator[Table]:
        """Make the table of a gate's rows (measures, counts), with their verdicts."""
        rows = [(r.verdict, r.group, r.sentence) for r in self.rows]
        yield Table(("verdict", "tier", "found"), rows, left=3, notes=self.notes)


def describe_outcome(outcome: Outcome) -> Decision:
    """Convert a gate's outcome to the decision that is printed, with system names and notes."""
    signatures = [t.new.signature for t in outcome.tests if t.tier != "advisory"]
    return Decision(
        outcome.verdict, [*map(describe_row, outcome.rows)],
        _names(p.new for p in outcome.pairs),
        _names(p.old for p in outcome.pairs if p.old is not None),
        _notes(outcome), list(dict.fromkeys(signatures)),
    )  # fmt: skip


def _names(files: Iterable[ScoreFile]) -> list[str]:
    """List the names of the systems of score files, each once."""
    return list(dict.fromkeys(f.system for f in files))


def _notes(outcome: Outcome) -> list[str]:
    """Write cautions on a gate's decision: scope, limits, missing corrections, equal answers."""
    pairs, tests = outcome.pairs, outcome.tests
    files = [f for p in pairs for f in (p.old, p.new) if f is not None]
    names = {t.new.name for t in tests}
    notes = scope_lines(files) + limit_lines(files, names)
    uncorrected = [t.row.what for t in tests if t.new.corrected is not None and not t.is_corrected]
    if uncorrected:
        notes.append(
            f"{', '.join(uncorrected)}: not corrected, since labels are not of the same queries"
        )
    for pair in pairs:
        if pair.old is None:
            continue
        if pair.old.submission_sha256 == pair.new.submission_sha256:
            both = f"{pair.new.system} and the baseline {pair.old.system}"
            notes.append(f"{both} are scores of the same answers")
        if pair.old.is_control:
            notes.append(f"the baseline {pair.old.system} is a reference line, not a system")
    slices = small_slice_lines(outcome.small_slices)
    slices += [f"{label}: {write_sentence(row)}" for label, row in outcome.open_slices]
    return list(dict.fromkeys(notes)) + slices
