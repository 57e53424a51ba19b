"""Reader of AttriEval's own outputs (one saved data set per cell) as one submission."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.query_finder import QueryFinder
from citeforge.ir_convert.attrieval import read_saved
from citeforge.schemas.authorship import PLACEBO, Cell, Design, parse_design
from citeforge.schemas.citations.grammar import citation_marks, is_plain
from citeforge.schemas.errors import InputError
from citeforge.schemas.submission import SubmissionLine, TokenLogprob

_SAVED = "dataset_info.json"
_SIDES = {"base": "first", "cf": "second"}
"""AttriEval's RAG modes to the label side of the relevant passages; the others have the opposite
one. Its ``base`` labels relevant passages human whoever wrote them."""


class _Passages(msgspec.Struct):
    """Passages of a row of AttriEval's outputs, and which of them are relevant."""

    passage_text: list[str]
    is_selected: list[int]


class _Row(msgspec.Struct):
    """A row that its ``generate_with_probs`` leaves; further columns are not needed here."""

    query: str
    rag_raw_answer: str
    passages: _Passages
    query_id: str | int | None = None
    list_of_citations_in_answer: list[int] | None = None
    logprob_of_citations_in_answer: list[float] | None = None


def read_cells(path: Path, benchmark: Benchmark) -> Iterator[tuple[int, SubmissionLine]]:
    """Yield (row number, answer) of each experimental condition (cell) in AttriEval's outputs.

    The folder has one folder per cell, each saved by ``datasets``, and called after the cell
    (``hl_human_llm_informed``, also with something before it: ``llama3_hl_human_llm_informed``),
    or after AttriEval's RAG mode (``…_vanilla``, ``…_base``, ``…_cf``), the origins then being
    those of the passages in it. One saved data set, called so, will do too.

    Args:
        path: the folder.
        benchmark: an authorship benchmark; passages and selected ones must be those of the cell.

    Raises:
        InputError: folder and row, and what is wrong.
    """
    reader = _Reader(benchmark)
    for folder in list_folders(path):
        yield from reader.read(folder)


def list_folders(path: Path) -> list[Path]:
    """List the folders of saved data sets at or below a path."""
    if (path / _SAVED).is_file():
        return [path]
    folders = sorted(f for f in path.iterdir() if f.is_dir() and not f.name.startswith("."))
    if not folders:
        raise InputError(
            "contains no saved data set", path=path,
            allowed="one folder per cell, saved by `datasets`", code="empty-file"
        )  # fmt: skip
    return folders


