"""The server of `citeforge view`: what it shows, to whom, and what it never sends."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from signal import Signals
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.engines.progress import progress
from citeforge.engines.progress_files import progress_file
from citeforge.library.viewer.server import open_viewer
from citeforge.package.package import Package
from citeforge.reports.pages.markup import PlotPart
from conftest import Inline, refused
from conftest_plots import scored
from conftest_viewer import Served, served
from patience import patience, until

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without plots, which take seconds to draw."""
    monkeypatch.setattr("citeforge.reports.pages.page.plots_part", lambda _: PlotPart("", "", {}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two score files, one of a system with a hostile name, and a report."""
    for number, name in enumerate((HOSTILE, "plain")):
        file = scored(name, {"CiteP": [0.5, 0.0, number]})
        (tmp_path / f"{number}.json").write_text(file.to_line())
    (tmp_path / "page.html").write_text("<p>A report</p>")
    return tmp_path


def test_only_with_the_token_and_under_its_own_name(folder: Path) -> None:
    with served(folder) as site:
        assert site.get().status == 200
        port = urlsplit(site.url).port
        assert site.get(host=f"localhost:{port}").status == 200
        # Another name could be one that a site lets lead here (DNS rebinding).
        for host in (f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil:{port}", ""):
            assert site.get(host=host).status == 403, host
        token = urlsplit(site.url).path.strip("/")
        assert len(token) >= 22  # 16 random bytes
        for path in ("/", f"/{token[:-1]}/", f"/{token}x/", "/../", f"/x/{token}/"):
            page = site.get(path)
            assert page.status == 403, path
            assert token not in page.text
        rules = site.get().headers
        assert rules["Referrer-Policy"] == "no-referrer"
        assert "default-src 'none'" in rules["Content-Security-Policy"]


def test_it_listens_on_loopback_alone(folder: Path) -> None:
    with open_viewer([folder]) as viewer:
        assert urlsplit(viewer.url).hostname == "127.0.0.1"
        assert viewer._server.server_address[0] == "127.0.0.1"


def test_it_only_reads(folder: Path) -> None:
    before = {p: p.read_bytes() for p in folder.rglob("*")}
    with served(folder) as site:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            page = site.get(method=method)
            assert (page.status, page.headers["Allow"]) == (405, "GET, HEAD")
        head = site.get(site.report("/page.html"), "HEAD")
        assert (head.status, head.text, head.headers["Content-Length"]) == (200, "", "15")
        site.get(f"report/{site.key('r')}/")
    assert {p: p.read_bytes() for p in folder.rglob("*")} == before


def test_no_path_leaves_the_folders(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.html").write_text("secret")
    (outside / "s.json").write_text(scored("secret", {"CiteP": [1.0, 0.0]}).to_line())
    (folder / "inner").mkdir()
    (folder / "link.html").symlink_to(outside / "secret.html")
    (folder / "link.json").symlink_to(outside / "s.json")
    (folder / "linked").symlink_to(outside)
    (folder / "inside.html").symlink_to(folder / "page.html")
    (folder / ".hidden.html").write_text("secret")
    (folder / "link-2.html").symlink_to(folder / ".hidden.html")
    (folder / "data.jsonl").write_text("secret")
    up = f"../{outside.name}/secret.html"
    paths = [
        up, up.replace("/", "%2f"), up.replace("..", "%2e%2e"), f"inner/../{up}",
        f"%2f{quote(str(outside / 'secret.html'), safe='')}", "link.html",
        "linked/secret.html", "link-2.html", ".hidden.html", "data.jsonl", "0.json", "inner", "",
        "page.html/", "page.html%00.html",
        "./page.html", "nothing.html", f"..%5c{outside.name}%5csecret.html",
    ]  # fmt: skip
    with served(folder) as site:
        text = site.get().text
        assert (
            "secret" not in text and "link.html" not in text and "link-2.html" not in text
        )  # nor are they listed
        report = site.report("/page.html")
        for path in paths:
            for start in (report.removesuffix("page.html"), "file/0/"):
                page = site.get(start + path)
                assert page.status in (403, 404), path
                assert "secret" not in page.text
        assert site.get(report).text == "<p>A report</p>"
        assert site.get(site.report("/inside.html")).text == "<p>A report</p>"


def test_a_report_of_the_folder_cannot_read_the_rest(folder: Path) -> None:
    """Its address opens it and its data alone, and is the only one that its rules name."""
    for name in ("page", "mine"):
        (folder / f"{name}.data").mkdir()
        (folder / f"{name}.data" / "q.js").write_text(f"{name}()")
    (folder / "mine.html").write_text("mine")
    (folder / "page.data" / "linked.js").symlink_to(folder / "mine.data" / "q.js")
    (folder / "page.data" / "inner").symlink_to(folder / "mine.data")
    with served(folder) as site:
        address = site.report("/page.html")
        token = address.split("/")[1]
        assert len(token) >= 22 and token not in site.url
        headers = site.get(address).headers
        rules = headers["Content-Security-Policy"]
        assert rules.startswith("sandbox allow-scripts allow-downloads; default-src 'none'")
        assert "connect-src" not in rules  # so that the default is meant: none
        assert "allow-same-origin" not in rules
        port = urlsplit(site.url).port
        own = {f"http://{host}:{port}/{token}/" for host in ("127.0.0.1", "localhost")}
        assert set(re.findall(r"http:[^\s;]+", rules)) == own
        assert headers["Cross-Origin-Resource-Policy"] == "cross-origin"
        assert site.get().headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert site.get(f"/{token}/page.data/q.js").text == "page()"
        for other in (
            "mine.html", "mine.data/q.js", "page.data/linked.js", "page.data/inner/q.js", "0.json",
            "", f"report/{site.key('r')}/", "../",
        ):  # fmt: skip
            assert site.get(f"/{token}/{other}").status == 404, other
        assert site.report("/page.html") == address
    with served(folder) as site:
        assert site.report("/page.html") != address


def test_a_leaderboard_has_one_address(folder: Path) -> None:
    """With its pages and scripts, and without the data of reports that are among them."""
    for name in ("board/systems", "board/mine.data"):
        (folder / name).mkdir(parents=True)
    for name in ("index.html", "ranking.js", "systems/a.html", "mine.data/q.js", ".hidden.js"):
        (folder / "board" / name).write_text(name)
    with served(folder) as site:
        text = site.get().text
        assert text.index("Leaderboards") < text.index("Scores") < text.index("Reports")
        start = site.report("/index.html").removesuffix("index.html")
        for name in ("index.html", "ranking.js", "systems/a.html"):
            assert site.get(start + name).text == name
        for name in ("mine.data/q.js", ".hidden.js", "../page.html", "page.html"):
            assert site.get(start + name).status == 404, name


def test_hostile_names_are_texts(folder: Path) -> None:
    name = "<script>alert(2)<&\u202e.html"
    (folder / name).write_text("<p>Odd name</p>")
    (folder / "0.json").rename(folder / '"><b>0.json')
    (folder / os.fsdecode(b"\xff.html")).write_text("<p>No UTF-8</p>")
    with served(folder) as site:
        text = site.get().text
        assert "<img src=x" not in text and "<script>alert(2)" not in text and "<b>" not in text
        assert "&lt;img src=x onerror=alert(1)&gt;" in text
        assert site.get(site.report(quote(name))).text == "<p>Odd name</p>"
        assert site.get(site.report("/%FF.html")).text == "<p>No UTF-8</p>"
        assert HOSTILE not in site.get(f"?find={quote(HOSTILE)}").text
        page = site.get(f"compare?f={site.key('r')}&f={site.key('r', 1)}")
        assert page.status == 303
        compared = site.get(page.headers["Location"])
        assert compared.status == 200
        assert "plain" in compared.text and HOSTILE not in compared.text


def with_link(page: str) -> str:
    """A page of a command with the viewer's link back to the list."""
    start = '<main id="main">\n'
    return page.replace(start, f'{start}<p><a href="../../">All files</a></p>\n')


def test_the_pages_are_those_of_the_commands(folder: Path, tmp_path: Path) -> None:
    one, two = (folder / f"{n}.json" for n in (0, 1))
    with served(folder) as site:
        keys = {site.get(f"report/{site.key('r', n)}/").text: site.key("r", n) for n in (0, 1)}
        assert set(keys) == {with_link(cf.report(p, kind="html").text) for p in (one, two)}
        first, second = (keys[with_link(cf.report(p, kind="html").text)] for p in (one, two))
        both = site.get(f"report/{first}+{second}/").text
        assert both == with_link(cf.report([one, two], kind="html").text)
        cf.compare(one, two, out=folder / "c.html")
        compared = with_link((folder / "c.html").read_text())
        assert site.get(f"compare/{first}+{second}/").text == compared
        assert "least two" in site.get(f"compare/{first}/").text
        for page in ("report", "compare"):
            none = site.get(site.get(page).headers["Location"])
            assert none.status == 422 and "nothing is chosen" in none.text
        gone = site.get("report/000000000000/")
        assert gone.status == 422 and "no such file any more" in gone.text
        # A file that changes has another page at once.
        one.write_text(scored("changed", {"CiteP": [1.0, 1.0, 1.0]}).to_line())
        changed = with_link(cf.report(one, kind="html").text)
        assert site.get(f"report/{first}/").text == changed


def test_files_of_two_contexts_are_compared_when_asked(tmp_path: Path) -> None:
    for name, context in (("first", "gold"), ("second", "mix")):
        file = scored(name, {"CiteP": [0.5, 0.0, 1.0]})
        other = file.to_line().replace("ctx:mix", f"ctx:{context}")
        (tmp_path / f"{name}.json").write_text(other)
    with served(tmp_path) as site:
        address = f"compare/{site.key('r')}+{site.key('r', 1)}/"
        page = site.get(address).text
        assert "not comparable on CiteP" in page and "--across" not in page
        assert '<a href="?across=contexts">Compare them across contexts</a>' in page
        compared = site.get(f"{address}?across=contexts").text
        assert "across ctx:" in compared and "Comparison of systems" in compared
        assert "not comparable on CiteP" in site.get(address).text
        assert site.get(f"{address}?across=../x").status == 422


def test_large_reports_load_their_data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citeforge.reports.pages.page.MOST_INLINE", 0)
    with served(folder) as site:
        key = site.key("r")
        assert 'data-chunks="page.data"' in site.get(f"report/{key}/").text
        chunk = site.get(f"report/{key}/page.data/q.js")
        assert chunk.headers["Content-Type"].startswith("text/javascript")
        assert chunk.text.startswith('citeforgeChunk("q",')
        for name in ("gone.js", "%2e%2e%2fpage.html", ".."):
            assert site.get(f"report/{key}/page.data/{name}").status == 404


def test_what_is_damaged_is_named_and_the_rest_is_shown(folder: Path) -> None:
    (folder / "bad.json").write_text('{"scores_version": 1, "system": 3}')
    (folder / "other.json").write_text('{"a": 1}')
    (folder / "pack").mkdir()
    (folder / "pack" / "manifest.json").write_text("{")
    (folder / "answers.jsonl").write_text('{"submission": {"system": "s"}}\n{"query_id": "a"}\n')
    os.mkfifo(folder / "pipe.json")
    with served(folder) as site:
        text = site.get().text
        assert text.count("is damaged: ") == 2
        assert "bad.json" in text and "other.json" not in text and "pipe.json" not in text
        assert "1 answer<" in text and "package not here" in text
        assert "plain" in text


def test_no_file_ends_the_list(folder: Path) -> None:
    """Neither one that is nested too deeply for the decoder, nor a pipe that nobody writes to."""
    deep = "[" * 100_000
    (folder / "deep.json").write_text('{"scores_version": 1, "x": ' + deep)
    (folder / "deep.jsonl").write_text('{"submission": {"system": ' + deep)
    (folder / "pack").mkdir()
    (folder / "pack" / "manifest.json").write_text('{"x": ' + deep)
    os.mkfifo(folder / ".progress.pipe.0.citeforge.tmp")
    (folder / ".progress.deep.0.citeforge.tmp").write_text('{"x": ' + deep)
    (folder / ".progress.link.0.citeforge.tmp").symlink_to(folder / "0.json")
    with served(folder) as site:
        page = site.get()
        assert page.status == 200
        assert "deep.json" in page.text and "plain" in page.text
        assert page.text.count('class="bad"') == 3
        assert "At work" not in page.text


def test_answers_are_scored_by_the_fields_of_their_package(package: Path, inline: Inline) -> None:
    inline.ok("run", "random", "--benchmark", package, "--out", "r.jsonl")
    with served(inline.folder, package.parent) as site:
        text = site.get().text
        assert "30 answers" in text and "random (control)" in text
        page = site.get(f"answers/{site.key('a')}/")
        assert page.status == 200
        assert 'id="explorer"' in page.text and "CiteF1" in page.text
        card = site.get(f"card/{site.key('c')}/").text
        assert "How it was built" in card


def test_an_incomplete_copy_of_a_package_is_not_taken(package: Path, inline: Inline) -> None:
    inline.ok("run", "random", "--benchmark", package, "--out", "r.jsonl")
    copy = shutil.copytree(package, inline.folder / "copy")
    (copy / "queries" / "queries-00000-of-00001.parquet").unlink()
    os.utime(copy / "manifest.json")  # the last changed
    with served(inline.folder, package.parent) as site:
        gap = "is not complete: queries/queries-00000-of-00001.parquet is missing"
        assert gap in site.get().text
        assert site.get(f"answers/{site.key('a')}/").status == 200


def test_queries_are_listed_and_filtered_by_metadata(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every third query is of the kind that could be code."""
    table = Package(package).queries
    kinds = [json.dumps({"kind": ("<b>", "moon", "lake")[n % 3]}) for n in range(30)]
    at = table.column_names.index("metadata")
    labelled = table.set_column(at, "metadata", pa.array(kinds))
    monkeypatch.setattr(Package, "queries", property(lambda _: labelled))
    with served(package.parent) as site:
        start = f"queries/{site.key('q')}/"
        text = site.get(start).text
        assert text.count("<li>") == 30 and "30 queries" in text
        assert "kind: &lt;b&gt;</option>" in text and "<b>" not in text
        moons = site.get(f"{start}?slice=kind%3Dmoon").text
        assert moons.count("<li>") == 10 and 'href="1.html"' in moons
        assert site.get(f"{start}?slice=kind%3Dgone").text.count("<li>") == 30
        assert site.get(f"{start}?find=CASPIAN").text.count("<li>") == 1
        few = site.get(f"{start}?show=7").text
        assert few.count("<li>") == 7 and "30 queries, the first 7 shown" in few
        page = site.get(f"{start}1.html").text
        assert "Query q02" in page and "<dt><bdi>kind</bdi></dt><dd><bdi>moon</bdi></dd>" in page
        assert 'href="0.html">Previous' in page and 'href="2.html">Next' in page
        assert 'class="passage relevant"' in page
        assert site.get(f"{start}30.html").status == 422
        assert site.get(f"{start}x.html").status == 404


def test_many_files_are_listed_in_parts(tmp_path: Path) -> None:
    for n in range(120):
        (tmp_path / f"r{n:03}.html").write_text("")
        os.utime(tmp_path / f"r{n:03}.html", (n, n))
    with served(tmp_path) as site:
        text = site.get().text
        assert "50 of 120, the last changed first" in text
        assert "r119.html" in text and "r069.html" not in text
        assert "r000.html" in site.get("?show=200").text
        found = site.get("?find=R00").text
        assert "r009.html" in found and "r010.html" not in found
        assert "No name contains" in site.get("?find=nothing").text
        for odd in ("-1", "0", "x", "9" * 30, "%00"):
            assert site.get(f"?show={odd}").status == 200


def test_the_part_that_changes(folder: Path) -> None:
    """Nothing is sent while nothing changes; then the new file, and what a command does."""
    with served(folder) as site:
        tag = site.get().text.split('data-tag="')[1].split('"')[0]
        assert site.get(f"?part=1&since={tag}").status == 204
        with (
            progress_file("score", folder / "new.json"),
            progress("judging", 9, "pairs") as advance,
        ):
            advance(4)
            until(lambda: "judging: 4 of 9 pairs" in site.get(f"?part=1&since={tag}").text)
        until(lambda: site.get(f"?part=1&since={tag}").status == 204)
        (folder / "new.html").write_text("")
        part = site.get(f"?part=1&since={tag}").text
        assert "new.html" in part and "<html" not in part


def test_folders_and_ports(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "file").write_text("")
    assert inline("view", tmp_path / "file").code == "not-a-folder"
    assert inline("view", tmp_path / "gone").returncode == 1
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        ran = inline("view", tmp_path, "--port", port)
        assert (ran.returncode, ran.code) == (2, "out-of-range")
        assert f"--port {port}: " in ran.stderr and "leave it out for a free one" in ran.stderr
        with refused("out-of-range", cf.UsageError), open_viewer([tmp_path], port):
            pass
    assert inline("view", tmp_path, "--port", "70000").returncode == 2


def test_it_opens_a_browser_only_if_asked(
    folder: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: bool(asked.append(url)))
    monkeypatch.setattr("citeforge.library.viewer.server.Viewer.serve", lambda _: None)
    ran = inline.ok("view", folder)
    assert ran.stdout.startswith("http://127.0.0.1:") and asked == []
    ran = inline.ok("view", folder, "--open")
    assert "no browser was found" in ran.stderr
    # Other users may see the browser's arguments: it gets a file that they cannot read.
    (address,) = asked
    assert address.startswith("file:///")
    assert ran.stdout.strip().split("/")[3] not in address
    with open_viewer([folder]) as viewer:
        viewer.open_browser()
        path = Path(unquote(urlsplit(asked[-1]).path))
        assert viewer.url in path.read_text()
        assert path.stat().st_mode & 0o077 == 0
    assert not path.exists()


def test_few_pages_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older one is made again, with its data."""
    monkeypatch.setattr("citeforge.library.viewer.pages._MOST_KEPT", 1)
    monkeypatch.setattr("citeforge.reports.pages.page.MOST_INLINE", 0)
    with served(folder) as site:
        first, second = site.key("r"), site.key("r", 1)
        page = site.get(f"report/{first}/").text
        site.get(f"report/{second}/")
        assert site.get(f"report/{first}/page.data/q.js").status == 404
        assert site.get(f"report/{first}/").text == page
        assert site.get(f"report/{first}/page.data/q.js").status == 200


PROGRAM = """
import os, sys, time
sys.stdin.read()
os.close(os.open(f"asked-{os.getpid()}", os.O_CREAT))
while len([n for n in os.listdir(".") if n.startswith("asked")]) > 5 and not os.path.exists("go"):
    time.sleep(0.05)
print("It is so [1].")
"""


def command(folder: Path, *words: object, **more: str) -> subprocess.Popen[str]:
    """Start a command in another process."""
    line = [sys.executable, "-m", "citeforge", *map(str, words)]
    return subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **more},
    )  # fmt: skip


@pytest.mark.slow
def test_a_run_in_another_process_is_watched(package: Path, tmp_path: Path) -> None:
    """Its program answers five prompts, and the others when it may."""
    (tmp_path / "rag.py").write_text(PROGRAM)
    with served(tmp_path) as site:
        words = ("run", f"exec:{sys.executable} rag.py", "--benchmark", package)
        run = command(tmp_path, *words, "--out", "mine.jsonl")
        until(lambda: "answering: 5 of 30 answers" in site.get().text, 120)
        assert "mine.jsonl" in site.get().text
        assert not (tmp_path / "mine.jsonl").exists()
        (tmp_path / "go").write_text("")
        _, errors = run.communicate(timeout=patience(120))
        assert run.returncode == 0, errors
        text = site.get().text
        assert "At work" not in text and "30 answers" in text


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_the_command_prints_its_address_and_ends_well(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, signal: str
) -> None:
    work = tmp_path_factory.mktemp("work")
    run = command(folder, "view", ".", TMPDIR=str(work))
    assert run.stdout is not None
    site = Served(run.stdout.readline().strip())
    assert site.get().status == 200
    assert site.get(f"report/{site.key('r')}/").status == 200
    run.send_signal(Signals[signal])
    _, errors = run.communicate(timeout=patience(60))
    assert run.returncode == 0
    assert errors.endswith("Ctrl-C ends it\n") and "Traceback" not in errors
    assert [*work.iterdir()] == []  # the data of the report are gone


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("n_signals", [1, 2, 50])
def test_it_ends_well_as_soon_as_its_address_is_there(folder: Path, n_signals: int) -> None:
    run = command(folder, "view", ".")
    assert run.stdout is not None and run.stdout.readline().startswith("http://127.0.0.1:")
    for _ in range(n_signals):
        run.send_signal(Signals.SIGINT)
    assert run.communicate(timeout=patience(60))[1] in ("", "Ctrl-C ends it\n")
    assert run.returncode == 0
