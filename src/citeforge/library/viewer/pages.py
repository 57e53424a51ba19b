"""Pages of ``citeforge view``: the list, and the pages of reports, comparisons and cards.

Reports and comparisons are those of ``citeforge report`` and ``citeforge compare``; the answers of
a submission are a report of its scores by the measures that need no judge.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from citeforge.engines.files import remove_tree
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.compare import compare_many, find_parts_across, load_scores
from citeforge.evaluator.slices import label_slices, slice_fields
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.library.scores import score_files
from citeforge.library.viewer.found import Folders, Found, Listing, Sort
from citeforge.library.viewer.report_files import ReportFiles
from citeforge.library.viewer.rows import Row, Rows
from citeforge.package.fields import slice_columns
from citeforge.package.manifest import CARD
from citeforge.package.package import Package
from citeforge.reports.audited import read_audit
from citeforge.reports.comparison import describe_comparison
from citeforge.reports.pages.comparison import comparison_page
from citeforge.reports.pages.markup import page_templates, read_assets, render_markdown
from citeforge.reports.pages.page import page_report
from citeforge.reports.pages.query_pages import query_page
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.scores import ScoreFile

_TEMPLATES = Path(__file__).parent / "templates"
_HOME = "../../"
"""Address of the list, as the pages of files lead to it."""
_MOST_KEPT = 30
"""Pages that are kept: a report may have megabytes."""
SHOWN = 50
"""Rows of each table of the list, before more are asked for."""
SECTIONS: dict[Sort, tuple[str, tuple[str, ...]]] = {
    "sites": ("Leaderboards", ()),
    "scores": ("Scores", ("System", "Main value", "Context set", "Queries", "Benchmark")),
    "submissions": ("Submissions", ("System", "Answers", "Benchmark")),
    "packages": ("Packages", ("Name", "Kind", "Version", "Context sets")),
    "reports": ("Reports", ()),
}
"""Sort to the title of its table, and of the columns between file and time."""


@dataclass(frozen=True)
class Section:
    """A table of the list.

    Attributes:
        sort: what it lists.
        title: heading.
        head: titles of its columns.
        rows: the first rows.
        total: number of all.
    """

    sort: Sort
    title: str
    head: tuple[str, ...]
    rows: list[Row]
    total: int


@dataclass
class Pages:
    """Pages over some folders.

    Attributes:
        folders: the folders.
        work: folder for the data of reports that are too large for one page.
        reports: reports that are in the folders.
    """

    folders: Folders
    work: Path
    reports: ReportFiles = field(init=False)
    _rows: Rows = field(default_factory=Rows)
    _made: dict[str, tuple[object, bytes]] = field(default_factory=dict)
    _opened: tuple[Found, Package] | None = None
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """Start without reports whose files the viewer may serve."""
        self.reports = ReportFiles(self.folders)

    def render_list(self, search: str, n_shown: int, is_part: bool, known_state: str) -> str:
        """Write the list of files as HTML, or its changing part ("" if still in ``known_state``).

        Args:
            search: words that names of files must contain.
            n_shown: most rows of each table.
            is_part: whether only the part that changes is wanted.
            known_state: state that the reader has: the HTML is empty if it is still the same.
        """
        listing = self.folders.scan()
        words = search.casefold()
        chosen = [f for f in listing.found if words in f.name.casefold()]
        state = repr([one.state for one in chosen]) + repr(listing.works)
        tag = sha256(state.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        if is_part and known_state == tag:
            return ""
        sections = [
            Section(sort, title, head, [*map(self._rows.read, of[:n_shown])], len(of))
            for sort, (title, head) in SECTIONS.items()
            if (of := [f for f in chosen if f.sort == sort])
        ]
        hashes = {row.benchmark_hash: row.found.key for row in self._packages(listing)}
        template = "lists.html.j2" if is_part else "view.html.j2"
        return page_templates(_TEMPLATES).get_template(template).render(
            sections=sections, works=listing.works, find=search, n_shown=n_shown, tag=tag,
            n_more=n_shown * 4, hashes=hashes, address=self.reports.make_address, plain=_plain,
            roots=[_plain(str(root)) for root in self.folders.roots], script=_read("view.js"),
            total=count_text(len(listing.found), "file"), styles=_read("view.css"),
        )  # fmt: skip

    def _packages(self, listing: Listing) -> list[Row]:
        """List the rows of all listed packages that can be read."""
        return [r for f in listing.select("packages") if not (r := self._rows.read(f)).problem]

    def _package_of(self, benchmark_hash: str, listing: Listing) -> Found | None:
        """Find the listed package with a benchmark hash; None if there is none."""
        rows = (row for row in self._packages(listing) if row.benchmark_hash == benchmark_hash)
        return next((row.found for row in rows if benchmark_hash), None)

    def render_report(self, file_keys: Sequence[str]) -> bytes:
        """Write the report page of the score files that a URL names by their keys."""
        listing = self.folders.scan()
        chosen = _choose(listing, file_keys, ("scores",))

        def make(out: Path) -> bytes:
            """Make the report page of the chosen scores, as if it were saved at ``out``."""
            files = [load_scores(one.path) for one in chosen]
            package = self._package_of(files[0].benchmark_hash, listing)
            if package is None or len({f.benchmark_hash for f in files}) > 1:
                return page_report(files, out=out, home_url=_HOME)[0]
            benchmark = Benchmark(package.path)
            files = [_with_labels(file, benchmark) for file in files]
            return page_report(files, out=out, audit=read_audit(benchmark), home_url=_HOME)[0]

        return self._get_or_make("report", chosen, make)

    def render_answers(self, file_keys: Sequence[str]) -> bytes:
        """Write the report page of a submission, scored by the measures that need no judge.

        Raises:
            InputError: its package is not below the folders.
        """
        listing = self.folders.scan()
        (one,) = _choose(listing, file_keys[:1], ("submissions",))
        packages = self._packages(listing)
        named = self._rows.read(one).benchmark_hash
        found = self._package_of(named, listing)
        if found is None and not named and len(packages) == 1:
            found = packages[0].found  # it names none, and there is no other
        if found is None:
            raise InputError(
                "answers a package that is not below the folders", path=one.name,
                allowed="citeforge view FOLDER with the folder of the package, too",
                code="missing-file",
            )  # fmt: skip

        def make(out: Path) -> bytes:
            """Score the submission; make its report page, as if it were saved at ``out``."""
            benchmark = Benchmark(found.path)
            is_design = benchmark.kind.facts.is_design
            fields = [] if is_design else slice_columns(benchmark.queries)
            options = ScoreOptions(details=True, by=tuple(fields))
            scored = score_files([one.path], benchmark, options)
            return page_report([s.file for s in scored.scores], out=out, home_url=_HOME)[0]

        return self._get_or_make("answers", [one, found], make)

    def render_comparison(self, file_keys: Sequence[str], across: Sequence[str] = ()) -> bytes:
        """Write the page that compares score files, also by the slices that all of them have.

        Args:
            file_keys: names the files.
            across: parts of signatures in which they may differ.

        Raises:
            InputError: there are fewer than two files, or they cannot be compared.
        """
        chosen = _choose(self.folders.scan(), file_keys, ("scores",))
        if len(chosen) < 2:
            raise InputError(
                "a comparison needs at least two score files", allowed="choose more of the list",
                code="too-few",
            )  # fmt: skip

        def make(_: Path) -> bytes:
            """Make the page that compares the scores, or an error page if they cannot be."""
            files = [load_scores(one.path) for one in chosen]
            try:
                comparison = compare_many(files, across=across, slice_fields=slice_fields(files))
            except InputError as error:
                parts = find_parts_across(files)
                if not parts:
                    raise
                named = ",".join(parts)
                link = f"?across={named}", f"Compare them across {', '.join(parts)}"
                return error_page("Not comparable", error.message, home_url=_HOME, link=link)
            return comparison_page(describe_comparison(comparison), _HOME).encode()

        return self._get_or_make("compare", chosen, make, across)

    def render_card(self, file_keys: Sequence[str]) -> bytes:
        """Write the page of a package's card.

        Raises:
            InputError: it has none.
        """
        (one,) = _choose(self.folders.scan(), file_keys[:1], ("packages",))
        card = self.folders.resolve(one.path / CARD)
        if card is None:
            raise InputError(
                f"has no {CARD}", path=one.name, allowed=f"citeforge export card {one.name}",
                code="missing-file",
            )  # fmt: skip
        text = card.read_text(encoding="utf-8", errors="replace")
        if text.startswith("---\n"):
            text = text.partition("\n---\n")[2]
        page = page_templates(_TEMPLATES).get_template("card.html.j2").render(
            title=_plain(one.name), key=one.key, card=render_markdown(text),
            styles=_read("view.css"),
        )  # fmt: skip
        return page.encode()

    def render_queries(
        self, file_keys: Sequence[str], search: str, field_value: str, n_shown: int
    ) -> bytes:
        """Write the page that lists a package's queries, filtered by words and by a field.

        Args:
            file_keys: names the package.
            search: words that the text of a query, or its id, must contain.
            field_value: ``field=value`` that a query must have; empty for all.
            n_shown: most queries that are listed.
        """
        one, package = self._open_package(file_keys)
        columns = slice_columns(package.queries)
        slices = {
            f"{name}={value}": (name, value)
            for name, values in columns.items()
            for value in dict.fromkeys(values)
        }
        field, value = slices.get(field_value, ("", ""))
        words, texts = search.casefold(), package.queries["text"].to_pylist()
        chosen = [
            (row, query, texts[row])
            for row, query in enumerate(package.query_ids)
            if words in f"{query} {texts[row]}".casefold()
            and (not field or columns[field][row] == value)
        ]
        text = page_templates(_TEMPLATES).get_template("queries.html.j2").render(
            title=_plain(one.name), key=one.key, queries=chosen[:n_shown], total=len(chosen),
            n_more=n_shown * 4, slices=slices, part=field_value, find=search,
            styles=_read("view.css"),
        )  # fmt: skip
        return text.encode()

    def render_query(self, file_keys: Sequence[str], row: int) -> bytes:
        """Write the page of the query at index ``row``: its passages or triples, with labels.

        Args:
            file_keys: names the package.
            row: its number in the package, from 0.

        Raises:
            InputError: there are fewer queries.
        """
        one, package = self._open_package(file_keys)
        if row >= len(package):
            raise InputError(
                "has no such query", path=one.name, allowed="go back to its queries",
                code="missing-file",
            )  # fmt: skip
        text = page_templates(_TEMPLATES).get_template("question.html.j2").render(
            title=_plain(one.name), page=query_page(package, package.query_ids[row]),
            before=str(row - 1) if row else "", styles=read_assets("query.css"),
            after=str(row + 1) if row + 1 < len(package) else "",
        )  # fmt: skip
        return text.encode()

    def _open_package(self, file_keys: Sequence[str]) -> tuple[Found, Package]:
        """Open the package that a URL names: (its listing entry, package); keep it open."""
        (one,) = _choose(self.folders.scan(), file_keys[:1], ("packages",))
        with self._lock:
            if self._opened is None or self._opened[0] != one:
                self._opened = one, Package(one.path)
            return self._opened

    def read_chunk(self, page: str, file_keys: Sequence[str], name: str) -> bytes | None:
        """Read a chunk of data of a large report; None if there is no such chunk."""
        kept = self._made.get(_page_key(page, file_keys))
        path = self.work / _page_key(page, file_keys) / "page.data" / name
        return path.read_bytes() if kept is not None and path.is_file() else None

    def _get_or_make(
        self,
        page: str,
        chosen: Sequence[Found],
        make: Callable[[Path], bytes],
        options: Sequence[str] = (),
    ) -> bytes:
        """Make a page of the chosen files, or return the cached one if they have not changed.

        Args:
            page: name of the page.
            chosen: files that it is of; those that its address names come first.
            make: makes the page; gets its path, beside which it may write chunks of data.
            options: what else its address names.
        """
        keys = [one.key for one in chosen if page != "answers" or one.sort == "submissions"]
        key, state = _page_key(page, [*keys, *options]), tuple(one.state for one in chosen)
        with self._lock:
            kept = self._made.get(key)
            if kept is None or kept[0] != state:
                (self.work / key).mkdir(exist_ok=True)
                kept = state, make(self.work / key / "page.html")
                self._made[key] = kept
            while len(self._made) > _MOST_KEPT:
                oldest = next(iter(self._made))
                del self._made[oldest]
                remove_tree(self.work / oldest)
            return kept[1]


def _page_key(page: str, keys: Sequence[str]) -> str:
    """Make the cache key of a page from its name and the keys of its files."""
    return f"{page}-{sha256('+'.join(keys).encode()).hexdigest()[:16]}"


def _choose(listing: Listing, keys: Sequence[str], sorts: Sequence[Sort]) -> list[Found]:
    """Find the listed files, of the given ``sorts``, that the keys in a URL name.

    Raises:
        InputError: one is not there, or none is named.
    """
    by_key: Mapping[str, Found] = {f.key: f for f in listing.found if f.sort in sorts}
    if not keys or any(key not in by_key for key in keys):
        raise InputError(
            "there is no such file any more" if keys else "nothing is chosen",
            allowed="go back to the list, and choose there", code="missing-file",
        )  # fmt: skip
    return [by_key[key] for key in dict.fromkeys(keys)]


def _with_labels(file: ScoreFile, benchmark: Benchmark) -> ScoreFile:
    """Add to a score file the query fields by which pages filter answers, if it has none."""
    if file.slices or file.query_ids != benchmark.query_ids:
        return file
    return file.model_copy(update={"slices": label_slices(benchmark)})


def _plain(text: str) -> str:
    """Write a path as text; bytes of its name that are no UTF-8 become replacement characters."""
    return os.fsencode(text).decode("utf-8", "replace")


def _read(name: str) -> str:
    """Read a style sheet or script of the viewer's pages."""
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def error_page(
    title: str,
    message: str,
    advice: str = "",
    home_url: str = "",
    link: tuple[str, str] | None = None,
) -> bytes:
    """Write an HTML page about an error, with links to the viewer's list and to a remedy.

    Args:
        title: heading.
        message: what is wrong.
        advice: what to do; empty for nothing.
        home_url: address of the list; empty for no link.
        link: (address, text) of a page that does it; None for none.
    """
    values: dict[str, Any] = {
        "title": title,
        "message": message,
        "advice": advice,
        "home": home_url,
    }
    values |= {"styles": "", "link": link}
    return page_templates(_TEMPLATES).get_template("problem.html.j2").render(values).encode()


def start_page(url: str) -> bytes:
    """Write an HTML page that redirects to the viewer's list."""
    return page_templates(_TEMPLATES).get_template("start.html.j2").render(url=url).encode()
