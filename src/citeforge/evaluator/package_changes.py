"""Comparison of two packages, and the answers to the old one that the new one still asks for."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from citeforge.builders.changes import recipe_differences
from citeforge.engines.files import atomic_file
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import OURS
from citeforge.evaluator.submissions.submission import Submission
from citeforge.package.differences import (
    ANOTHER_QUESTION,
    ShownQuery,
    compare_shown,
    compare_tables,
    read_shown,
)
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.package_changes import PackageChanges, StillAnswered, TableChanges
from citeforge.schemas.submission import Header, SubmissionLine

_GONE = "not in the new package"
_OTHER_MARKS = "other citation marks are asked for"


def compare_packages(
    old: Benchmark, new: Benchmark, submission: Path | None = None, kept: Path | None = None
) -> PackageChanges:
    """Compare two packages; find the answers of a submission that are to what both show.

    Args:
        old: package that the submission answers.
        new: package of a later build.
        submission: answers to the old package; None for no look at answers.
        kept: file to write with the answers to what the new package shows, too; None for none.

    Raises:
        InputError: a package or the submission is damaged, or answers another package; or no
            answer is left to write.
        UsageError: the answers to keep are in a format of another program, or in the file to write.
    """
    shown = {
        name: [read_shown(p, name) if name in p.contexts else {} for p in (old, new)]
        for name in dict.fromkeys([*old.contexts, *new.contexts])
    }
    tables = tuple(compare_tables(old, new))
    comparison = PackageChanges(
        old=old.label,
        new=new.label,
        old_hash=old.hash,
        new_hash=new.hash,
        tables=tables,
        contexts=tuple(compare_shown(name, *pair) for name, pair in shown.items()),
        settings=tuple(recipe_differences(old.manifest, new.manifest)),
    )
    if submission is None:
        return comparison
    answers = OldAnswers(old, new, Submission(submission, old, is_raw=True))
    still = answers.find_still_answered(shown, tables)
    files = [] if kept is None else answers.write(kept, still)
    found = {
        "system": answers.submission.system, "answers": tuple(still), "kept": tuple(map(str, files))
    }  # fmt: skip
    return comparison.model_copy(update=found)


@dataclass(frozen=True)
class OldAnswers:
    """Answers to an old package, beside a new one.

    Attributes:
        old: package that was answered.
        new: package of a later build.
        submission: the answers.
    """

    old: Benchmark
    new: Benchmark
    submission: Submission
    _lines: dict[str, list[SubmissionLine]] = field(default_factory=dict)

    def find_still_answered(
        self, shown: Mapping[str, list[dict[str, ShownQuery]]], tables: tuple[TableChanges, ...]
    ) -> list[StillAnswered]:
        """Find the answered queries that the new package shows in the same way, by context set.

        Where the context sets are one experiment, a query counts if all of its sets are the same.

        Args:
            shown: context set to what both packages show.
            tables: changes of the packages' tables.
        """
        questions = set[str]()
        for table in tables:
            if table.name.startswith("queries"):
                questions.update(table.changed.get("text", ()))
        changes: dict[str, dict[str, str | None]] = {}
        for context in self.submission.contexts:
            answered = self._read(context)
            sets = shown.get(context)
            changes[context] = {
                query: self._change_of_question(query, questions)
                if sets is None
                else _find_change(query, *sets)
                for query in answered
            }
        if self.old.manifest.grammar != self.new.manifest.grammar:
            changes = {c: dict.fromkeys(found, _OTHER_MARKS) for c, found in changes.items()}
        if self.old.kind.facts.is_design:
            changes = dict(_join_cells(changes))
        return [_still_answered(context, found) for context, found in changes.items()]

    def _read(self, context: str) -> dict[str, None]:
        """Read the queries that answers to a context set are about, in the order of the file."""
        names = self.old.query_ids
        lines = self._lines[context] = []
        answered: dict[str, None] = {}
        for row, answer in self.submission.answers_to(context):
            answered[names[row]] = None
            lines.append(answer)
        return answered

    def _change_of_question(self, query: str, questions: set[str]) -> str | None:
        """Name the change of a query that is shown nothing by its package; None if it is equal."""
        if query not in self.new.row_of:
            return _GONE
        return ANOTHER_QUESTION if query in questions else None

    def write(self, out: Path, still: Sequence[StillAnswered]) -> list[Path]:
        """Write the answers to queries that are shown in the same way, as answers to the new one.

        Args:
            out: file to write; several context sets get a file each, ``NAME.CONTEXT.jsonl``, unless
                they are one experiment.
            still: queries by context set.

        Returns:
            The files; none for a context set without such queries.

        Raises:
            UsageError: the answers are in a format of another program, or a file is their own.
            InputError: no answer is left.
        """
        if self.submission.form != OURS:
            raise UsageError(
                f"--kept: {self.submission.path} has the format {self.submission.form}; only "
                "citeforge's own format can be written again",
                code="option-without-effect",
            )
        left = [one for one in still if one.as_shown]
        if not left:
            raise InputError(
                "has no answer to what the new package shows",
                path=self.submission.path,
                allowed="answers to it: run the system again",
                code="no-answers",
            )
        if len(still) == 1 or self.old.kind.facts.is_design:
            files = {out: left}
        else:
            ending = out.suffix or ".jsonl"
            files = {out.with_name(f"{out.stem}.{one.context}{ending}"): [one] for one in left}
        source = self.submission.path
        if os.path.realpath(source) in map(os.path.realpath, files):
            raise UsageError(
                f"--kept {out}: {source} has the answers that are read; name another file",
                code="conflicting-options",
            )
        for path, sets in files.items():
            self._write_file(path, sets)
        return list(files)

    def _write_file(self, out: Path, sets: Sequence[StillAnswered]) -> None:
        """Write one file with the answers that are left of some context sets."""
        origin = {"benchmark": self.new.name, "benchmark_hash": self.new.manifest.answer_hash}
        given = {k: v for k, v in self.submission.header.items() if k not in ("limit", "contexts")}
        frozen = [one.context for one in sets if one.context in self.new.manifest.contexts]
        header = {"system": self.submission.system, **given, **origin}
        header |= {"contexts": frozen or [one.context for one in sets]}
        with atomic_file(out) as file:
            file.write(msgspec.json.encode(Header(header)) + b"\n")
            for one in sets:
                queries = set(one.as_shown)
                for answer in self._lines[one.context]:
                    if answer.query_id in queries:
                        fields = {k: v for k, v in _to_fields(answer).items() if k not in origin}
                        file.write(msgspec.json.encode(fields) + b"\n")


def _to_fields(answer: SubmissionLine) -> dict[str, object]:
    """Convert an answer to the fields of its line, without those that say nothing."""
    values = {name: getattr(answer, name) for name in answer.__struct_fields__}
    return {name: value for name, value in values.items() if value is not None}


def _find_change(
    query: str, old: Mapping[str, ShownQuery], new: Mapping[str, ShownQuery]
) -> str | None:
    """Name how the new package shows a query in another way; None if it does not."""
    return old[query].find_change(new[query]) if query in new else _GONE


def _join_cells(
    changes: Mapping[str, Mapping[str, str | None]],
) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield (context set, changes by query), a change of one set for the query in all sets."""
    first: dict[str, str] = {}
    for context, found in changes.items():
        for query, change in found.items():
            if change is not None:
                first.setdefault(query, f"{change} in {context}")
    for context, found in changes.items():
        yield context, {query: first.get(query) for query in found}


def _still_answered(context: str, changes: Mapping[str, str | None]) -> StillAnswered:
    """Make the record of one context set from the change of each answered query."""
    reasons: dict[str, list[str]] = {}
    for query, change in changes.items():
        if change is not None:
            reasons.setdefault(change, []).append(query)
    return StillAnswered(
        context=context,
        n_answered=len(changes),
        as_shown=tuple(query for query, change in changes.items() if change is None),
        changed={reason: tuple(queries) for reason, queries in reasons.items()},
    )
