"""A submission, opened: what it is, and its answers, read as few times as can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from citeforge.engines.io.files import digest_folder, sha256_file
from citeforge.engines.io.jsonlines import read_start
from citeforge.engines.io.textfiles import validated
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.format import Lines, OnError
from citeforge.evaluator.submissions.formats import OURS, START, answers_of, detect, find_format
from citeforge.evaluator.submissions.origin import (
    Origin,
    anonymous_warnings,
    asked_of,
    partly_asked,
    require_same_benchmark,
)
from citeforge.evaluator.submissions.reader import (
    FULL,
    OWN,
    SeveralContextsError,
    header_of,
    read_answers,
    require_name,
    system_name,
)
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import About
from citeforge.schemas.submission import SubmissionLine

_OWN_FORMS = (OURS, "attributed-ir")
_MOST_KEPT = 20_000
"""Lines that are kept while it is found out what they are about; a longer file is read again."""


class Submission:
    """A prediction file or folder.

    Opening it reads its start; :meth:`answers` reads all of it, once.

    Attributes:
        path: where it is.
        benchmark: what it answers.
        form: format it is read as.
        asked: how many of the first queries it was asked; None for all.
    """

    def __init__(
        self,
        path: Path,
        benchmark: Benchmark,
        form: str = "auto",
        system: str | None = None,
        only_asked: bool = False,
        on_error: OnError = None,
    ) -> None:
        """Look what it is.

        Args:
            path: file or folder.
            benchmark: what it answers.
            form: format; ``auto`` for what it looks like.
            system: name of the system; None for what the submission says.
            only_asked: look only at the queries that it was asked.
            on_error: told of what is wrong with header and lines, which is then passed over.

        Raises:
            InputError: it cannot be read, or was made on another build of the benchmark.
        """
        self.path, self.benchmark, self._system = path, benchmark, system
        self._on_error = on_error
        start = b""
        if path.suffix != ".csv" and not path.is_dir() and form in ("auto", *_OWN_FORMS):
            start = read_start(path, START)
        self.form = detect(path, start) if form == "auto" else form
        self._looked_at: Lines | None = None
        self._has_header: bool | None = None
        self._origin = Origin()
        read_origin, is_ours = find_format(self.form).origin, self.form in _OWN_FORMS
        self._can_name = read_origin is not None
        with self._passed_over():
            if is_ours:
                header = header_of(path, start.partition(b"\n")[0])
                self._has_header, self._origin = header is not None, Origin(header or {})
            elif read_origin is not None:
                self._origin = read_origin(path)
            if (self._can_name or is_ours) and path.is_file():
                require_same_benchmark(path, benchmark, self.header)
        self.asked = asked_of(self.header, benchmark)
        if only_asked and self.asked is not None:
            self.benchmark = benchmark.first(self.asked)
        with self._passed_over():
            self.system  # noqa: B018 (refused before anything is scored)

    @contextmanager
    def _passed_over(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            if self._on_error is None:
                raise
            self._on_error(error)

    @property
    def header(self) -> Mapping[str, object]:
        """Its header; empty where it has none."""
        return self._origin.header

    @property
    def is_anonymous(self) -> bool:
        """Whether it does not say by a hash which benchmark it answers."""
        return not self._can_name or self.header.get("benchmark_hash") is None

    def warnings(self) -> list[str]:
        """What to say of a submission that could have a hash and lacks it, or was asked a part."""
        if not self._can_name:
            return []
        doubts = [*self._origin.warnings, *partly_asked(self.header, self.benchmark)]
        if self.is_anonymous:
            doubts += anonymous_warnings(self.benchmark, self.header)
        return doubts

    @property
    def system(self) -> str:
        """Name of the system: the one given, else its header's, else the file's.

        Raises:
            InputError: no system may be called so.
        """
        if self._system is not None:
            return require_name(self._system, self.path)
        system = find_format(self.form).system
        if system is not None and (name := system(self.path)):
            return require_name(name, self.path, "run_id")
        if self.path.is_file():
            return system_name(self.path, self.header)
        return require_name(self.path.name, self.path)

    @property
    def names(self) -> tuple[str, ...]:
        """What files about several systems may call this one: its name, or its file's."""
        stem = self.path.name.removesuffix(".gz").rpartition(".")[0]
        return tuple(dict.fromkeys(n for n in (self.system, self.path.name, stem) if n))

    @property
    def about(self) -> About | None:
        """What the header says of the system, for leaderboards.

        Raises:
            InputError: one of these fields is not what it should be.
        """
        fields = {
            k: str(v) if k != "cost" and type(v) in (int, float) else v
            for k, v in self.header.items()
            if k in About.model_fields and v is not None
        }
        allowed = "as docs/leaderboard.md lists them"
        return validated(About, fields, self.path, allowed=allowed) if fields else None

    @property
    def families(self) -> list[str]:
        """Families and models that the header names: its own fields, or what ``run`` asked."""
        llm = self.header.get("llm")
        model = llm.get("name") if isinstance(llm, dict) else llm
        about = self.about
        own = (about.family, about.model) if about is not None else ()
        return [str(name) for name in (*own, model) if name]

    def digest(self) -> str:
        """sha256 of the file, or over the files of the folder."""
        return sha256_file(self.path) if self.path.is_file() else digest_folder(self.path)

    def choose_context(self, asked: str | None) -> str:
        """Context set to score (docs/definitions.md#protocols).

        The one asked for, ``own`` if the lines bring passages, the only set if there is one, the
        one that the lines name, ``full`` where they name none and a benchmark has it.

        Raises:
            SeveralContextsError: the lines are of several sets, and none was asked for.
            UsageError: the benchmark has several sets, and nothing names one.
        """
        if asked is not None:
            return asked
        contexts, lines = list(self.benchmark.manifest.contexts), self._read()
        buffer: list[tuple[int, SubmissionLine]] = []
        names: set[str] = set()
        n_lines, has_passages = 0, False
        for line, answer in lines:
            n_lines += 1
            if n_lines <= _MOST_KEPT:
                buffer.append((line, answer))
            has_passages = answer.passages is not None
            if has_passages or answer.context is None:
                break
            names.add(answer.context)
        else:
            if len(names) > 1 and len(contexts) > 1:
                raise SeveralContextsError([c for c in contexts if c in names] or sorted(names))
        if n_lines <= _MOST_KEPT:
            self._looked_at = chain(buffer, lines)
        if has_passages:
            return OWN
        if len(contexts) == 1:
            return contexts[0]
        if len(names) == 1:
            return names.pop()
        if FULL in contexts:
            return FULL
        raise UsageError(
            f"the benchmark has several context sets; give --context {'|'.join(contexts)}"
        )

    def answers(self) -> Iterator[tuple[int, SubmissionLine]]:
        """All answers with their line numbers, from the first one on.

        Raises:
            InputError: an unreadable line.
        """
        lines, self._looked_at = self._looked_at or self._read(), None
        return lines

    def _read(self) -> Lines:
        if self.form == OURS or (self.form == "attributed-ir" and self.path.suffix != ".csv"):
            return read_answers(self.path, self._on_error, self._has_header)
        return answers_of(self.path, self.benchmark, self.form, self._on_error)
