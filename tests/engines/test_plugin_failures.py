"""A plugin that raises while it works is named, whatever it gives; errors of ours are not its."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citeforge.builders.packaging.package import manifest_digest, render_manifest
from citeforge.engines import plugins
from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.registry import make_judge
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.package.manifest import MANIFEST, load_manifest
from conftest import Inline, refused, write_jsonl

BAD = """
from citeforge.evaluator.measures.columns import per_answer
from citeforge.evaluator.measures.declared import percent
from citeforge.kinds.rage import RageKind
from citeforge.schemas.models.choices import Choice
from citeforge.schemas.benchmarks.sources import Declaration, SourceInfo

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

class BadKind(RageKind):
    name, recipe = "bad", None

    def trace(self, package, query):
        fail()

PLUGINS = {
    "judges": [Choice("bad", "", "", lambda settings: Judge())],
    "embedders": [Choice("bad", "", "", lambda settings: Embedder())],
    "sources": [Declaration(name="bad", title="", factory=lambda *_: Source(), argument="X",
                            splits="", becomes="", licence="", citation="")],
    "llms": [Choice("bad", "", "", lambda settings: Llm())],
    "systems": [Choice("bad", "", "", lines)],
    "measures": [percent("Bad", "style", "fails", source="us", compute=per_answer(value))],
    "kinds": [BadKind()],
}
__version__ = "7"
"""
VERDICT = "from citeforge.engines.judge.records import Verdict\n"
JUDGE = BAD.replace("pairs, keep): fail()", "pairs, keep): {body}")
RAGE = ("--licence", "cc0-1.0", "--n-seemingly", 2, "--n-irrelevant", 2, "--out", "built")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(plugins.VARIABLE, "")
    path = tmp_path / "bad.py"
    path.write_text(BAD)
    cached = (plugins._declared, plugins._read_file, plugins.warn)
    for function in cached:
        function.cache_clear()
    yield path
    for function in cached:
        function.cache_clear()


@pytest.mark.parametrize(
    ("args", "hook"),
    [
        (("labels", "judge", "pairs.jsonl", "--judge", "bad", "--out", "v.jsonl"), "Judge.decide"),
        (("build", "rage", "--source", "bad:x", "--embedder", "offline", *RAGE), "fail"),
        (
            ("build", "rage", "--source", "beir:{beir}", "--embedder", "bad", *RAGE),
            "Embedder.encode",
        ),
        (("llm", "run", "prompts.jsonl", "--llm", "bad", "--out", "s.jsonl"), "Llm.complete"),
        (("run", "bad", "--benchmark", "{package}", "--out", "s.jsonl"), "lines"),
        (("score", "{answers}", "--benchmark", "{package}", "--measures", "Bad"), "value"),
        (("show", "kind", "--trace", "--query", "q21"), "BadKind.trace"),
    ],
    ids=["judge", "source", "embedder", "llm", "system", "measure", "kind"],
)  # fmt: skip
def test_the_plugin_is_named(
    inline: Inline, plugin: Path, package: Path, small_beir: Path, tmp_path: Path,
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
    done = inline("--plugin", plugin, *(str(a).format(**known) for a in args))
    assert (done.returncode, done.code) == (1, "broken-plugin")
    line = 1 + BAD.splitlines().index('    return {}["nothing here"]')
    assert (done.error.path, done.error.line) == (str(plugin), line)
    assert f"error: {plugin}:{line}: the plugin bad.py 7 ('bad' of judges, " in done.stderr
    assert f"is broken: {hook} ended in KeyError: 'nothing here'; " in done.stderr


@pytest.fixture
def judged(inline: Inline, plugin: Path, tmp_path: Path) -> Callable[..., Any]:
    """Asks a judge about a pair, with the plugin's file as it is by then."""
    write_jsonl(tmp_path / "pairs.jsonl", [{"premise": "Io.", "hypothesis": "Io."}])

    def judged(name: str = "bad", **env: str) -> Any:
        args = ("labels", "judge", "pairs.jsonl", "--judge", name, "--out", "v.jsonl")
        return inline("--plugin", plugin, *args, **env)

    return judged


def test_the_traceback_on_request(judged: Callable[..., Any]) -> None:
    with pytest.raises(KeyError, match="nothing here"):
        judged(CITEFORGE_TRACEBACK="1")


def raised(session: JudgeSession) -> BaseException:
    with pytest.raises(ZeroDivisionError) as result:
        session.ask([Pair("Io.", "Io.")])
    return result.value


def test_errors_of_ours_are_nobody_elses(
    plugin: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plugin.write_text(VERDICT + JUDGE.replace("{body}", "keep([(0, Verdict(True))])"))
    monkeypatch.setenv(plugins.VARIABLE, str(plugin))
    session = JudgeSession(make_judge("bad"))

    def broken(*given: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(JudgeSession, "_learn", broken)
    error = raised(session)
    # Raised below our code, which the plugin called: the last frame that counts is ours.
    assert plugins.plugin_error(error) is None
    assert plugins.plugin_error(ValueError("raised nowhere")) is None


FINE = "[(i, Verdict(True)) for i in range(len(pairs))]"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("pass", "left 2 of 2 pairs without a decision"),
        (f"keep({FINE}[:1])", "left 1 of 2 pairs without a decision"),
        (f"keep({FINE}); keep([(0, Verdict(False))])", "decided pair 0 twice"),
        ("keep([(2, Verdict(True))])", "decided pair 2 of 2"),
        ("keep([(-1, Verdict(True))])", "decided pair -1 of 2"),
        ("keep([(0, 'yes')])", "decided 'yes'"),
        ("keep([(0, None)])", "decided None"),
        ("keep([(0, Verdict('no'))])", "decided Verdict(entailed='no'"),
        ("keep([(0, Verdict(True, float('nan')))])", "margin=nan"),
        ("keep([(0, Verdict(True, None, False, 7.0))])", "support=7.0"),
    ],
)  # fmt: skip
def test_a_judge_that_lies_about_its_decisions(
    plugin: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, said: str
) -> None:
    plugin.write_text(VERDICT + JUDGE.replace("{body}", body))
    monkeypatch.setenv(plugins.VARIABLE, str(plugin))
    store = VerdictStore(tmp_path / "v.sqlite")
    session = JudgeSession(make_judge("bad"), store)
    with refused("broken-plugin") as caught:
        session.ask([Pair("Io.", "Io."), Pair("Io.", "Ceres.")])
    assert str(caught.value).startswith("the judge bad@1(bad.py 7) ")
    assert said in str(caught.value)
    store.close()


