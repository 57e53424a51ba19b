"""Python takes every option that the command takes."""

import inspect
import shutil
from collections.abc import Callable
from typing import Any

import click
import pytest
from pydantic import BaseModel

import citeforge as cf
from citeforge.cli.gating import gate
from citeforge.cli.options import field_options
from citeforge.cli.scoring import compare, report, score
from citeforge.evaluator.compare import compare_many
from citeforge.plugins.audit.commands import audit
from conftest import Inline, refused, write_jsonl
from conftest_plots import scored

RECORDS: tuple[type[BaseModel], ...] = (cf.ScoreOptions, cf.AuditOptions, cf.RunOptions)
"""What stands for several options in Python."""
CASES: list[tuple[click.Command, Callable[..., Any], set[str]]] = [
    (compare, cf.compare, {"submission", "kept"}),  # of packages: the next one
    (compare, cf.compare_packages, {"scores", "measures", "against", "across", "by"}),
    (report, cf.report, set()),
    (gate, cf.gate, {"plan", "margin", "power", "changed"}),
    (gate, cf.gate_plan, {"plan", "out", "by"}),
    # What is printed, the exit code after failures of the judge, and what cf.log_scores does.
    (score, cf.score_files, {"verbose", "allow_judge_failures", "largest_line", "log"}),
    (audit, cf.audit, {"folder", "largest_line"}),  # its one argument: `benchmark` in Python
]
"""Command, function, and the options that make sense on the command line alone."""


def parameters(function: Callable[..., Any]) -> set[str]:
    """Names of parameters; in place of a record the options that its fields are."""
    names: set[str] = set()
    for name, parameter in inspect.signature(function).parameters.items():
        record = next((r for r in RECORDS if r.__name__ in str(parameter.annotation)), None)
        names |= {name} if record is None else {str(o.name) for o in field_options(record)}
    return names


@pytest.mark.parametrize(("command", "function", "alone"), CASES, ids=lambda x: x if x else "")
def test_every_option_has_a_parameter(
    command: click.Command, function: Callable[..., Any], alone: set[str]
) -> None:
    options = {str(parameter.name) for parameter in command.params} - {"json"}
    assert options - parameters(function) == alone


def test_comparisons_are_those_of_the_command(inline: Inline, package: Any, tmp_path: Any) -> None:
    for name in ("random", "echo-relevant"):
        inline("run", name, "--benchmark", package, "--out", f"{name}.jsonl")
        inline("score", f"{name}.jsonl", "--benchmark", package, "--out", f"{name}.json")
    files = [tmp_path / f"{name}.json" for name in ("random", "echo-relevant")]
    for ending in ("html", "md", "tex", "csv", "json"):
        options = ("--measures", "CiteP,CiteR", "--against", "random")
        inline.ok("compare", *files, *options, "--out", f"c.{ending}")
        made = cf.compare(
            *files, out=tmp_path / f"p.{ending}", measures=["CiteP", "CiteR"], against="random"
        )
        assert (tmp_path / f"p.{ending}").read_text() == (tmp_path / f"c.{ending}").read_text()
    assert [d.measure for d in made] == ["CiteP", "CiteR"]
    again = cf.compare(*files, measures="CiteP,CiteR", against="random")
    assert [*map(repr, again)] == [*map(repr, made)]  # NaN does not equal itself
    texts = [cf.report(files, measures=given).text for given in ("CiteR", ["CiteR"])]
    assert texts[0] == texts[1]
    with refused("bad-option", cf.UsageError):
        cf.compare(*files, out=tmp_path / "p.svg")


def test_what_may_differ_is_named(tmp_path: Any) -> None:
    few = scored("few", {"CiteP": [0.0, 1.0, 1.0]})
    many = scored("many", {"CiteP": [1.0, 1.0, 1.0]}).model_copy(update={"context": "many"})
    (entry,) = many.measures
    entry.signature = entry.signature.replace("ctx:mix", "ctx:many")
    pair = [cf.Scores(few), cf.Scores(many)]
    with refused("not-comparable", cf.InputError) as caught:
        cf.compare(*pair)
    assert "ctx: mix / many" in str(caught.value)
    (result,) = cf.compare(*pair, across=["contexts"])
    assert result.difference == pytest.approx(100 / 3)
    (compared,) = compare_many([few, many], across=["contexts"]).differences
    assert repr(result) == repr(compared)
    table = cf.report(
        pair, measures=["CiteP"], best="bold", per_context=True, across=["contexts"]
    ).text
    assert table.startswith("| system | CiteP (mix) | CiteP (many) |")
    for kind in ("md", "latex"):
        assert "not comparable" in cf.report(pair, kind=kind).text
        assert "not comparable" not in cf.report(pair, kind=kind, across=["contexts"]).text


def test_reports_are_those_of_the_command(inline: Inline, tmp_path: Any) -> None:
    values = {"CiteP": [0.0, 1.0, 1.0, 0.5], "CiteR": [0.5, 0.5, 1.0, 0.5]}
    files = [scored("one", values), scored("two", {n: v[::-1] for n, v in values.items()})]
    for file in files:
        (tmp_path / f"{file.system}.json").write_text(file.model_dump_json())
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    args = (
        *("--measures", "CiteR,CiteP", "--best", "bold", "--against", "one"),
        *("--significance", "*"),
    )
    given: dict[str, Any] = {
        "measures": ["CiteR", "CiteP"], "best": "bold", "against": "one", "significance": "*",
    }  # fmt: skip
    for ending in ("md", "tex", "csv"):
        inline.ok("report", *paths, *args, "--out", f"c.{ending}")
        text = cf.report(paths, tmp_path / f"p.{ending}", **given).text
        assert text == (tmp_path / f"c.{ending}").read_text()
    for args in (("--plot", "differences", "--measure", "CiteR"), ("--measure", "CiteP")):
        given = dict(zip((a[2:] for a in args[::2]), args[1::2], strict=True))
        inline.ok("report", *paths, *args, "--out", "c.svg")
        assert (
            cf.report(paths, tmp_path / "p.svg", **given).text == (tmp_path / "c.svg").read_text()
        )
    inline.ok("report", *paths, "--title", "T", "--one-file", "--out", "c.html")
    page = cf.report(paths, tmp_path / "p.html", title="T", one_file=True).text
    assert page == (tmp_path / "c.html").read_text()


def test_a_report_tells_of_the_audit(inline: Inline, package: Any, tmp_path: Any) -> None:
    rows: list[dict[str, object]] = [{"query_id": "q01", "output": "One [1]."}]
    copy = shutil.copytree(package, tmp_path / "p")  # an audit writes into its package
    scores = cf.score(write_jsonl(tmp_path / "s.jsonl", rows), copy, ["CiteP"])
    inline.ok("audit", copy)
    text = cf.report([scores], benchmark=copy).text
    assert text == cf.report([scores], benchmark=cf.load(copy)).text
    assert "negatives is relevant was not estimated" in text


def test_wrong_options_are_named(tmp_path: Any) -> None:
    scores = cf.Scores(scored("one", {"CiteP": [0.0, 1.0, 1.0]}))
    with refused("unknown-name", cf.UnknownValueError, noun="format", value="docx"):
        cf.report([scores], kind="docx")
    for options, code in (
        ({"best": "italic"}, "bad-option"),
        ({"kind": "png"}, "missing-option"),
        ({"significance": "*"}, "bad-option"),
    ):
        with refused(code, cf.UsageError):
            cf.report([scores], **options)
