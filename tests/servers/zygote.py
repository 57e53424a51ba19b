"""A Python that has done the heavy imports, and forks for every command that it is asked for.

Importing sentence-transformers and spaCy takes seconds, and the tests run hundreds of commands. A
command still has a process of its own, which begins with the imports done: its own folder, streams,
environment, exit code and end. Of our own modules all but the plugins are imported before: none
reads the environment or asks for plugins when it is imported.

What imports read of the environment is read once. A command that changes a variable which is not
among `FREE` is therefore started as ever, and so is what measures starts, imports or kills. For
commands with other variables HF_… the first server forks one before it imports what reads these.
"""

import atexit
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NoReturn, TextIO

IMPORTS = (
    "click", "msgspec", "numpy", "pandas", "pyarrow.compute", "pyarrow.parquet", "pydantic",
    "faiss", "scipy.stats", "sklearn.base", "torch", "spacy", "nltk.lm", "rouge_score.rouge_scorer",
    "httpx", "sqlite3", "nupunkt", "openai.resources.chat.completions",
    "openai.resources.embeddings", "aiohttp", "altair", "vl_convert", "jsonschema", "datasketch",
    "py3langid", "markdown_it",
)  # fmt: skip
OF_HUGGING_FACE = ("sentence_transformers", "transformers.models.bert.modeling_bert")
"""What reads variables HF_…: left out by a server for commands that change one."""
WITHOUT_HUB = "-without-hub"
FREE = (
    "CITEFORGE_", "OPENAI_", "PYTEST_", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "KMP_", "ORG",
    "ENDPOINT", "TORCHINDUCTOR_CACHE_DIR", "COLUMNS", "LINES",
)  # fmt: skip
"""Variables, or beginnings of their names, that no import reads; some of these are set by one."""


# --- The server ---------------------------------------------------------------------------------


def _serve(address: str, owner: int) -> dict[str, Any]:
    """Fork for every caller while ``owner`` lives; returns in each command's own process."""
    server = os.getpid()

    class OwnFinalize(weakref.finalize):  # type: ignore[type-arg]
        """Runs at the end of the process that made it, and not of those that it forks.

        These spent most of a short command's time on taking apart what they had never used.
        """

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.atexit = os.getpid() != server

    weakref.finalize = OwnFinalize  # type: ignore[misc]
    for name in IMPORTS:
        import_module(name)
    with_hub = not address.endswith("0") or os.fork() != 0
    if with_hub:
        for name in OF_HUGGING_FACE:
            import_module(name)
    else:
        address += WITHOUT_HUB
        server = os.getpid()
    import citeforge.schemas

    ours = citeforge if with_hub else citeforge.schemas
    folder = Path(ours.__path__[0])
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if parts[0] not in ("plugins", "__main__"):
            import_module(".".join((ours.__name__, *parts)).removesuffix(".__init__"))
    assert ("huggingface_hub" in sys.modules) == with_hub
    if compiler := sys.modules.get("torch._dynamo.utils"):
        atexit.unregister(compiler.dump_compile_times)
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen(64)
    Path(f"{address}.new").rename(address)
    return _attend(listener, owner)


def _attend(listener: socket.socket, owner: int) -> dict[str, Any]:
    """Fork for every caller, and tell each how its command ended."""
    callers: dict[int, tuple[int, socket.socket]] = {}  # by what poll tells of the command's end
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while Path(f"/proc/{owner}").exists():
        for event, _ in poll.poll(1000):
            if event in callers:
                poll.unregister(event)
                pid, caller = callers.pop(event)
                os.close(event)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with suppress(OSError), caller:  # it may have gone
                    caller.sendall(b"%d\n" % status)
                continue
            caller, _ = listener.accept()
            pid = os.fork()
            if pid == 0:
                listener.close()
                for other, (_, waiting) in callers.items():
                    os.close(other)
                    waiting.close()
                return _received(caller)
            callers[ended := os.pidfd_open(pid)] = pid, caller
            poll.register(ended, select.POLLIN)
    os._exit(0)


def _received(caller: socket.socket) -> dict[str, Any]:
    """What a caller asks for, on its streams."""
    with caller:
        _, streams, _, _ = socket.recv_fds(caller, 1, 3)
        asked: dict[str, Any] = json.loads(caller.makefile("rb").readline())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = _opened(0, sys.stdin)
    sys.stdout = _opened(1, sys.stdout)
    sys.stderr = _opened(2, sys.stderr)
    return asked


def _opened(number: int, old: TextIO) -> TextIO:
    """A standard stream as an interpreter opens it: by what it is now."""
    mode, buffering = "w" if number else "r", 1 if number == 2 else -1
    return open(number, mode, buffering, old.encoding, old.errors, closefd=False)


