"""The app of the Space in a real browser: the wheel and Gradio in an environment of their own.

`make space-env` makes that environment. The Hub and its sign-in are stand-ins; whatever the app or
its pages ask from elsewhere is noted.
"""

import base64
import hashlib
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from benchmarks.hidden_board import Board, make_board, write_runs

from citeforge.plugins.leaderboard.space import TOKEN
from citeforge.plugins.leaderboard.start import SCORING_SPACE, start_leaderboard
from conftest import EXAMPLES, ROOT, run_process
from conftest_boards import EVIL
from conftest_pages import expect, required, serious_faults
from patience import patience
from servers.hub import Hub, Repo, blob_id, hub_server
from servers.sign_in import SECRET, SignIn, sign_in_server

PYTHON = ROOT / "build" / "space" / "bin" / "python"
ANSWERS = EXAMPLES / "labels" / "answers.jsonl"
QUEUE = "ann/queue"
OWNER = "hf_SecretOfTheOwner0123456789"

pytestmark = pytest.mark.slow


@dataclass
class App:
    """A running app, and what it asked for."""

    url: str
    hub: Hub
    sign_in: SignIn
    board: Board
    log: Path
    outside: list[str] = field(default_factory=list)


def put_package(hub: Hub, name: str, folder: Path) -> None:
    """Put a package's files into a public repository of the stand-in."""
    files = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        content = path.read_bytes()
        hub.blobs[blob_id(content)] = content
        files[path.relative_to(folder).as_posix()] = {
            "oid": blob_id(content), "size": len(content),
        }  # fmt: skip
    hub.repos[name] = Repo()
    hub.repos[name].commit("main", files, "package")


@pytest.fixture(scope="module")
def outside() -> Iterator[tuple[str, list[str]]]:
    """A proxy that lets nothing through, and what it was asked for."""
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def refuse(self) -> None:
            asked.append(self.requestline)
            self.send_error(502)

        do_GET = do_POST = do_CONNECT = do_HEAD = refuse

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def app(
    package: Path, tmp_path_factory: pytest.TempPathFactory, outside: tuple[str, list[str]]
) -> Iterator[App]:
    """The app as a Space with sign-in runs it, with an open board and a hidden one."""
    if not PYTHON.exists():
        required("environment of the Space (make space-env)")
    root = tmp_path_factory.mktemp("app")
    board = make_board(root, 30, passages=500)
    specs = ["facts=hub:ann/facts", "closed=hub:ann/closed"]
    start_leaderboard(root / "space", specs, title="Cited facts", space=True, queue=QUEUE)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with hub_server(token=OWNER) as hub, sign_in_server() as sign_in:
        put_package(hub, "ann/facts", package)
        put_package(hub, "ann/closed", root / "public")
        hub.repos[QUEUE] = Repo(private=True)
        hub.repos[QUEUE].commit("main", {}, "initial commit")
        own = {"PATH": os.environ["PATH"], "HOME": str(root), "HF_HOME": str(root / "hf")}
        proxies = dict.fromkeys(
            ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), outside[0]
        )
        env = {
            **own, **proxies, **sign_in.environment, "NO_PROXY": "127.0.0.1,localhost",
            "HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", TOKEN: OWNER,
            "GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1",
            "GRADIO_TEMP_DIR": str(root / "uploads"),
        }  # fmt: skip
        log = root / "log.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [PYTHON, "app.py"], cwd=root / "space" / SCORING_SPACE, env=env, stdout=output,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        url = f"http://127.0.0.1:{port}"
        try:
            wait_until_up(url, process, log)
            yield App(url, hub, sign_in, board, log, outside[1])
        finally:
            process.terminate()
            process.wait()


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + patience(120)
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(url).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the app did not start: {log.read_text()}")


