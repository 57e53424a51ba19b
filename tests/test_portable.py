"""The core runs where what only POSIX has is missing; texts are read alike on every system."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import EXAMPLES, ROOT

SOURCE = ROOT / "src" / "citeforge"
HOME = SOURCE / "engines" / "posix.py"
"""The one module that may use any of it."""
UNIX = {"resource", "fcntl", "termios", "pwd", "grp", "pty", "tty", "syslog", "readline"}
"""Modules that Windows lacks."""
CALLS = {
    "os": """
        fork forkpty getuid geteuid getgid getegid setsid setpgid getpgid killpg wait3 nice chown
        lchown fchown fchmod mkfifo mknod posix_fallocate posix_fadvise pwrite pread sendfile
        sched_getaffinity sched_setaffinity sysconf statvfs fstatvfs getloadavg uname sync fdatasync
        O_CLOEXEC O_NOFOLLOW O_DIRECTORY O_NONBLOCK openpty ttyname ctermid confstr pathconf
    """.split(),
    "signal": "SIGHUP SIGKILL SIGALRM SIGUSR1 SIGUSR2 SIGPIPE alarm setitimer pause sigwait "
    "pthread_kill pthread_sigmask siginterrupt set_wakeup_fd".split(),
    "select": ["poll", "epoll"],
}
"""What modules of every system have on POSIX alone."""
DIFFERS = {"os": ["name", "link", "symlink", "readlink", "chmod"], "sys": ["platform"],
           "platform": ["system"]}  # fmt: skip
"""What every system has, and means or allows something else on each."""
MODULES = sorted({*CALLS, *DIFFERS})
METHODS = {"hardlink_to", "symlink_to", "readlink", "is_mount", "chmod"}
KEYWORDS = {"start_new_session", "preexec_fn", "pass_fds", "dir_fd", "follow_symlinks", "umask"}
RUN = """
import builtins, os, select, shutil, signal, sys, tempfile, types

# Other packages ask which system they are on: they keep what we lose.
def is_ours(frame):
    return str(frame.f_globals.get("__name__")).startswith("citeforge")

class Without(types.ModuleType):
    def __getattribute__(self, name):
        if name in ABSENT[real_name(self, "__name__")] and is_ours(sys._getframe(1)):
            raise AttributeError(name)
        return real_name(self, name)

real_name = types.ModuleType.__getattribute__
real_import = builtins.__import__