def _become(asked: dict[str, Any]) -> None:
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    more = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p not in sys.path]
    sys.path[:1] = [asked["path"], *filter(None, more)]
    code: object = None
    try:
        if "program" in asked:
            sys.argv = ["-c"]
            space: dict[str, object] = {"__name__": "__main__"}
            exec(compile(asked["program"], "<string>", "exec"), space)
        else:
            sys.argv = ["citeforge", *asked["args"]]
            runpy.run_module("citeforge", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    _end(code)


def _end(code: object) -> NoReturn:
    """End as an interpreter does, but for taking the imported modules apart.

    That writes into nearly every page that was shared with the server, and so copies them all: half
    a second, for what is thrown away. Anything unusual ends as ever.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    with suppress(Exception):
        if code is None or isinstance(code, int):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit((code or 0) & 0xFF)
    sys.exit(code)  # type: ignore[arg-type]


# --- Its callers --------------------------------------------------------------------------------


def prepare() -> None:
    """Make the folder of the servers, which live no longer than this process; nothing starts yet.

    With ``CITEFORGE_ZYGOTES`` set to nothing, every command is started as ever.
    """
    if "CITEFORGE_ZYGOTES" not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="zygotes-"))
        os.environ["CITEFORGE_ZYGOTES"] = str(folder)
        known = {"owner": os.getpid(), "env": {**os.environ, "HF_HOME": str(folder / "hf")}}
        (folder / "env.json").write_text(json.dumps(known))


def remove() -> None:
    """Remove the folder, if this process made it."""
    folder = os.environ.get("CITEFORGE_ZYGOTES")
    if folder and json.loads((Path(folder) / "env.json").read_text())["owner"] == os.getpid():
        shutil.rmtree(folder)


def server_for(env: dict[str, str], number: int = 0) -> Path | None:
    """The address of a server that may run a command with this environment; None for none.

    Servers of the numbers 0 and 1 have other hash seeds. A command with more folders on its
    PYTHONPATH is forked from a server that has not yet looked for plugins. The first caller starts
    one, and nobody waits for it: until it is there, commands are started as ever.
    """
    if not os.environ.get("CITEFORGE_ZYGOTES"):
        return None
    folder = Path(os.environ["CITEFORGE_ZYGOTES"])
    known = json.loads((folder / "env.json").read_text())
    own = known["env"]
    changed = {k for k in own.keys() | env.keys() if own.get(k) != env.get(k)}
    if not Path(env.get("HF_HOME", "")).exists():
        changed.discard("HF_HOME")  # a cache without anything is as good as another
    changed = {name for name in changed if not name.startswith(FREE)}
    has_more = env.get("PYTHONPATH", "").endswith(own.get("PYTHONPATH", ""))
    if not all(name.startswith("HF_") or (name == "PYTHONPATH" and has_more) for name in changed):
        return None
    address = folder / (f"0{WITHOUT_HUB}" if changed else str(number))
    first = str(address).removesuffix(WITHOUT_HUB)
    with suppress(FileExistsError), Path(f"{first}.log").open("x") as log:
        subprocess.Popen(
            [sys.executable, __file__, first, str(known["owner"])],
            env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    return address if address.exists() else None


def call(address: Path, asked: dict[str, Any], streams: list[int]) -> int:
    """Run a command: ``args``, ``cwd``, ``env`` and the first place of its ``path``.

    Returns:
        Its return code, as `subprocess` gives it.
    """
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(str(address))
        socket.send_fds(server, [b"."], streams)
        server.sendall(json.dumps(asked).encode() + b"\n")
        return int(server.makefile("rb").readline())


def run(args: list[str], cwd: Path, env: dict[str, str], number: int) -> CompletedProcess[str]:
    """What `subprocess.run` gives of ``python -m citeforge``."""
    asked = {"args": args, "path": str(cwd)}
    return _run(["-m", "citeforge", *args], asked, cwd, env, number)


def run_program(program: str, cwd: Path, env: dict[str, str]) -> CompletedProcess[str]:
    """What `subprocess.run` gives of ``python -c``."""
    return _run(["-c", program], {"program": program, "path": ""}, cwd, env, 0)


def _run(
    words: list[str], asked: dict[str, Any], cwd: Path, env: dict[str, str], number: int
) -> CompletedProcess[str]:
    command = [sys.executable, *words]
    server = server_for(env, number)
    if server is None:
        return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)
    asked |= {"cwd": str(cwd), "env": env}
    with (
        Path(os.devnull).open() as nothing,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        code = call(server, asked, [f.fileno() for f in (nothing, out, err)])
        out.seek(0)
        err.seek(0)
        return CompletedProcess(command, code, out.read(), err.read())


def stand_in(folder: Path) -> Path:
    """A `citeforge` for the PATH of shell scripts."""
    path = folder / "citeforge"
    here = str(Path(__file__).parent)
    lines = [f"#!{sys.executable} -IS", "import sys", f"sys.path.insert(0, {here!r})"]
    path.write_text("\n".join([*lines, "import zygote", "zygote.as_command()"]) + "\n")
    path.chmod(0o755)
    return path


def as_command() -> NoReturn:
    """Be the `citeforge` that stands beside this Python."""
    real = Path(sys.executable).with_name("citeforge")
    env = dict(os.environ)
    server = server_for(env, os.getpid() % 2)
    if server is None:
        os.execv(real, [str(real), *sys.argv[1:]])
    asked = {"args": sys.argv[1:], "cwd": str(Path.cwd()), "env": env, "path": str(real.parent)}
    code = call(server, asked, [0, 1, 2])
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    _become(_serve(sys.argv[1], int(sys.argv[2])))
