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
from citeforge.schemas.errors import UsageError
from citeforge.schemas.package_changes import PackageChanges, StillAnswered, TableChanges
from citeforge.schemas.submission import Header, SubmissionLine

_GONE = "not in the new package"
_OTHER_MARKS = "other citation marks are asked for"


def compare_packages(
    old: Benchmark, new: Benchmark, submission: Path | None = None, kept: Path | None = None
) -> PackageChanges:
    """Compare two packages; list a submission's still valid answers, and write them to ``kept``.

    Args:
        old: package that the submission answers.
        new: package of a later build.
        submission: answers to the old package; None for no look at answers.
        kept: file to write with the answers to what the new package shows, too; None for none.

    Raises:
        InputError: a package or the submission is damaged, or answers another package.
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
        self,
        shown_queries: Mapping[str, list[dict[str, ShownQuery]]],
        table_changes: tuple[TableChanges, ...],
    ) -> list[StillAnswered]:
        """List, per context set, answered queries that the new package left unchanged or changed.

        Where the context sets are one experiment, a query counts if all of its sets are the same.

        Args:
            shown_queries: context set to what both packages show.
            table_changes: changes of the packages' tables.
        """
        questions = set[str]()
        for table in table_changes:
            if table.name.startswith("queries"):
                questions.update(table.changed.get("text", ()))
        changes: dict[str, dict[str, str | None]] = {}
        for context in self.submission.contexts:
            answered = self._read_answers(context)
            sets = shown_queries.get(context)
            changes[context] = {
                query: self._find_question_change(query, questions)
                if sets is None
                else _find_change(query, *sets)
                for query in answered
            }
        if self.old.manifest.grammar != self.new.manifest.grammar:
            changes = {c: dict.fromkeys(found, _OTHER_MARKS) for c, found in changes.items()}
        if self.old.kind.facts.is_design:
            changes = dict(_share_changes(changes))
        return [_summarise_changes(context, found) for context, found in changes.items()]

    def _read_answers(self, context: str) -> dict[str, None]:
        """Read the answers to a context set; return the ids of their queries, in file order."""
        names = self.old.query_ids
        lines = self._lines[context] = []
        answered: dict[str, None] = {}
        for row, answer in self.submission.answers_to(context):
            answered[names[row]] = None
            lines.append(answer)
        return answered

    def _find_question_change(self, query_id: str, changed_questions: set[str]) -> str | None:
        """Describe how a query's question changed in the new package; None if it did not."""
        if query_id not in self.new.row_of:
            return _GONE
        return ANOTHER_QUESTION if query_id in changed_questions else None

    def write(self, out: Path, unchanged: Sequence[StillAnswered]) -> list[Path]:
        """Write the answers to unchanged queries as answers to the new package.

        Args:
            out: file to write; several context sets get a file each, ``NAME.CONTEXT.jsonl``, unless
                they are one experiment.
            unchanged: queries by context set.

        Returns:
            The files; none for a context set without such queries, or if no answer is left.

        Raises:
            UsageError: the answers are in a format of another program, or a file is their own.
        """
        if self.submission.form != OURS:
            raise UsageError(
                f"--kept: {self.submission.path} has the format {self.submission.form}; only "
                "citeforge's own format can be written again",
                code="option-without-effect",
            )
        left = [one for one in unchanged if one.as_shown]
        if not left:
            return []
        if len(unchanged) == 1 or self.old.kind.facts.is_design:
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
        """Write one file with the answers to unchanged queries of some context sets."""
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
    """Convert an answer to the JSON fields of its line, without those that are None."""
    values = {name: getattr(answer, name) for name in answer.__struct_fields__}
    return {name: value for name, value in values.items() if value is not None}


def _find_change(
    query_id: str, old: Mapping[str, ShownQuery], new: Mapping[str, ShownQuery]
) -> str | None:
    """Describe how the new package changed what is shown for a query; None if it did not."""
    return old[query_id].find_change(new[query_id]) if query_id in new else _GONE


def _share_changes(
    changes: Mapping[str, Mapping[str, str | None]],
) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield (context set, change by query); a query's change in one set counts in all sets."""
    first: dict[str, str] = {}
    for context, found in changes.items():
        for query, change in found.items():
            if change is not None:
                first.setdefault(query, f"{change} in {context}")
    for context, found in changes.items():
        yield context, {query: first.get(query) for query in found}


def _summarise_changes(context: str, changes: Mapping[str, str | None]) -> StillAnswered:
    """Make a context set's record of answered queries: unchanged ones, and others by change."""
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
