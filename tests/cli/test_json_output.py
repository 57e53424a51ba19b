"""``--json``: one object on standard output that fits its schema, however a command ends."""

import json
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator

from citeforge.cli.json_output import one_object
from citeforge.cli.main import cli as citeforge
from citeforge.engines.running import doctor
from citeforge.library import gates
from citeforge.package.manifest import load_manifest
from citeforge.package.package import Package
from citeforge.publishing.hidden import split_package
from citeforge.schemas.errors import MissingExtraError, UnknownValueError, UsageError
from citeforge.schemas.outputs import Fault, Place
from conftest import EXAMPLES, ROOT, Inline
from conftest_plots import scored

WITHOUT = {
    "bench", "export", "kg", "labels", "leaderboard init", "llm", "publish", "report", "reproduce",
    "view",
}  # fmt: skip
"""Commands that make files, whose content or summary they print, or that serve pages."""
N = 40


def leaves(context: click.Context) -> Iterator[click.Context]:
    """Yield the contexts of all commands that are no groups."""
    if not isinstance(context.command, click.Group):
        yield context
        return
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        assert command is not None
        yield from leaves(click.Context(command, context, name))


def test_every_command_has_json_or_is_known_to_have_none() -> None:
    for context in leaves(click.Context(citeforge, info_name="citeforge")):
        name = context.command_path.partition(" ")[2]
        top = name.split()[0]
        has_option = any("--json" in p.opts for p in context.command.params)
        assert has_option == WITHOUT.isdisjoint({top, name}), context.command_path
        has_schema = (ROOT / "docs" / "schemas" / f"output-{top}.json").is_file()
        assert has_schema == (top not in WITHOUT)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, package: Path) -> None:
    """A package, a damaged one, submissions and score files."""
    (tmp_path / "facts").symlink_to(package)
    (tmp_path / "examples").symlink_to(EXAMPLES)
    shutil.copytree(package, tmp_path / "own")
    flaw = {"kind": "near-duplicate", "query": "q01", "passage": "gone"}
    (tmp_path / "known.jsonl").write_text(json.dumps(flaw) + "\n")
    verdict = {"premise": "x", "hypothesis": "y", "verdict": True}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(verdict) + "\n")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "manifest.json").write_bytes((package / "manifest.json").read_bytes())
    (tmp_path / "fine.jsonl").write_text('{"query_id": "q01", "output": "So [1]."}\n')
    (tmp_path / "faulty.jsonl").write_text('{"query_id": "q01", "output": 1}\n')
    (tmp_path / "cut.json").write_text('{"system": ')
    (tmp_path / "object.json").write_text('{"command": "score", "exit_code": 0, "result": []}')
    (tmp_path / "typo.yaml").write_text("critical: [CiteP]\nmargn: 3\n")
    for name, value in (("new", 0.6), ("old", 0.5), ("poor", 0.1)):
        (tmp_path / f"{name}.json").write_text(scored(name, {"CiteP": [value] * N}).to_line())
    for name, values in (("few", [0.4, 0.5, 0.9]), ("few-too", [0.5, 0.1, 0.8])):
        few = scored(name, {"CiteP": values}).model_copy(update={"submission_sha256": name})
        (tmp_path / f"{name}.json").write_text(few.to_line())
    other = (tmp_path / "old.json").read_text().replace("|p:strict", "|p:reference")
    (tmp_path / "other.json").write_text(other)


@dataclass
class Case:
    """A command line, and how it ends.

    Attributes:
        line: words of the command, without ``--json``.
        exit_code: exit code.
        code: code of the error; empty for none.
        where: what the error says of its place.
        has_result: whether there is a result.
    """

    line: str
    exit_code: int = 0
    code: str = ""
    where: tuple[tuple[str, object], ...] = ()
    has_result: bool = False

    def __str__(self) -> str:
        """Name the case in pytest's output."""
        return self.line


def fine(line: str) -> Case:
    """A command that ends well, with a result."""
    return Case(line, has_result=True)


