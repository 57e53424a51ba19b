"""Commands forked from a server of the tests are what started ones are."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import Cli
from patience import patience
from servers import zygote
from servers.hub import hub_server

if not os.environ.get("CITEFORGE_ZYGOTES"):
    pytest.skip("CITEFORGE_ZYGOTES is set to nothing", allow_module_level=True)


@pytest.fixture(autouse=True, scope="module")
def servers() -> None:
    """Both are there."""
    for number in (0, 1):
        await_server({**os.environ, "HF_HOME": "/nothing"}, number)


def await_server(env: dict[str, str], number: int) -> None:
    end = time.monotonic() + patience(600)
    while time.monotonic() < end:
        if zygote.server_for(env, number):
            return
        time.sleep(0.1)
    logs = sorted(Path(os.environ["CITEFORGE_ZYGOTES"]).glob("*.log"))
    pytest.fail("\n".join(log.read_text() for log in logs))


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["list", "measures"], 0),
        (["verify", "PACKAGE"], 0),
        (["verify", "nothing-here"], 1),
        (["verfy"], 2),
        (["build", "rage", "--help"], 0),
    ],
)
def test_codes_and_streams_are_those_of_a_process(
    package: Path, tmp_path: Path, words: list[str], code: int, number: int
) -> None:
    args = [str(package) if word == "PACKAGE" else word for word in words]
    env = {**os.environ, "HF_HOME": str(tmp_path / "hf")}
    forked = zygote.run(args, tmp_path, env, number)
    # A variable that imports may read: started as ever.
    started = zygote.run(args, tmp_path, {**env, "LC_COLLATE": "C"}, number)
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        started.returncode, started.stdout, started.stderr
    )  # fmt: skip
    assert forked.returncode == code


def test_a_program_is_what_python_runs(tmp_path: Path) -> None:
    program = """
import sys
from dataclasses import dataclass
@dataclass
class A:
    n: int
print(__name__, sys.argv, A(sys.path[0] == ""))
sys.exit("ended")
"""
    env = {**os.environ, "HF_HOME": str(tmp_path / "hf")}
    forked = zygote.run_program(program, tmp_path, env)
    started = zygote.run_program(program, tmp_path, {**env, "LC_COLLATE": "C"})
    assert (forked.returncode, forked.stdout, forked.stderr) == (
        started.returncode, started.stdout, started.stderr
    ) == (1, "__main__ ['-c'] A(n=True)\n", "ended\n")  # fmt: skip


def test_a_shell_sees_a_command(package: Path, tmp_path: Path) -> None:
    """Pipes, redirections, folder and exit code."""
    command = zygote.stand_in(tmp_path)
    (tmp_path / "x").mkdir()
    script = f"""
        cd x && {command} run random --benchmark {package} --out out.jsonl >said 2>&1
        {command} list measures | head -1 >first
        {command} verify nowhere 2>wrong || echo "code $?"
    """
    result = subprocess.run(["bash", "-ec", script], cwd=tmp_path, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, "code 1\n"), result.stderr
    assert (tmp_path / "x" / "out.jsonl").is_file()
    assert len((tmp_path / "x" / "first").read_text().splitlines()) == 1
    assert (tmp_path / "x" / "wrong").read_text().startswith("error: nowhere")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_signals_are_told(tmp_path: Path, end: signal.Signals) -> None:
    program = f"import os; os.kill(os.getpid(), {end.value})"
    env = {**os.environ, "HF_HOME": str(tmp_path / "hf")}
    assert zygote.server_for(env)
    assert zygote.run_program(program, tmp_path, env).returncode == -end


def test_what_imports_read_is_never_shared(tmp_path: Path) -> None:
    env = {**os.environ, "HF_HOME": str(tmp_path)}
    assert zygote.server_for({**env, "HF_HOME": str(tmp_path / "none")}) is not None
    assert zygote.server_for({**env, "HF_HOME": str(tmp_path / "none"), "ORG": "x"}) is not None
    empty = {**env, "HF_HOME": str(tmp_path / "none")}
    for name in ("PYTHONHASHSEED", "OMP_NUM_THREADS", "LANG"):
        assert zygote.server_for({**empty, name: "x"}) is None
    # There may be something in the first cache.
    for other in (env, {**empty, "HF_ENDPOINT": "http://127.0.0.1:9"}):
        server = zygote.server_for(other)
        assert server is None or server.name == "0-without-hub"


def test_a_changed_endpoint_is_read(tmp_path: Path) -> None:
    """By a server that has not read another one before."""
    with hub_server() as hub:
        more = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url, "HF_TOKEN": hub.token}
        env = {**os.environ, **more, "HF_HOME": str(tmp_path / "hf")}
        await_server(env, 0)
        forked = zygote.run(["verify", "hub:a/b"], tmp_path, env, 0)
    assert forked.returncode == 1
    assert "no such repository" in forked.stderr
    assert hub.exchanges


def test_servers_have_other_hashes(cli: Cli, tmp_path: Path) -> None:
    folder = Path(os.environ["CITEFORGE_ZYGOTES"])
    assert [cli("--version").returncode for _ in "ab"] == [0, 0]
    assert {p.name for p in folder.iterdir() if p.is_socket()} >= {"0", "1"}
    assert "PYTHONHASHSEED" not in json.loads((folder / "env.json").read_text())["env"]
