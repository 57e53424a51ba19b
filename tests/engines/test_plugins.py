"""Plugins: found without being imported, named where they break, said where they decided."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines import plugins
from citeforge.engines.judge.records import verdict_key
from citeforge.engines.models.embedder import Distributed, Watchable
from citeforge.engines.running.names import JUDGES, make_embedder, make_judge
from citeforge.evaluator.measures import registry
from citeforge.evaluator.measures.registry import measures
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions
from citeforge.publishing.export import EXPORTS
from citeforge.schemas.catalogue import Choice
from citeforge.schemas.recipes.base import Judging
from citeforge.systems.registry import SYSTEMS, as_system, systems
from conftest import Inline, refused

JUDGE = """
from citeforge.engines.judge.records import Verdict
from citeforge.schemas.catalogue import Choice

class Verbatim:
    signature, comparable = "verbatim@1", False
    def identity(self): return {"name": "verbatim"}
    def count_tokens(self, pairs): return None
    def decide(self, pairs, keep):
        keep([(i, Verdict(p.hypothesis in p.premise)) for i, p in enumerate(pairs)])

VERBATIM = Choice("verbatim", "", "word for word", lambda settings: Verbatim())
HALF = Choice("half", "", "half a judge", lambda settings: object())
LEXICAL = Choice("lexical", "", "ours is better", lambda settings: Verbatim())
LATE = Choice("late", "MODEL", "breaks late", lambda model, settings: 1 / 0)
"""

MEASURE = """
from citeforge.evaluator.measures.declared import per_answer

@per_answer("many", source="here")
def size(answer):
    return len(answer.output)

"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages; loading starts anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv(plugins.VARIABLE, "")
    for cached in (plugins._package_entries, plugins._read_file, plugins.warn):
        cached.cache_clear()
    yield tmp_path  # type: ignore[misc]
    for cached in (plugins._package_entries, plugins._read_file, plugins.warn):
        cached.cache_clear()


def install(site: Path, name: str, module: str, entries: str) -> None:
    """A package as pip leaves it."""
    (site / f"{name.replace('-', '_')}.py").write_text(module)
    info = site / f"{name.replace('-', '_')}-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(entries)
    importlib.invalidate_caches()
    plugins._package_entries.cache_clear()


def test_a_judge_of_a_package_says_where_it_comes_from(site: Path) -> None:
    install(site, "cf-verbatim", JUDGE, "[citeforge.judges]\nverbatim = cf_verbatim:VERBATIM\n")
    assert "cf_verbatim" not in sys.modules
    make_judge("lexical")
    assert "cf_verbatim" not in sys.modules  # nobody asked for it
    judge = make_judge("verbatim")
    assert judge.signature == "verbatim@1(cf-verbatim 1.5)"
    assert judge.identity() == {"name": "verbatim", "plugin": "cf-verbatim 1.5"}
    assert not judge.comparable
    with refused("bad-option"):
        make_judge("verbatim:x")
    with refused("option-without-effect"):
        make_judge("verbatim", judging=Judging(judge_profile="llm-binary"))
    other = {**judge.identity(), "plugin": "cf-verbatim 1.6"}
    pair: tuple[str, str] = ("a", "b")
    from citeforge.engines.judge.records import Pair

    assert verdict_key(judge.identity(), Pair(*pair)) != verdict_key(other, Pair(*pair))