CASES = [
    fine("list judges"),
    fine("list measures"),
    Case("list judgs", 2, "unknown-name"),
    Case("list judges extra", 2, "wrong-usage"),
    fine("doctor --offline"),
    Case("doctor --offline --store cut.json", 1, "unusable", has_result=True),
    Case("doctor extra", 2, "wrong-usage"),
    fine("verify facts"),
    Case("verify gone", 1, "not-a-package", (("file", "gone"),)),
    Case("verify damaged", 1, "schema-mismatch", (("file", "damaged"),), has_result=True),
    Case("verify", 2, "missing-argument"),
    fine("check fine.jsonl --benchmark facts"),
    Case("check faulty.jsonl --benchmark facts", 1, "faulty-submission",
         (("file", "faulty.jsonl"),), has_result=True),
    Case("check gone.jsonl --benchmark facts", 1, "missing-file", (("file", "gone.jsonl"),)),
    Case("check fine.jsonl", 2, "missing-option", (("option", "--benchmark"),)),
    Case("check fine.jsonl --benchmark facts --wrong", 2, "unknown-option",
         (("option", "--wrong"),)),
    Case("check fine.jsonl --benchmark facts --context x", 2, "unknown-name",
         (("option", "--context"),)),
    Case("check fine.jsonl --benchmark facts --largest-line 0", 2, "bad-option",
         (("option", "--largest-line"),)),
    fine("compare new.json old.json"),
    fine("compare new.json old.json --out c.html"),
    Case("compare new.json old.json other.json", 3, "counted-failures", has_result=True),
    fine("compare facts facts"),
    fine("compare facts facts --submission fine.jsonl --kept kept.jsonl"),
    Case("compare new.json old.json --against nwe", 2, "unknown-name",
         (("option", "--against"),)),
    Case("compare facts new.json", 2, "wrong-type"),
    Case("compare new.json cut.json", 1, "bad-json", (("file", "cut.json"),)),
    Case("compare new.json object.json", 1, "wrong-kind", (("file", "object.json"),)),
    Case("compare", 2, "missing-argument"),
    fine("gate new.json --baseline old.json"),
    fine("gate new.json --plan"),
    Case("gate poor.json --baseline old.json", 1, "gate-failed", has_result=True),
    Case("gate few.json --baseline few-too.json", 4, "not-enough-evidence", has_result=True),
    Case("gate few.json --baseline few.json", 5, "same-file"),
    Case("gate new.json", 5, "no-baseline", has_result=True),
    Case("gate gone.json --baseline old.json", 5, "missing-file", (("file", "gone.json"),)),
    Case("gate new.json --baseline old.json --policy typo.yaml", 5, "unknown-field",
         (("file", "typo.yaml"), ("field", "margn"))),
    Case("gate", 2, "wrong-usage"),
    Case("gate new.json --margin 1", 2, "wrong-usage"),
    fine("score fine.jsonl --benchmark facts"),
    fine("score fine.jsonl --benchmark facts --measures ALCE.CitRec --judge lexical --dry-run"),
    Case("score fine.jsonl --benchmark facts --measures ALCE.CitRec --judge table:verdicts.jsonl",
         3, "counted-failures", has_result=True),
    Case("score faulty.jsonl --benchmark facts", 1, "wrong-type",
         (("file", "faulty.jsonl"), ("line", 1), ("field", "output"))),
    Case("score fine.jsonl --benchmark facts --measures CiteP,CiteX", 2, "unknown-name",
         (("option", "--measures"),)),
    Case("score fine.jsonl --benchmark facts --judge lexcal", 2, "unknown-name",
         (("option", "--judge"),)),
    Case("score --benchmark facts", 2, "missing-argument"),
    Case("leaderboard build --benchmark facts --scores gone --out site", 1, "not-a-folder",
         (("file", "gone"),)),
    Case("leaderboard build --benchmark facts", 2, "missing-option"),
    Case("leaderboard add --boards gone", 1, "missing-file"),
    fine("run top-1 --benchmark facts --out top.jsonl"),
    fine("run rage --benchmark facts --llm openai:m --base-url http://127.0.0.1:9/v1 --dry-run"),
    Case("run exec:false --benchmark facts --out x.jsonl", 3, "no-answers"),
    Case("run top-1 --benchmark facts", 2, "missing-option", (("option", "--out"),)),
    Case("run nope --benchmark facts --out x.jsonl", 2, "unknown-name", (("option", None),)),
    fine("show facts"),
    fine("show facts --query q01"),
    Case("show facts --query gone", 2, "unknown-name", (("option", "--query"),)),
    Case("show facts --trace", 2, "missing-option", (("option", "--trace"),)),
    Case("show gone", 1, "not-a-package", (("file", "gone"),)),
    fine("audit own"),
    Case("audit own --known-flaws known.jsonl --strict", 1, "new-flaws",
         (("file", "known.jsonl"),), has_result=True),
    Case("audit gone", 1, "not-a-package", (("file", "gone"),)),
    Case("audit own --checks", 2, "unknown-option", (("option", "--checks"),)),
    fine("build rage --source beir:examples/facts --mixture mix=3,3,0 --n-seemingly 0 --out made"),
    fine("build twins --benchmark facts --out made --dry-run --llm openai:m"
         " --base-url http://127.0.0.1:9/v1"),
    fine("build --print-recipe rage"),
    Case("build --from facts --out again", 2, "untrusted"),
    Case("build recipe.yaml --out again", 1, "missing-file", (("file", "recipe.yaml"),)),
    Case("build rage --source beir:gone --out made", 1, "not-a-folder"),
    Case("build rage --source bier:gone --out made", 2, "unknown-name",
         (("option", "--source"),)),
    Case("build rage --source beir:examples/facts --out own", 1, "output-exists",
         (("file", "own"),)),
    Case("build rage --out made", 2, "missing-option", (("option", "--source"),)),
    Case("build rag --out made", 2, "unknown-name"),
    Case("build rage --source DIR --out made", 2, "bad-option", (("option", "--source"),)),
    Case("build rage --source beir:x --mixture 3,3 --out made", 2, "bad-option",
         (("option", "--mixture"),)),
    Case("verify facts --identity a", 2, "missing-option", (("option", "--issuer"),)),
    Case("compare facts facts --kept x", 2, "missing-option", (("option", "--kept"),)),
    Case("score fine.jsonl --benchmark facts --judge nope", 2, "unknown-name",
         (("option", "--judge"),)),
]  # fmt: skip


