"""A plugin that raises while it works is named, whatever it gives; errors of ours are not its."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from citeforge.builders.package import manifest_digest, render_manifest
from citeforge.engines import plugins
from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.registry import make_judge
from citeforge.engines.judge.session import JudgeSession
from citeforge.package.manifest import MANIFEST, load_manifest
from conftest import Cli, write_jsonl

BAD = """
from dataclasses import replace
from citeforge.evaluator.measures.declared import per_answer, percent
from citeforge.kinds.rage import RAGE
from citeforge.kinds.hook import Hook
from citeforge.schemas.choices import Choice
from citeforge.schemas.sources import Declaration, SourceInfo

def fail(*given, **named):
    return {}["nothing here"]

class Judge:
    signature, comparable = "bad@1", False
    def identity(self): return {"name": "bad"}
    def count_tokens(self, pairs): return None
    def decide(self, pairs, keep): fail()

class Embedder:
    def fingerprint(self): return {"name": "bad"}
    def encode(self, texts, kind): fail()

class Source:
    mined = gold = relevant = where = queries = passages = fail
    def info(self): return SourceInfo(spec="bad:x", kind="bad")

class Llm:
    def identity(self): return {"name": "bad"}
    def complete(self, requests): fail()

def lines(name, benchmark, contexts, runs, seed):
    fail()
    yield {}

def value(item):
    fail()

PLUGINS = {
    "judges": [Choice("bad", "", "", lambda settings: Judge())],
    "embedders": [Choice("bad", "", "", lambda settings: Embedder())],
    "sources": [Declaration(name="bad", title="", factory=lambda *_: Source(), argument="X",
                            splits="", becomes="", licence="", citation="")],
    "llms": [Choice("bad", "", "", lambda settings: Llm())],
    "systems": [Choice("bad", "", "", lines)],
    "measures": [percent("Bad", "style", "fails", source="us", compute=per_answer(value))],
    "kinds": [replace(RAGE, name="bad", recipe=None, trace=Hook(fail))],
}
__version__ = "7"
"""
RAGE = ("--licence", "cc0-1.0", "--n-seemingly", 2, "--n-irrelevant", 2, "--out", "built")


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "bad.py"
    path.write_text(BAD)
    cached = (plugins._installed, plugins._read_file, plugins.warn)
    for function in cached:
        function.cache_clear()
    yield path
    for function in cached:
        function.cache_clear()


@pytest.mark.parametrize(
    ("args", "hook"),
    [
        (("judge", "pairs.jsonl", "--judge", "bad", "--out", "v.jsonl"), "Judge.decide"),
        (("build", "rage", "--source", "bad:x", "--embedder", "offline", *RAGE), "fail"),
        (
            ("build", "rage", "--source", "beir:{beir}", "--embedder", "bad", *RAGE),
            "Embedder.encode",
        ),
        (("llm", "run", "prompts.jsonl", "--llm", "bad", "--out", "s.jsonl"), "Llm.complete"),
        (("run", "bad", "--benchmark", "{package}", "--out", "s.jsonl"), "lines"),
        (("score", "{answers}", "--benchmark", "{package}", "--measures", "Bad"), "value"),
        (("kalma", "trace", "kind", "--query", "q21"), "fail"),
    ],
    ids=["judge", "source", "embedder", "llm", "system", "measure", "kind"],
)  # fmt: skip
def test_the_plugin_is_named(
    cli: Cli, plugin: Path, package: Path, small_beir: Path, tmp_path: Path,
    args: tuple[object, ...], hook: str,
) -> None:  # fmt: skip
    write_jsonl(tmp_path / "pairs.jsonl", [{"premise": "Io.", "hypothesis": "Io."}])
    write_jsonl(tmp_path / "prompts.jsonl", [{"query_id": "q21", "prompt": "Io?"}])
    answers = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q21", "output": "Io [1]."}])
    if "kind" in args:
        shutil.copytree(package, tmp_path / "kind")
        manifest = load_manifest(package).model_copy(update={"kind": "bad"})
        manifest.manifest_sha256 = manifest_digest(manifest)
        (tmp_path / "kind" / MANIFEST).write_text(render_manifest(manifest))
    known = {"package": package, "beir": small_beir, "answers": answers}
    done = cli("--plugin", plugin, *(str(a).format(**known) for a in args))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    line = 1 + BAD.splitlines().index('    return {}["nothing here"]')
    assert f"error: {plugin}:{line}: the plugin bad.py 7 ('bad' of judges, " in done.stderr
    assert f"is broken: {hook}" in done.stderr
    assert "ended in KeyError: 'nothing here'; mend the plugin" in done.stderr


def test_the_traceback_on_request(cli: Cli, plugin: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "pairs.jsonl", [{"premise": "Io.", "hypothesis": "Io."}])
    args = ("judge", "pairs.jsonl", "--judge", "bad", "--out", "v.jsonl")
    done = cli("--plugin", plugin, *args, CITEFORGE_TRACEBACK="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "KeyError: 'nothing here'" in done.stderr


def raised(session: JudgeSession) -> BaseException:
    with pytest.raises(ZeroDivisionError) as found:
        session.ask([Pair("Io.", "Io.")])
    return found.value


def test_errors_of_ours_are_nobody_elses(
    plugin: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calling = BAD.replace("pairs, keep): fail()", "pairs, keep): keep([(0, None)])")
    plugin.write_text(calling)
    monkeypatch.setenv(plugins.VARIABLE, str(plugin))
    session = JudgeSession(make_judge("bad"))

    def broken(*given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(JudgeSession, "_learn", broken)
    error = raised(session)
    # Raised below our code, which the plugin called: the last frame that counts is ours.
    assert plugins.blamed(error) is None
    assert plugins.blamed(ValueError("raised nowhere")) is None