@pytest.fixture
def page(browser: Any, app: App) -> Iterator[Any]:
    """The app's page; nothing that it gets has a secret, and it asks for nothing from outside."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(1000 * patience(60))
    found = context.new_page()
    errors: list[str] = []
    asked: list[str] = []
    bodies: list[str] = []

    def look(response: Any) -> None:
        if response.request.resource_type in ("document", "fetch", "xhr", "eventsource"):
            bodies.append(response.url)

    def route(handler: Any) -> None:
        url = handler.request.url
        asked.append(url)
        if url.startswith((app.url, app.sign_in.url)):
            handler.continue_()
        else:
            handler.abort()

    context.route("http*://**", route)
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.on("response", look)
    found.goto(app.url)
    yield found
    assert [u for u in asked if not u.startswith((app.url, app.sign_in.url, "data:"))] == []
    assert bodies
    assert OWNER not in found.content()
    assert errors == []
    assert app.outside == []
    said = app.log.read_text()
    assert OWNER not in said
    assert SECRET not in said


def choose_board(page: Any, name: str) -> None:
    page.get_by_label("Board").click()
    page.get_by_role("option", name=name).click()


def drop(page: Any, path: Path) -> None:
    page.locator("input[type=file]").first.set_input_files(path)
    # The name that is shown while a file is uploaded is gone at once on a fast machine.
    expect(page.get_by_role("cell", name=path.name)).to_be_visible()


def check(page: Any, path: Path) -> Any:
    """Drop a file and have it checked and scored; the reply."""
    drop(page, path)
    page.get_by_role("button", name="Check and score").click()
    reply = page.locator(".reply")
    expect(reply).to_be_visible()
    return reply


def download(page: Any, app: App, name: str) -> bytes:
    link = page.locator(f"a[download='{name}']")
    expect(link).to_be_visible()
    content = page.request.get(link.get_attribute("href")).body()
    assert isinstance(content, bytes)
    return content


def test_the_page_scores_as_the_command_does(
    page: Any, app: App, package: Path, tmp_path: Path
) -> None:
    words = ("score", ANSWERS, "--benchmark", package, "--details", "--out", "scores.json")
    done = run_process(words, tmp_path, {**os.environ})
    assert done.returncode == 0, done.stderr
    expect(check(page, ANSWERS)).to_contain_text("30 answers read, 0 errors")
    assert download(page, app, "scores.json") == (tmp_path / "scores.json").read_bytes()
    frame = page.frame_locator("iframe.report")
    wanted = json.loads((tmp_path / "scores.json").read_text())["measures"]
    for measure in wanted:
        expect(frame.get_by_text(f"{measure['value']:.2f}").first).to_be_visible()
    # The explorer shows an answer of the file, sentence by sentence.
    query = frame.get_by_text(re.compile(r"^q\d\d$")).first.inner_text()
    rows = [json.loads(line) for line in ANSWERS.read_text().splitlines()[1:]]
    (output,) = [row["output"] for row in rows if row["query_id"] == query]
    expect(frame.get_by_text(output.partition(" [")[0]).first).to_be_visible()


def test_errors_are_shown_with_line_and_fix(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text('{"query_id": "q01", "output": "[1]"}\n{"query_id": "q02", "output": 2}\n')
    reply = check(page, path)
    expect(reply).to_contain_text("Refused: 1 error")
    row = reply.locator("tbody tr").first
    expect(row.locator("td").first).to_have_text("2")
    expect(row).to_contain_text("put quotes around it")


def test_texts_of_participants_do_nothing(page: Any, tmp_path: Path) -> None:
    """HTML, JavaScript templates and Handlebars in names and answers stay text."""
    path = tmp_path / "evil.jsonl"
    evil = EVIL + "${document.title='owned'}{{#each this}}x{{/each}}"
    name = "<b onclick=alert(1)>${1+1}{{x}}</b>"
    rows = [{"submission": {"system": name}}, {"query_id": "q01", "output": evil + " [1]"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    expect(check(page, path)).to_contain_text("1 answer read")
    frame = page.frame_locator("iframe.report")
    expect(frame.get_by_role("heading", level=1)).to_contain_text(name)
    page.reload()
    rows[1]["query_id"] = evil
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reply = check(page, path)
    expect(reply).to_contain_text("Refused")
    expect(reply).to_contain_text("${document.title=")
    assert page.title() == "Cited facts"
    # The frame has an origin of its own: neither cookies nor the page around it are open to it.
    assert page.locator("iframe.report").count() in (0, 1)


def test_a_file_that_is_too_large_is_refused(page: Any, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        file.truncate(20_500_000)
    text = "20.5 MB, more than the 20 MB that this leaderboard takes"
    expect(check(page, path)).to_contain_text(text)
    with path.open("wb") as file:
        file.truncate(21_000_000)
    page.reload()
    page.locator("input[type=file]").first.set_input_files(path)
    expect(page.get_by_text("exceed the maximum allowed size of 20.0 M")).to_be_visible()


def sign_in(page: Any) -> None:
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Logout")).to_be_visible()


def test_submissions_of_an_account_go_to_the_queue(page: Any, app: App, tmp_path: Path) -> None:
    queries = app.board.queries
    path = write_runs(tmp_path / "mine.jsonl", "My system", [dict.fromkeys(queries, "So [1].")])
    choose_board(page, "closed")
    expect(check(page, path)).to_contain_text("The labels of this benchmark are hidden")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator(".reply")).to_contain_text("Sign in to submit")
    sign_in(page)
    choose_board(page, "closed")
    for number in range(4):
        runs = [dict.fromkeys(queries, f"So [{number + 1}].")]
        drop(page, write_runs(tmp_path / f"{number}.jsonl", f"system {number}", runs))
        page.get_by_role("button", name="Submit").click()
        text = "It is in the queue." if number < 3 else "the account ann has made 3 submissions"
        expect(page.locator(".reply")).to_contain_text(text)
        page.reload()
        choose_board(page, "closed")
    repo = app.hub.repos[QUEUE]
    names = sorted(repo.commits[repo.branches["main"]]["files"])
    assert names == [
        "history/closed.jsonl",
        *(f"submissions/closed/ann--system-{n}.jsonl" for n in range(3)),
    ]
    assert [title for title in repo.history() if "ann--" not in title] == ["initial commit"]


def test_two_visitors_at_once_get_their_own_scores(browser: Any, app: App, tmp_path: Path) -> None:
    pages = []
    for name in ("first", "second"):
        found = browser.new_context().new_page()
        found.set_default_timeout(1000 * patience(60))
        found.goto(app.url)
        rows = [{"submission": {"system": name}}, {"query_id": "q01", "output": "So [1]."}]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        drop(found, path)
        pages.append((name, found))
    for _, found in pages:
        found.get_by_role("button", name="Check and score").click()
    for name, found in pages:
        heading = found.frame_locator("iframe.report").get_by_role("heading", level=1)
        expect(heading).to_have_text(name)


SECRETS = ["/proc/self/environ", "leaderboard.yaml", "../leaderboard.yaml", "app.py", "/etc/passwd"]


def test_files_of_the_space_are_not_served(page: Any, app: App) -> None:
    for name in [*SECRETS, str(app.log)]:
        for form in (name, name.replace("/", "%2F"), f"{app.log.parent}/uploads/../../{name}"):
            reply = page.request.get(f"{app.url}/gradio_api/file={form}")
            assert reply.status in (400, 403, 404), (form, reply.status)


def call(page: Any, app: App, path: str, button: str) -> str:
    """What the server says to a request that no page of it makes: a path in place of an upload."""
    config = page.request.get(f"{app.url}/config").json()
    texts = {c["id"]: c["props"].get("value") for c in config["components"]}
    (found,) = [
        d for d in config["dependencies"] if any(texts.get(t[0]) == button for t in d["targets"])
    ]
    file = {"path": path, "meta": {"_type": "gradio.FileData"}, "orig_name": "a.jsonl"}
    page.request.post(
        f"{app.url}/gradio_api/queue/join",
        data={"data": [file, "closed"], "fn_index": found["id"], "session_hash": path[-9:]},
    )
    reply = page.request.get(f"{app.url}/gradio_api/queue/data?session_hash={path[-9:]}")
    return str(reply.text())


@pytest.mark.parametrize("button", ["Check and score", "Submit"])
def test_paths_in_place_of_uploads_are_refused(page: Any, app: App, button: str) -> None:
    for path in ("/etc/passwd", str(app.log), "/proc/self/environ"):
        said = call(page, app, path, button)
        assert '"success":false' in said
        assert "root:" not in said
        assert "Fetching" not in said


@pytest.mark.parametrize(("secret", "button"), [("", "Sign in"), (SECRET, "Logout")])
def test_a_made_up_session_is_not_signed_in(page: Any, app: App, secret: str, button: str) -> None:
    """Session cookies are signed with the secret of the Space; without one the key is known."""
    profile = {"preferred_username": "eve", "name": "Eve", "profile": "", "picture": ""}
    packed = base64.b64encode(json.dumps({"oauth_info": {"userinfo": profile}}).encode())
    key = hashlib.sha256(f"{secret}-v4".encode()).hexdigest()
    code = (
        "import sys; from itsdangerous import TimestampSigner;"
        "print(TimestampSigner(sys.argv[1]).sign(sys.argv[2]).decode())"
    )
    done = subprocess.run(
        [PYTHON, "-c", code, key, packed.decode()], text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    cookie = {"name": "session", "value": done.stdout.strip(), "url": app.url}
    page.context.add_cookies([cookie])
    page.reload()
    expect(page.get_by_role("button", name=button)).to_be_visible()


def test_nobody_is_shut_out(page: Any) -> None:
    expect(check(page, ANSWERS)).to_be_visible()
    assert serious_faults(page) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    expect(check(page, ANSWERS)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_space_that_cannot_start_says_why_in_one_line(tmp_path: Path) -> None:
    start_leaderboard(tmp_path / "space", ["facts=hub:ann/facts"], space=True)
    (tmp_path / "space" / "leaderboard.yaml").write_text("boards: [{name: a, benchmark: nowhere}]")
    done = subprocess.run(
        [PYTHON, "app.py"], cwd=tmp_path / "space" / SCORING_SPACE, text=True, check=False,
        capture_output=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and "nowhere" in line


def test_without_sign_in_nothing_can_be_submitted(app: App, tmp_path: Path) -> None:
    """The rule is written on the page, and there is no button."""
    start_leaderboard(tmp_path / "space", ["facts=hub:ann/facts"], space=True, queue=QUEUE)
    code = (
        "import runpy; v = runpy.run_path('app.py');"
        "print(v['HAS_SIGN_IN'], v['DESK'].rules(v['HAS_SIGN_IN']));"
        "print([b.value for b in v['demo'].blocks.values() if b.get_block_name() == 'button'])"
    )
    done = subprocess.run(
        [PYTHON, "-c", code], cwd=tmp_path / "space" / SCORING_SPACE, text=True, check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "HF_ENDPOINT": app.hub.url,
             "HF_HUB_DISABLE_XET": "1", TOKEN: OWNER},
    )  # fmt: skip
    assert done.stdout.startswith("False")
    assert "Nothing can be submitted here, because this Space has no sign-in" in done.stdout
    assert "['Check and score']" in done.stdout