def read_object(inline: Inline, line: str) -> tuple[int, dict[str, Any]]:
    """Run a command with ``--json``; return its exit code and its object, which fits its schema."""
    ran = inline(*line.split(), "--json")
    (text,) = ran.stdout.splitlines()
    found = json.loads(text)
    schema = ROOT / "docs" / "schemas" / f"output-{line.split()[0]}.json"
    Draft202012Validator(json.loads(schema.read_text())).validate(found)
    return ran.returncode, found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_object_of_a_command(inline: Inline, case: Case) -> None:
    exit_code, found = read_object(inline, case.line)
    assert exit_code == found["exit_code"] == case.exit_code, found["error"]
    assert (found["result"] is not None) == case.has_result
    error = found["error"] or {"code": "", "where": {}}
    assert error["code"] == case.code
    assert {name: error["where"][name] for name, _ in case.where} == dict(case.where)
    if exit_code == 2:
        assert error["advice"]


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("list judgs", "did you mean 'judges'? known: "),
        ("score fine.jsonl --benchmark facts --judge lexcal", "did you mean 'lexical'? expected "),
        ("show facts --query gone", "known: q01, "),
    ],
)
def test_the_advice_about_an_unknown_name_has_no_brackets(
    inline: Inline, line: str, advice: str
) -> None:
    _, found = read_object(inline, line)
    assert found["error"]["advice"].startswith(advice)


def test_the_objects_of_a_leaderboard(inline: Inline, tmp_path: Path) -> None:
    inline.ok("run", "top-1", "--benchmark", "facts", "--out", "top.jsonl")
    (tmp_path / "of-top").mkdir()
    inline.ok("score", "top.jsonl", "--benchmark", "facts", "--out", "of-top/top.json")
    line = "leaderboard build --benchmark facts --scores of-top --out site"
    exit_code, found = read_object(inline, line)
    result = found["result"]
    assert (exit_code, result["index"]) == (0, str(Path("site") / "index.html"))
    assert (result["systems"], result["controls"], result["queries"]) == (1, 0, 30)
    assert result["index_bytes"] == (tmp_path / "site" / "index.html").stat().st_size
    inline.ok("leaderboard", "init", "boards", "--benchmark", "one=facts")
    _, checked = read_object(inline, "leaderboard add top.jsonl --boards boards --check")
    taken = {"board": "one", "file": "top.jsonl", "answers": 30, "warnings": []}
    assert (checked["result"]["index"], checked["result"]["submissions"]) == (None, [taken])
    _, added = read_object(inline, "leaderboard add top.jsonl --boards boards")
    assert (added["result"]["systems"], added["result"]["submissions"]) == (1, [taken])


@pytest.mark.slow
def test_the_object_of_a_rebuild(inline: Inline, tmp_path: Path) -> None:
    exit_code, found = read_object(inline, "build --from own --trust --out again")
    assert exit_code == 0, found["error"]
    old, new = (found["result"][name]["benchmark_hash"] for name in ("old", "new"))
    assert old == new == load_manifest(tmp_path / "own").benchmark_hash


def test_the_exit_codes_are_all_there() -> None:
    assert {case.exit_code for case in CASES} == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    ("code", "returned", "message"),
    [(3, 3, "SystemExit: 3"), ("no model", 1, "SystemExit: no model")],
)
def test_a_library_that_ends_the_program_leaves_an_object(
    capsys: pytest.CaptureFixture[str], code: object, returned: int, message: str
) -> None:
    with pytest.raises(SystemExit), one_object(["doctor", "--json"]):
        raise SystemExit(code)
    found = json.loads(capsys.readouterr().out)
    assert (found["exit_code"], found["error"]["code"]) == (returned, "internal-error")
    assert found["error"]["message"] == message