def test_a_group_that_nothing_reads_is_told(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(site, "cf-plots", JUDGE, "[citeforge.plots]\nviolin = cf_plots:VERBATIM\n")
    assert "plots" not in {entry.group for entry in plugins.list_entries("judges")}
    told = capsys.readouterr().err
    assert told.count("the plugin cf-plots 1.5 declares citeforge.plots; known: sources, ") == 1


def test_broken_plugins_are_named_and_stop_nobody_else(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(
        site,
        "cf-broken",
        JUDGE,
        "[citeforge.judges]\ngone = cf_nowhere:JUDGE\nother = cf_broken:VERBATIM\n"
        "half = cf_broken:HALF\nlexical = cf_broken:LEXICAL\nlate = cf_broken:LATE\n",
    )
    assert make_judge("lexical").signature.startswith("lexical")
    for name, reason in (
        ("gone", "ModuleNotFoundError: No module named 'cf_nowhere'"),
        ("other", "it calls itself 'verbatim'"),
        ("half", "missing attributes: signature, comparable, identity, count_tokens, decide"),
        ("late:x", "ZeroDivisionError"),
    ):
        with refused("broken-plugin") as caught:
            make_judge(name)
        assert "the plugin cf-broken 1.5 is broken" in str(caught.value)
        assert reason in str(caught.value)
    known = JUDGES.all()
    assert set(known) == {"hf", "openai", "vllm", "table", "lexical", "half", "late"}
    told = capsys.readouterr().err
    assert "warning: cannot load 'gone' of judges: the plugin cf-broken 1.5 is broken" in told
    assert "cf-broken 1.5: there is a judge 'lexical' already" in told
    with refused("unknown-name"):
        make_judge("nobody")


def test_two_plugins_with_one_name_are_not_chosen_between(site: Path) -> None:
    for name in ("cf-one", "cf-two"):
        entries = f"[citeforge.judges]\nverbatim = {name.replace('-', '_')}:VERBATIM\n"
        install(site, name, JUDGE, entries)
    with refused("duplicate-id") as caught:
        make_judge("verbatim")
    assert "cf-one 1.5 and cf-two 1.5" in str(caught.value)


def test_a_file_gives_things_of_any_sort(site: Path) -> None:
    file = site / "mine.py"
    file.write_text(
        JUDGE
        + """
import numpy as np
from citeforge.schemas.sources import Declaration, SourceInfo

class Length:
    def fingerprint(self): return {"name": "length"}
    def encode(self, texts, kind):
        found = np.array([[len(t), 1] for t in texts], np.float32)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

class Nothing:
    def info(self): return SourceInfo(spec="nothing:x", kind="nothing")
    passages = queries = relevant = gold = mined = locate_judgement = None

NOTHING = Declaration(name="nothing", title="", factory=lambda *_: Nothing(), argument="X",
                      splits="", becomes="", licence="", citation="")
PLUGINS = {
    "judges": [VERBATIM],
    "embedders": [Choice("length", "", "by length", lambda settings: Length())],
    "sources": [NOTHING],
    "systems": [Choice("mute", "", "says nothing", lambda *_: iter(()))],
}
__version__ = "3"
"""
    )
    plugins.add_file(file)
    assert make_judge("verbatim").signature == "verbatim@1(mine.py 3)"
    assert make_embedder("length").fingerprint() == {"name": "length", "plugin": "mine.py 3"}
    assert open_source("nothing:x", None, ReadOptions()).info().plugin == "mine.py 3"
    assert list(SYSTEMS.get("mute").factory("mute", None, [], 1, 0)) == []


def test_a_broken_file_is_named_where_its_things_are_missed(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = site / "broken.py"
    broken.write_text("import there_is_no_such_module\n")
    plugins.add_file(broken)
    assert f"warning: the plugin {broken} is broken (ModuleNotFoundError" in capsys.readouterr().err
    assert make_judge("lexical")
    for missed in (lambda: make_judge("verbatim"), lambda: SYSTEMS.get("mute")):
        with refused("unknown-name") as caught:
            missed()
        assert "broken.py is broken" in str(caught.value)
    with refused("missing-file"):
        plugins.add_file(site / "nowhere.py")
    strange = site / "strange.py"
    strange.write_text("PLUGINS = {'jugdes': []}\n")
    plugins.add_file(strange)
    assert "has the group 'jugdes'; known: sources, measures" in capsys.readouterr().err


def test_help_imports_no_plugin_without_commands(site: Path) -> None:
    install(
        site, "cf-loud", "raise SystemExit('imported')\n", "[citeforge.judges]\nx = cf_loud:X\n"
    )
    code = (
        "import sys, json\nfrom citeforge.cli.main import main\ntry:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        "print('\\n' + json.dumps([m for m in sys.modules if 'cf_' in m]))"
    )
    env = {"PYTHONPATH": ":".join([str(site), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_manifests_without_plugins_are_what_they_were(site: Path) -> None:
    from citeforge.schemas.sources import SourceInfo

    info = SourceInfo(spec="x:y", kind="x")
    assert "plugin" not in info.model_dump(mode="json")
    info.plugin = "cf-x 1.5"
    assert SourceInfo(**info.model_dump(mode="json")).plugin == "cf-x 1.5"


def test_a_system_without_a_factory_is_left_out_and_refused_by_name(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "p.py").write_text(
        "from citeforge.schemas.catalogue import Choice\n"
        "PLUGINS = {'systems': [Choice('nofac', '', 'nothing')],\n"
        "           'judges': [Choice('nojudge', '', 'nothing')]}\n"
    )
    plugins.add_file(site / "p.py")
    known = systems()
    assert "echo-relevant" in known
    assert "nofac" not in known
    assert "'nofac' is declared without a factory" in capsys.readouterr().err
    with refused("broken-plugin"):
        as_system(Choice("nofac", "", "nothing"))
    with refused("broken-plugin"):
        make_judge("nojudge")


def test_a_wrapped_embedder_has_the_protocols_of_its_own(site: Path) -> None:
    """From Python 3.12 on, protocols see no method that ``__getattr__`` forwards."""

    class Watched:
        def fingerprint(self) -> None:
            pass

        def encode(self, texts: Any, kind: Any) -> None:
            pass

        def encode_watched(self, texts: Any, kind: Any, advance: Any) -> None:
            pass

    wrapped = plugins.PluginProxy(Watched(), "cf-x 1.5")
    assert isinstance(wrapped, Watchable)
    assert not isinstance(wrapped, Distributed)


def test_a_plugin_that_takes_a_built_in_name_is_told(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "p.py").write_text(
        "from citeforge.schemas.catalogue import Choice\n"
        "PLUGINS = {'systems': [Choice('random', '', 'mine', lambda *a: iter(()))]}\n"
    )
    (site / "broken.py").write_text("1 / 0\n")
    plugins.add_file(site / "p.py")
    plugins.add_file(site / "broken.py")
    assert SYSTEMS.get("random").help != "mine"
    told = capsys.readouterr().err
    assert "there is a system 'random' already; citeforge's is used" in told
    for unknown in (lambda: SYSTEMS.get("nobody"), lambda: EXPORTS.get("nobody")):
        with refused("unknown-name") as caught:
            unknown()
        assert "ZeroDivisionError" in str(caught.value)


def test_a_command_that_is_unknown_names_the_broken_plugin_file(inline: Inline, site: Path) -> None:
    (site / "broken.py").write_text("1 / 0\n")
    ran = inline("--plugin", site / "broken.py", "nothing")
    assert ran.returncode == 2
    assert "unknown command 'nothing'" in ran.stderr
    assert ran.stderr.count("ZeroDivisionError") == 2  # the warning, and the error


def test_a_package_of_measures_brings_those_of_all_its_modules(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "cf-many", "", "[citeforge.measures]\nmany = cf_many\n")
    (site / "cf_many.py").unlink()
    (site / "cf_many").mkdir()
    for name in ("__init__", "One", "Two"):
        measure = f"MEASURES = (size.measure({name!r}, 'size'),)" if name[0] != "_" else ""
        (site / "cf_many" / f"{name.lower()}.py").write_text(
            f"{MEASURE if measure else ''}{measure}"
        )
    importlib.invalidate_caches()
    assert [m.name for m in measures().values() if m.origin == "cf-many 1.5"] == ["One", "Two"]
    (site / "cf_many" / "three.py").write_text("raise ValueError('no table')")
    registry._collect_measures.cache_clear()
    assert not any(m.origin == "cf-many 1.5" for m in measures().values())
    told = capsys.readouterr().err
    assert "cannot load measures of cf_many: the plugin cf-many 1.5 is broken (ValueError" in told