@pytest.mark.parametrize("place", ["decide", "factory"])
@pytest.mark.parametrize(
    "end",
    ["SystemExit(0)", "GeneratorExit()", "BrokenPipeError(32, 'x')", "OSError(28, 'its own disk')"],
)
def test_a_plugin_that_ends_the_process_or_has_a_full_disk_is_named(
    judged: Callable[..., Any], plugin: Path, place: str, end: str
) -> None:
    ended = f'    raise {end}\n    return {{}}["nothing here"]'
    text = BAD.replace('    return {}["nothing here"]', ended)
    plugin.write_text(
        text.replace("settings: Judge()", "*_: fail()") if place == "factory" else text
    )
    done = judged()
    assert (done.returncode, done.code) == (1, "broken-plugin")
    assert "the plugin bad.py 7" in done.stderr
    assert f"{end.split('(')[0]}:" in done.stderr


def test_a_name_of_ours_is_not_taken_silently(judged: Callable[..., Any], plugin: Path) -> None:
    plugin.write_text(BAD.replace('"judges": [Choice("bad"', '"judges": [Choice("lexical"'))
    done = judged("lexical")
    assert done.returncode == 0
    assert "warning: bad.py 7: there is a judge 'lexical' already; ours is used" in done.stderr


def test_names_that_are_no_texts(judged: Callable[..., Any], plugin: Path) -> None:
    plugin.write_text(BAD.replace('"judges": [Choice("bad"', '"judges": [Choice(5'))
    assert "is broken (ValueError: PLUGINS names something of judges 5" in judged().stderr


@pytest.mark.parametrize(
    ("group", "declared", "args", "said"),
    [
        (
            "systems", 'Choice("odd", "", "", lambda *_: ["hi"])',
            "run odd --benchmark {package} --out s.jsonl",
            "the system 'odd' wrote the line 'hi': Expected `object`, got `str`",
        ),
        (
            "systems", 'Choice("odd", "", "", lambda *_: [{"query_id": "q21", "output": 5}])',
            "run odd --benchmark {package} --out s.jsonl",
            "Expected `str`, got `int` - at `$.output`",
        ),
        (
            "systems", 'Choice("odd", "", "", lambda *_: [{"query_id": "q0", "output": ""}])',
            "run odd --benchmark {package} --out s.jsonl",
            "'output': ''}: there is no query 'q0'",
        ),
        (
            "measures", 'percent("odd", "style", "", source="", compute=per_answer(lambda _: "x"))',
            "score {answers} --benchmark {package} --measures odd",
            "<lambda> returned 'x', which is not a numbers.Real | None",
        ),
        (
            "measures", 'percent("odd", "style", "", source="", compute=per_answer(lambda _: 7))',
            "score {answers} --benchmark {package} --measures odd",
            "is 7, and its range is 0 to 1",
        ),
        (
            "exports", 'Export("odd", "", lambda *_: "nothing")',
            "export odd {package} --out files",
            "<lambda> returned 'nothing', which is not a list",
        ),
        (
            "commands", 'Command("odd", "", lambda: None)', "odd",
            "<lambda> returned None, which is not a Command",
        ),
        (
            "plots", 'Plot("odd", "", "", lambda *_: 5)',
            "report {scores} --plot odd --out odd.svg",
            "<lambda> returned 5, which is not a citeforge.plugins.plots.figure.Figure | None",
        ),
    ],
)  # fmt: skip
def test_what_a_plugin_returns_is_looked_at(
    inline: Inline, plugin: Path, package: Path, tmp_path: Path, group: str, declared: str,
    args: str, said: str,
) -> None:  # fmt: skip
    plugin.write_text(
        "from citeforge.cli.command import Command\n"
        "from citeforge.evaluator.measures.columns import per_answer\n"
        "from citeforge.evaluator.measures.declared import percent\n"
        "from citeforge.plugins.plots.figure import Plot\n"
        "from citeforge.publishing.export import Export\n"
        "from citeforge.schemas.models.choices import Choice\n"
        f'PLUGINS = {{"{group}": [{declared}]}}\n'
    )
    answers = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q21", "output": "Io [1]."}])
    scores = tmp_path / "scores.json"
    if "{scores}" in args:
        inline("score", answers, "--benchmark", package, "--measures", "CiteP", "--out", scores)
    known = {"package": package, "answers": answers, "scores": scores}
    done = inline("--plugin", plugin, *args.format(**known).split())
    assert done.returncode == 1
    assert said in done.stderr
    assert "mend the plugin" in done.stderr
