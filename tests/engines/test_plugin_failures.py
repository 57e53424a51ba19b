"""A plugin that is broken, or returns something else than it should, is named."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines import plugins
from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.running.names import make_judge
from conftest import Inline, refused, write_jsonl

BAD = """
from citeforge.schemas.catalogue import Choice

def fail(*given, **named):
    return {}["nothing here"]

class Judge:
    signature, comparable = "bad@1", False
    def identity(self): return {"name": "bad"}
    def count_tokens(self, pairs): return None
    def decide(self, pairs, keep): fail()

PLUGINS = {
    "judges": [Choice("bad", "", "", lambda settings: Judge())],
}
__version__ = "7"
"""
VERDICT = "from citeforge.engines.judge.records import Verdict\n"
JUDGE = BAD.replace("pairs, keep): fail()", "pairs, keep): {body}")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(plugins.VARIABLE, "")
    path = tmp_path / "bad.py"
    path.write_text(BAD)
    cached = (plugins._package_entries, plugins._read_file, plugins.warn)
    for function in cached:
        function.cache_clear()
    yield path
    for function in cached:
        function.cache_clear()


@pytest.fixture
def judged(inline: Inline, plugin: Path, tmp_path: Path) -> Callable[..., Any]:
    """Asks a judge about a pair, with the plugin's file as it is by then."""
    write_jsonl(tmp_path / "pairs.jsonl", [{"premise": "Io.", "hypothesis": "Io."}])

    def judged(name: str = "bad", **env: str) -> Any:
        args = ("labels", "judge", "pairs.jsonl", "--judge", name, "--out", "v.jsonl")
        return inline("--plugin", plugin, *args, **env)

    return judged


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


@pytest.mark.parametrize(
    "end",
    ["SystemExit(0)", "GeneratorExit()", "BrokenPipeError(32, 'x')", "OSError(28, 'its own disk')"],
)
def test_a_plugin_that_fails_while_its_judge_is_made_is_named(
    judged: Callable[..., Any], plugin: Path, end: str
) -> None:
    ended = f'    raise {end}\n    return {{}}["nothing here"]'
    text = BAD.replace('    return {}["nothing here"]', ended)
    plugin.write_text(text.replace("settings: Judge()", "*_: fail()"))
    done = judged()
    assert (done.returncode, done.code) == (1, "broken-plugin")
    assert "the plugin bad.py 7" in done.stderr
    assert f"{end.split('(')[0]}:" in done.stderr


def test_a_name_of_ours_is_not_taken_silently(judged: Callable[..., Any], plugin: Path) -> None:
    plugin.write_text(BAD.replace('"judges": [Choice("bad"', '"judges": [Choice("lexical"'))
    done = judged("lexical")
    assert done.returncode == 0
    assert (
        "warning: bad.py 7: there is a judge 'lexical' already; citeforge's is used" in done.stderr
    )


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
            "measures",
            'per_answer("style", source="")(lambda answer: 7).measure("odd", "")',
            "score {answers} --benchmark {package} --measures odd",
            "is 7, and its range is 0 to 1",
        ),
    ],
)  # fmt: skip
def test_what_a_plugin_returns_is_looked_at(
    inline: Inline, plugin: Path, package: Path, tmp_path: Path, group: str, declared: str,
    args: str, said: str,
) -> None:  # fmt: skip
    plugin.write_text(
        "from citeforge.evaluator.measures.declared import per_answer\n"
        "from citeforge.schemas.catalogue import Choice\n"
        f'PLUGINS = {{"{group}": [{declared}]}}\n'
    )
    answers = write_jsonl(tmp_path / "a.jsonl", [{"query_id": "q21", "output": "Io [1]."}])
    known = {"package": package, "answers": answers}
    done = inline("--plugin", plugin, *args.format(**known).split())
    assert done.returncode == 1
    assert said in done.stderr
    assert "fix the plugin" in done.stderr