class _Reader:
    """Reads saved data sets of AttriEval as answers to the cells of a benchmark."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Read the passages that each experimental condition of the benchmark shows."""
        self.benchmark = benchmark
        self.design: Design = parse_design(benchmark.manifest.config)
        self.queries = QueryFinder(benchmark)
        self.tables = {c.context: benchmark.context(c.context) for c in self.design.cells}
        ids = {i for t in self.tables.values() for i in t.passage_ids.unique().to_pylist()}
        self.texts = {i: text for i, (_, text) in benchmark.texts(ids).items()}
        self.folders: dict[str, Path] = {}

    def read(self, folder: Path) -> Iterator[tuple[int, SubmissionLine]]:
        """Read the answers of one saved data set, each with its row number."""
        rows = list(read_saved(folder, _Row))
        if not rows:
            raise InputError("contains no rows", path=folder, code="empty-file")
        cell = self._find_cell(folder, [row for _, row in rows])
        if (other := self.folders.setdefault(cell, folder)) != folder:
            raise InputError(
                f"has the cell {cell}, as {other.name} has", path=folder,
                allowed="one folder per cell", code="duplicate-id"
            )  # fmt: skip
        for number, row in rows:
            if problem := self._mismatch(cell, row):
                raise InputError(
                    problem, path=folder, field=f"row {number}",
                    allowed=f"answers to the frozen passages of {cell}: citeforge export attrieval "
                    f"{self.benchmark.folder} --context {cell}", code="wrong-benchmark"
                )  # fmt: skip
            logprobs = _read_logprobs(folder, number, row)
            yield (
                number,
                SubmissionLine(self._query_id(row), row.rag_raw_answer, cell, logprobs=logprobs),
            )

    def _query_id(self, row: _Row) -> str:
        """Find the id of the query that a row answers."""
        return self.queries.find_id(row.query_id, row.query)

    def _find_cell(self, folder: Path, rows: Sequence[_Row]) -> str:
        """Find the condition (cell) that a folder answers: by name, else by mode and passages."""
        name = folder.name
        matches = [c for c in self.tables if name == c or name.endswith(f"_{c}")]
        if matches:
            return max(matches, key=len)
        labels = [s.name for s in self.design.label_sets if s.name != PLACEBO]
        cells = [
            c for c in self.design.cells if self._has_labels_of(c, name.rpartition("_")[2], labels)
        ]
        origins = [
            c.origins
            for c in self.design.cells
            if c.labels is None and cells and not any(self._mismatch(c.context, r) for r in rows)
        ]
        for cell in cells:
            if cell.origins in origins[:1]:
                return cell.context
        raise InputError(
            "its name contains no cell", path=folder,
            allowed=f"a name that is, or ends with, one of {', '.join(self.tables)}; or …_vanilla, "
            "…_base, …_cf with passages of the benchmark and one label set", code="unknown-context"
        )  # fmt: skip

    @staticmethod
    def _has_labels_of(cell: Cell, mode: str, labels: Sequence[str]) -> bool:
        """Whether a cell (condition) shows labels as AttriEval's mode vanilla, base or cf does."""
        if mode == "vanilla" or cell.labels is None:
            return mode == "vanilla" and cell.labels is None
        side = _SIDES.get(mode)
        return [cell.labels] == labels and cell.side(True) == side != cell.side(False)

    def _mismatch(self, cell: str, row: _Row) -> str | None:
        """Describe how a row's passages differ from those of a condition (cell); None if equal."""
        at = self.benchmark.row_of.get(self._query_id(row))
        if at is None:
            return None  # reported with its line when answers are placed
        table = self.tables[cell]
        ids, texts = table.ids_of(at), row.passages.passage_text
        if len(texts) != len(ids):
            return f"shows {len(texts)} passages, the cell shows {len(ids)}"
        for position, (ident, text) in enumerate(zip(ids, texts, strict=True)):
            # A title may stand before the text.
            if not text.strip().endswith(self.texts[ident].strip()):
                return f"passage {position} is not {ident!r}, which the cell shows there"
        selected = {i for i, s in enumerate(row.passages.is_selected) if s}
        if selected != table.relevant[at]:
            return f"selects {sorted(selected)}, relevant are {sorted(table.relevant[at])}"
        return None


def _read_logprobs(folder: Path, number: int, row: _Row) -> list[TokenLogprob] | None:
    """Pair the log probabilities in a row of AttriEval's outputs with the citations in its answer.

    Each number goes to the next ``[n]`` of the text. Numbers that no such mark has get indices
    behind the last one: ``reference`` takes them as they are, ``strict`` ignores them.
    """
    cited, logprobs = row.list_of_citations_in_answer, row.logprob_of_citations_in_answer
    if cited is None or logprobs is None:
        return None
    if len(cited) != len(logprobs):
        raise InputError(
            f"has {len(cited)} citations and {len(logprobs)} log probabilities",
            path=folder, field=f"row {number}", allowed="lists of one length", code="wrong-value"
        )  # fmt: skip
    if not all(math.isfinite(x) for x in logprobs):
        raise InputError(
            "has a log probability that is no finite number",
            path=folder, field=f"row {number} logprob_of_citations_in_answer",
            code="out-of-range"
        )  # fmt: skip
    marks = citation_marks(row.rag_raw_answer)
    plain = [(i, m.numbers[0]) for i, m in enumerate(marks) if is_plain(row.rag_raw_answer, m)]
    tokens, next_mark = [], 0
    for extra, (cited_number, value) in enumerate(zip(cited, logprobs, strict=True)):
        mark_number = next(
            (i for i in range(next_mark, len(plain)) if plain[i][1] == cited_number), None
        )
        index = len(marks) + extra if mark_number is None else plain[mark_number][0]
        next_mark = next_mark if mark_number is None else mark_number + 1
        tokens.append(TokenLogprob(index, str(cited_number), value))
    return tokens
