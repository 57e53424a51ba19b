"""An open submission: format, header and answers, read in as few passes as possible."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import msgspec

from citeforge.engines.files import digest, digest_path
from citeforge.engines.jsonlines import largest_line, size_error
from citeforge.engines.textfiles import count_text, validated
from citeforge.evaluator.submissions.benchmark import CLOSED_BOOK, FULL, OWN, Benchmark, LineIndex
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.formats import (
    Fault,
    OnError,
    Origin,
    detect,
    format_of_file,
    require_name,
    system_name,
)
from citeforge.evaluator.submissions.origin import require_build
from citeforge.evaluator.submissions.unwrapping import EchoFinder, Unwrapper
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.scores import UNKNOWN_BUILD, About
from citeforge.schemas.submission import Lines, SubmissionLine, make_header
from citeforge.schemas.text import printable

_MOST_BYTES = 4
"""Of a character in UTF-8."""
_MOST_KEPT = 20_000
"""Lines that are kept while it is found out what they are about; a longer file is read again."""


class Submission:
    """A prediction file or folder.

    Opening it reads its start, or all of it to find out which queries it answers
    (``only_answered``). :meth:`answers` reads all of it, once for every context set scored.

    Attributes:
        path: where it is.
        benchmark: what it answers.
        form: name of the format it is read as, with its options.
        is_anonymous: whether neither its header nor every answer names the benchmark's hash.
        format: that format.
        more: further files with answers of the same system.
        asked: how many of the first queries it was asked; None for all.
        unwrapper: removed prompts, thoughts and wrappers from the answers read so far, and counted
            them.
    """

    def __init__(
        self,
        path: Path,
        benchmark: Benchmark,
        file_format: str = "auto",
        system: str | None = None,
        only_asked: bool = False,
        only_answered: bool = False,
        on_error: OnError = None,
        is_raw: bool = False,
        more: Sequence[Path] = (),
    ) -> None:
        """Open a submission (``more`` files): detect its format, read its header, choose queries.

        Args:
            path: file or folder.
            benchmark: what it answers.
            file_format: format; ``auto`` for what it looks like.
            system: name of the system; None for what the submission says.
            only_asked: look only at the queries that it was asked, as its header says.
            only_answered: look only at the queries that it answers.
            on_error: gets the errors of header and lines, which are then skipped.
            is_raw: leave thoughts, JSON and fences around the answers, as papers' code does.
            more: files with more answers of the same system: to other context sets, or of more
                runs, which are numbered after those before.

        Raises:
            InputError: it cannot be read, or was made on another build of the benchmark.
            UsageError: ``only_asked``, and nothing says which queries were asked.
        """
        self.path, self.benchmark, self._system = path, benchmark, system
        self._on_error, self._is_raw = on_error, is_raw
        self._echoes = EchoFinder(benchmark)
        self.unwrapper = Unwrapper(self._echoes)
        is_auto = file_format == "auto"
        self.format = detect(path) if is_auto else format_of_file(path, file_format)
        self.form = self.format.name if is_auto else file_format
        self._looked_at: Lines | None = None
        self._origin = Origin()
        self._sets: list[str] = []
        self.is_anonymous = False
        with self._handled_errors():
            self._origin = self.format.origin(path)
        with self._handled_errors():
            claims = self.format.claims(path)
            self.is_anonymous = not require_build(path, benchmark, self.header, claims)
        with self._handled_errors():
            self._sets = self._sets_of_header()
        limit = self.header.get("limit")
        self.asked = limit if type(limit) is int and 0 < limit < len(benchmark) else None
        self._whole, self._only_answered = benchmark, only_answered
        queries = benchmark.query_ids
        if only_answered:
            queries = self._find_answered() or queries
        elif only_asked and self.asked is not None:
            queries = queries[: self.asked]
        elif only_asked and limit is None and (n := len(self._find_answered())) < len(benchmark):
            raise UsageError(
                f"--only-asked: nothing in {path} says how many queries were asked, and it answers "
                f"{n:,} of {len(benchmark):,}; --only-answered scores these",
                code="missing-field",
            )
        if len(queries) < len(benchmark):
            self.benchmark = benchmark.limited_to(queries)
        with self._handled_errors():
            _ = self.system  # refused before anything is scored
        with self._handled_errors():
            _ = self.about
        self.more = [
            Submission(other, self.benchmark, system=system, on_error=on_error, is_raw=is_raw)
            for other in more
        ]

    @property
    def grammar(self) -> Grammar:
        """Citation grammar of the benchmark, with the format's first number if it has its own."""
        grammar, base = self.benchmark.grammar, self.format.base
        return grammar if base is None else replace(grammar, base=base)

    def _find_answered(self) -> list[str]:
        """List the queries that some line answers, in the order of the benchmark."""
        answered = {answer.query_id for _, answer in self._read()}
        return [query for query in self.benchmark.query_ids if query in answered]

    @property
    def scored_queries(self) -> str | None:
        """Short name of the queries that are scored, for score signatures; None if all are.

        By their number, with a hash of their ids where they are not the first ones.
        """
        scored, whole = self.benchmark.query_ids, self._whole.query_ids
        if len(scored) == len(whole):
            return None
        are_first = scored == whole[: len(scored)]
        return f"{len(scored)}{'' if are_first else '~' + digest(scored)[:8]}"

    @contextmanager
    def _handled_errors(self) -> Iterator[None]:
        """Pass an InputError raised in the ``with`` block to ``on_error``; raise it without one."""
        try:
            yield
        except InputError as error:
            if self._on_error is None:
                raise
            self._on_error(error)

    def _sets_of_header(self) -> list[str]:
        """Read which of the benchmark's context sets the header names.

        Raises:
            InputError: the header names a context set that the benchmark does not have.
        """
        benchmark = self.benchmark
        named, known = self.header.get("contexts", []), list(benchmark.manifest.contexts)
        names = named if isinstance(named, list) else [named]
        for name in names:
            if name not in (*known, OWN, CLOSED_BOOK):
                raise InputError(
                    f"{printable(str(name))} is unknown", path=self.path, line=1, field="contexts",
                    allowed=f"a list of context sets of {benchmark.label}: {', '.join(known)}",
                    code="unknown-context",
                )  # fmt: skip
        return [name for name in names if name in known]

    @property
    def header(self) -> Mapping[str, object]:
        """Header of the submission; empty without one."""
        return self._origin.header

    def warnings(self) -> list[Finding]:
        """List warnings of a missing benchmark hash, and of queries not asked or not answered."""
        benchmark, findings = self.benchmark, list[Finding]()
        if self._only_answered and len(benchmark) < len(self._whole):
            text = (
                f"scored on the {len(benchmark):,} of {len(self._whole):,} queries that it answers "
                "(--only-answered); the others are left out, not counted as wrong"
            )
            findings.append(Finding("incomplete-run", text))
        findings += [Finding("incomplete-run", text) for text in self._origin.warnings]
        if self.asked is not None and self.asked < len(benchmark):
            findings.append(
                Finding(
                    "incomplete-run",
                    f"{self.asked:,} of {len(benchmark):,} queries were asked (--limit), the "
                    "others count as missing",
                    option="score --only-asked scores these alone",
                )
            )
        return [*findings, *([self._unknown_build_warning()] if self.is_anonymous else [])]

    def _unknown_build_warning(self) -> Finding:
        """Make a warning that the benchmark's build is unknown, and how a file can name it."""
        name, own = self.header.get("benchmark"), self.benchmark.manifest
        other = "" if name in (None, own.name) else f" (the header says benchmark {name!r})"
        try:
            system = self.system
        except InputError:  # listed as an error of its own
            system = "NAME"
        contexts = self.header.get("contexts")
        header = make_header(
            system, own.name, own.answer_hash, contexts if isinstance(contexts, list) else ()
        )
        line = msgspec.json.encode(header).decode()
        advice = self.format.advice.format(header=line, hash=own.answer_hash)
        return Finding(
            "missing-hash",
            f"{UNKNOWN_BUILD}: neither the header nor every answer has a benchmark_hash{other}; if "
            f"it was {self.benchmark.label}, {advice}",
        )

    def missing_warnings(self, n_missing: int) -> list[Finding]:
        """Warn of missing answers, unless only some queries were asked or raw text is scored."""
        if n_missing == 0 or self.asked is not None or self._is_raw:
            return []
        text = f"{count_text(n_missing, 'answer')} missing, with the worst value each"
        is_free = not (self._only_answered or self.benchmark.has_hidden_gold)
        option = "--only-answered leaves out queries without an answer" if is_free else ""
        return [Finding("missing-answer", text, option=option)]

    @property
    def system(self) -> str:
        """Name of the system: the one given, else its header's, else the file's.

        Raises:
            InputError: no system may be called so.
        """
        if self._system is not None:
            return require_name(self._system, self.path)
        if name := self.format.system_in(self.path):
            return require_name(name, self.path, "run_id")
        if self.path.is_dir():
            return require_name(self.path.name, self.path)
        return system_name(self.path, self.header)

    @property
    def names(self) -> tuple[str, ...]:
        """Names by which files of labels may refer to the system: its own, and its file's."""
        stem = self.path.name.removesuffix(".gz").rpartition(".")[0]
        return tuple(dict.fromkeys(n for n in (self.system, self.path.name, stem) if n))

    @property
    def about(self) -> About | None:
        """System description (model, licence, …) in the header, for leaderboards; None without one.

        Raises:
            InputError: one of these fields is not what it should be.
        """
        fields = {
            k: str(v) if k != "cost" and type(v) in (int, float) else v
            for k, v in self.header.items()
            if k in About.model_fields and v is not None
        }
        allowed = "as docs/leaderboard.md lists them"
        about = validated(About, fields, self.path, allowed=allowed) if fields else None
        for name, value in {} if about is None else about.model_dump().items():
            if isinstance(value, str) and not value.isprintable():
                raise InputError(
                    "contains control characters or line ends", path=self.path, line=1, field=name,
                    allowed="one line of text", code="wrong-value",
                )  # fmt: skip
        return about

    def faults(self) -> Iterator[Fault]:
        """Yield the breaches of the format's own rules."""
        return self.format.faults(self.path, self._whole, self.form.partition(":")[2])

    def require_sound(self) -> None:
        """Refuse a file that breaks a rule of its own format, as ``check`` does.

        Raises:
            InputError: the first such breach.
        """
        fault = (
            next((f for f in self.faults() if f.is_error), None) if self.format.has_rules else None
        )
        if fault is not None:
            raise InputError(
                fault.message, path=self.path, line=fault.line, field=fault.field, code=fault.code,
                allowed=f"see: citeforge check; or --format {self.form}:any",
            )  # fmt: skip
        for one in self.more:
            one.require_sound()

    @property
    def families(self) -> list[str]:
        """Names of model and model family in the header; a judge should be of another family."""
        llm = self.header.get("llm")
        model = llm.get("name") if isinstance(llm, dict) else llm
        about = self.about
        own = (about.family, about.model) if about is not None else ()
        return [str(name) for name in (*own, model) if name]

    def digest(self) -> str:
        """Compute the sha256 of the submission's file, or over all files of it."""
        own = digest_path(self.path)
        return digest([own, *(one.digest() for one in self.more)]) if self.more else own

    def choose_context(self, name: str | None) -> str:
        """Choose the context set to score: ``name``, else the one that the lines are about.

        Raises:
            UsageError: the lines are of several sets, or nothing names one; or ``own`` where the
                gold is hidden.
        """
        if name == OWN and self.benchmark.has_hidden_gold:
            raise UsageError(
                f"--context {OWN}: with hidden gold, submissions bring no passages of their own",
                code="hidden-gold",
            )
        if name is not None:
            return name
        if len(self.contexts) > 1:
            raise UsageError(
                "the answers are of several context sets; give --context "
                + "|".join(self.contexts),
                code="missing-option",
            )
        return self.contexts[0]

    @cached_property
    def contexts(self) -> list[str]:
        """Context sets that the submission's lines answer (docs/definitions.md#protocols).

        ``own`` if the lines bring passages, the only set if there is one, those that the lines
        name, ``full`` where they name none and a benchmark has it.

        Raises:
            UsageError: the benchmark has several sets, and nothing names one.
        """
        if self.header.get("contexts") == [CLOSED_BOOK]:
            return [CLOSED_BOOK]
        contexts, lines = list(self.benchmark.manifest.contexts), self._read()
        buffer: list[tuple[int, SubmissionLine]] = []
        names: set[str] = set()
        n_lines, has_passages, is_blank = 0, False, False
        for line, answer in lines:
            n_lines += 1
            if n_lines <= _MOST_KEPT:
                buffer.append((line, answer))
            has_passages = answer.passages is not None
            if has_passages or answer.context is None:
                is_blank = True
                break
            names.add(answer.context)
        if n_lines <= _MOST_KEPT:
            self._looked_at = chain(buffer, lines)
        if has_passages:
            return [OWN]
        if len(contexts) == 1 and (is_blank or CLOSED_BOOK not in names):
            return contexts
        if len(names) == 1 or (names and not is_blank):
            return [c for c in (*contexts, CLOSED_BOOK) if c in names] or sorted(names)
        if FULL in contexts:
            return [FULL]
        raise UsageError(
            f"{self.path}: the benchmark has several context sets, and nothing here names one; "
            f"give --context {'|'.join(contexts)}, or `context` in each line",
            code="missing-option",
        )

    def answers(self) -> Iterator[tuple[int, SubmissionLine]]:
        """Yield all answers with their line numbers, from the first one on.

        Raises:
            InputError: an unreadable line.
        """
        lines, self._looked_at = self._looked_at or self._read(), None
        return lines

    def answers_to(
        self, context: str, is_secondary: bool = False
    ) -> Iterator[tuple[int, SubmissionLine]]:
        """Yield (query row, answer) to a context set; if secondary, only those that name it.

        Args:
            context: name of the set.
            is_secondary: whether another set is scored, which lines without a name are of.

        Raises:
            InputError: an unknown or duplicate key, or there is no such line.
        """
        last = -1
        for row, answer in self._own_answers_to(context, is_secondary):
            last = max(last, answer.run)
            yield row, answer
        for one in self.more:
            first = last + 1
            for row, answer in one.answers_to(context) if context in one.contexts else ():
                answer.run += first
                last = max(last, answer.run)
                yield row, answer

    def _own_answers_to(
        self, context: str, is_secondary: bool
    ) -> Iterator[tuple[int, SubmissionLine]]:
        """Yield (query row, answer) to a context set from this file alone, not from further ones.

        Raises:
            InputError: as :meth:`answers_to`.
        """
        index = LineIndex(self.path, self.benchmark)
        is_empty, is_any = True, is_secondary
        for line, answer in self.answers():
            is_empty = False
            if is_secondary and answer.context != context:
                continue
            if index.is_about(line, answer, context):
                is_any = True
                yield index.row(line, answer, context), answer
        if is_empty:
            raise InputError("contains no answers", path=self.path, code="no-answers")
        if not is_any:
            raise InputError(
                f"contains no answer to the context set {context!r}", path=self.path,
                allowed="name a context set that its lines answer: --context", code="no-answers",
            )  # fmt: skip

    def answers_by_cell(self, cells: Collection[str]) -> Iterator[tuple[str, int, SubmissionLine]]:
        """Yield (condition (cell), query row, answer) for every line of a submission.

        Raises:
            InputError: a line names no cell, an unknown or duplicate key, or there is no line.
        """
        index, is_any = LineIndex(self.path, self.benchmark), False
        for line, answer in self.answers():
            cell, is_any = answer.context, True
            if cell is None or cell not in cells:
                raise InputError(
                    "is missing" if cell is None else f"{cell!r} is not a cell of the benchmark",
                    path=self.path, line=line, field="context", allowed=", ".join(cells),
                    code="missing-field" if cell is None else "unknown-context",
                )  # fmt: skip
            yield cell, index.row(line, answer, cell), answer
        if not is_any:
            raise InputError("contains no answers", path=self.path, code="no-answers")

    def _read(self) -> Lines:
        """Yield (line, answer), without reasoning and wrappers unless raw text is wanted."""
        self.unwrapper = Unwrapper(self._echoes)
        options = self.form.partition(":")[2]
        for line, answer in self.format.answers(self.path, self.benchmark, options, self._on_error):
            try:
                self._require_size(line, answer)
                self._set_context_by_header(line, answer)
            except InputError as error:
                if self._on_error is None:
                    raise
                self._on_error(error)
                continue
            unwrapped = self.unwrapper.unwrap(answer)
            yield line, answer if self._is_raw else unwrapped

    def _require_size(self, line: int, answer: SubmissionLine) -> None:
        """Refuse an answer above the size limit of lines, also in formats without lines.

        Raises:
            InputError: says its size.
        """
        text, most = answer.output, largest_line()
        if len(text) * _MOST_BYTES > most and (size := len(text.encode())) > most:
            raise size_error(self.path, line, f"the answer to {printable(answer.query_id)}", size)

    def _set_context_by_header(self, line: int, answer: SubmissionLine) -> None:
        """Set the context set of a line that names none, if the header names only one.

        Raises:
            InputError: the line names a set that the header does not name.
        """
        sets = self._sets
        if not sets or answer.passages is not None:
            return
        if answer.context is None:
            answer.context = sets[0] if len(sets) == 1 else None
        elif answer.context not in sets and answer.context in self.benchmark.manifest.contexts:
            raise InputError(
                f"{printable(answer.context)} is not among the contexts of the header",
                path=self.path, line=line, field="context", allowed=", ".join(sets),
                code="wrong-context",
            )  # fmt: skip

    def text_warnings(self) -> list[Finding]:
        """Warn of reasoning and JSON in the answers read so far, or of one text in all of them."""
        return list(self.unwrapper.findings(is_raw=self._is_raw))