def test_an_interrupted_command_prints_its_object(
    inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "examine", interrupted)
    exit_code, found = read_object(inline, "doctor")
    assert exit_code == found["exit_code"] == 128 + signal.SIGINT
    assert found["error"]["code"] == "interrupted"
    assert found["error"]["message"] == "interrupted by SIGINT"
    assert found["error"]["advice"] == "run the same command again, a build with --resume"


def test_a_mistake_in_the_code_is_an_error_too(
    inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(gates, "decide", mistaken)
    exit_code, found = read_object(inline, "gate new.json --baseline old.json")
    assert exit_code == 5
    assert found["error"]["code"] == "internal-error"
    assert found["error"]["message"] == "ZeroDivisionError: of ours"


def test_only_what_is_asked_for_prints_an_object(inline: Inline) -> None:
    """``--json`` behind ``--`` is the name of a file."""
    ran = inline.fails(1, "missing-file", "check", "--benchmark", "facts", "--", "--json")
    assert ran.stdout == ""
    assert "--json: does not exist" in ran.stderr


def test_numbers_are_not_rounded_and_undefined_ones_are_null(inline: Inline) -> None:
    _, found = read_object(inline, "compare new.json old.json")
    (difference,) = found["result"]["differences"]
    assert difference["difference"] == pytest.approx(100 * (0.5 - 0.6), abs=1e-12)
    assert difference["corrected_holm"] is None  # there are no labels


def test_scores_are_those_of_the_file(inline: Inline, tmp_path: Path) -> None:
    _, found = read_object(inline, "score fine.jsonl --benchmark facts --out s.json")
    assert found["result"] == [json.loads((tmp_path / "s.json").read_text())]


def test_scores_of_hidden_gold_are_those_that_may_be_published(
    inline: Inline, hidden_package: Path, tmp_path: Path
) -> None:
    split_package(hidden_package, tmp_path / "public", tmp_path / "gold")
    query = Package(hidden_package).query_ids[0]
    (tmp_path / "fine.jsonl").write_text(json.dumps({"query_id": query, "output": "[1]"}))
    line = "score fine.jsonl --benchmark public --gold gold"
    _, found = read_object(inline, line)
    (scores,) = found["result"]
    assert scores["gold"] == "withheld"
    assert scores["query_ids"] == []
    _, found = read_object(inline, f"{line} --private")
    assert len(found["result"][0]["query_ids"]) == 30


def test_a_result_of_other_letters_is_ascii(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "über.jsonl").write_text("no JSON\n")
    ran = inline("check", "über.jsonl", "--benchmark", "facts", "--json")
    assert ran.stdout.isascii()
    assert json.loads(ran.stdout)["error"]["where"]["file"] == "über.jsonl"


def test_advice_of_errors_without_a_place() -> None:
    unknown = Fault.from_error(UnknownValueError("judge", "lexicl", ["lexical", "table"]))
    assert unknown.advice == "did you mean 'lexical'? known: lexical, table"
    missing = Fault.from_error(MissingExtraError("pandas", "pandas", "a DataFrame"))
    assert missing.advice == "install it with: pip install 'citeforge[pandas]'"
    assert missing.where == Place()
    unsaid = UsageError("give --out FILE, or --dry-run", code="missing-option")
    assert Fault.from_error(unsaid).where == Place(option="--out")
    of_none = UsageError("a pair needs two, see --across", code="too-few")
    assert Fault.from_error(of_none).where == Place()


def test_the_nearest_option_alone_is_proposed(inline: Inline) -> None:
    found = json.loads(inline("build", "rage", "--licnce", "mit", "--json").stdout)
    assert found["error"]["message"] == "No such option '--licnce'. Did you mean '--licence'?"


def test_an_option_of_no_command(inline: Inline) -> None:
    found = json.loads(inline("--json").stdout)
    assert (found["command"], found["error"]["where"]["option"]) == (None, "--json")
    assert found["error"]["advice"] == "`citeforge --help` lists arguments and options"


def test_a_command_line_in_an_error_can_be_copied(inline: Inline) -> None:
    """Its words are quoted, and a password is masked."""
    for system, shown in (
        ("exec:python3 my.py", "'exec:python3 my.py'"), ("https://me:pw@x.example/a", "https://…@")
    ):  # fmt: skip
        ran = inline("run", system)
        assert f"Usage: citeforge run {shown}" in ran.stderr.replace("'https", "https")
        assert "me:pw" not in ran.stderr


@pytest.mark.slow
def test_commands_that_a_command_runs_print_to_standard_error(inline: Inline) -> None:
    exit_code, found = read_object(inline, "build demo --out demo")
    assert exit_code == 0, found["error"]
    assert "demo/report.html" in found["result"]["text"]