def without(name, globals=None, *more, **named):
    if name in UNIX and str((globals or {}).get("__name__")).startswith("citeforge"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return real_import(name, globals, *more, **named)

builtins.__import__ = without
for module in (os, signal, select):
    module.__class__ = Without

from citeforge.engines import posix
posix.IS_POSIX = False
shutil._use_fd_functions = False
tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # as on Windows

def refuse_open_files(change):
    # As Windows does for what this process has open or mapped. A lock that is held is removed by
    # filelock there, when it has been given back.
    def checked(path, *more, **named):
        if isinstance(path, int):
            return change(path, *more, **named)
        for place in map(os.path.abspath, [path, *more[:1]]):
            if not place.endswith("lock"):
                used = [os.path.realpath(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")]
                with open("/proc/self/maps") as lines:
                    used += [line.split(maxsplit=5)[-1].strip() for line in lines]
                if any(one == place or one.startswith(place + "/") for one in used):
                    raise PermissionError(13, "The process cannot access the file", place)
        return change(path, *more, **named)
    return checked

for name in ("rename", "replace", "unlink", "remove", "rmdir"):
    setattr(os, name, refuse_open_files(getattr(os, name)))
real_open = os.open

def open_file(path, flags, mode=0o777, *, dir_fd=None):
    if not isinstance(path, int) and os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return real_open(path, flags, mode)

os.open = open_file

from citeforge.cli.interrupts import catch_signals
from citeforge.cli.main import main
catch_signals()
for line in COMMANDS:
    try:
        main(line.split())
    except SystemExit as stop:
        if stop.code:
            sys.exit(f"exit code {stop.code} of {line}")
"""


def nodes(pattern: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield each node, with its place, of files of the source that have a word of a pattern."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path == HOME or not re.search(pattern, text):
            continue
        for node in ast.walk(ast.parse(text)):
            yield f"{path.relative_to(SOURCE).as_posix()}:{getattr(node, 'lineno', 0)}", node


def find_uses(node: ast.AST) -> Iterator[str]:
    """Yield what a node uses that is not the same on each system."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = {n.name for n in node.names} if isinstance(node, ast.Import) else {node.module}
        yield from UNIX & {str(name) for name in modules}
        if isinstance(node, ast.ImportFrom) and node.module in CALLS:
            yield from {n.name for n in node.names} & {*CALLS[node.module]}
    if isinstance(node, ast.Attribute):
        module = getattr(node.value, "id", "")
        if node.attr in (*CALLS.get(module, ()), *DIFFERS.get(module, ())):
            yield f"{module}.{node.attr}"
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            yield node.func.attr
        yield from KEYWORDS & {str(keyword.arg) for keyword in node.keywords}
    if isinstance(node, ast.Constant) and str(node.value).startswith(("/dev/", "/proc/", "/tmp")):
        yield str(node.value)


def test_one_module_uses_what_systems_differ_in() -> None:
    modules = {module: (*CALLS.get(module, ()), *DIFFERS.get(module, ())) for module in MODULES}
    words = [rf"\b(import|from) ({'|'.join(UNIX)})\b|\bfrom ({'|'.join(CALLS)}) import"]
    words += [rf"\b{module}\.({'|'.join(modules[module])})\b" for module in MODULES]
    words += [rf"\.({'|'.join(METHODS)})\(|\b({'|'.join(KEYWORDS)})=|[\"']/(dev|proc|tmp)"]
    found = [f"{place} {use}" for place, node in nodes("|".join(words)) for use in find_uses(node)]
    assert not found, "use or add a function of engines/posix.py, with another way elsewhere"


@pytest.mark.parametrize(
    "line",
    ["import resource", "from os import fork", "os.link(a, b)", "signal.SIGKILL", "sys.platform",
     "a.hardlink_to(b)", "Popen(a, start_new_session=True)", "open('/dev/null')"],
)  # fmt: skip
def test_a_new_use_is_found(line: str) -> None:
    assert [use for node in ast.walk(ast.parse(line)) for use in find_uses(node)]


def test_texts_are_read_and_written_in_one_encoding() -> None:
    """Without ``encoding`` Windows takes its own, and line ends of its own when it writes."""
    found = []
    for place, node in nodes(r"\bopen\(|read_text\(\)|\.write_text\(|\btext=|newlines="):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        words = [*node.args, *named.values()]
        modes = [str(w.value) for w in words if isinstance(w, ast.Constant)]
        if name == "open" and any(set(m) & set("rwax") and len(m) <= 3 for m in modes):
            mode = next(m for m in modes if len(m) <= 3)
            is_text = "b" not in mode
            if is_text and ("encoding" not in named or ("w" in mode and "newline" not in named)):
                found.append(f"{place} open")
        if name == "read_text" and not words:
            found.append(f"{place} read_text")
        if name == "write_text" and isinstance(node.func, ast.Attribute):
            found.append(f"{place} write_text; use that of engines/files.py")
        if "text" in named or "universal_newlines" in named:
            found += [f"{place} {name}"] * (name in ("run", "Popen", "check_output"))
    assert not found


@pytest.mark.slow
def test_core_commands_run_without_posix(tmp_path: Path, package: Path) -> None:
    """As on Windows: modules, calls and signals are missing, open files keep their names."""
    store = "--llm replay:kept.db"
    rage = f"build rage --source beir:{EXAMPLES / 'facts'} --mixture mix=3,3,0 --n-seemingly 0"
    commands = [
        "build demo --out demo",
        f"{rage} --out built",
        f"{rage} --out built --overwrite",
        f"verify {package}",
        f"show {package}",
        f"run random --benchmark {package} --out a.jsonl",
        f"run echo-relevant --benchmark {package} --out b.jsonl",
        f"check a.jsonl --benchmark {package}",
        f"score a.jsonl --benchmark {package} --out a.json",
        f"score b.jsonl --benchmark {package} --out b.json",
        "compare a.json b.json",
        "report a.json b.json --out report.md",
        f"export prompts {package} --out prompts.jsonl",
        f"llm import kept.db {EXAMPLES / 'twins' / 'replay.jsonl'}",
        f"build twins --benchmark {package} {store} --out twins",
        f"build twins --benchmark {package} {store} --out twins --resume",
    ]
    absent = {**CALLS, "os": [*CALLS["os"], "link"]}
    program = f"UNIX, ABSENT, COMMANDS = {UNIX!r}, {absent!r}, {commands!r}\n{RUN}"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert (tmp_path / "report.md").is_file()
    assert not [*tmp_path.rglob("*.tmp"), *tmp_path.rglob(".*.new")]


@pytest.mark.parametrize("name", sorted(UNIX))
def test_the_modules_are_there_on_this_system(name: str) -> None:
    """Else the tests above would block nothing."""
    if sys.platform == "linux":
        __import__(name)
