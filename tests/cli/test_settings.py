"""Limits, prices and timeouts from ``citeforge.toml`` and the environment."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from citeforge.cli.options import add_options, field_options, record_from
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.flags import fields_in
from citeforge.schemas.recipes.groups import SETTING
from conftest import refused


@click.command()
@add_options(field_options(RunOptions))
def show(**given: object) -> None:
    run = record_from(RunOptions, given)
    click.echo(
        f"rpm={run.rpm} price={run.price} engine={run.engine} {run.engine_options} {run.out}"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*args: str) -> list[str]:
    return CliRunner().invoke(show, args, catch_exceptions=False).output.splitlines()


def test_the_file_the_environment_and_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = "rpm=None price=None engine=local {} None"
    assert said() == [nothing]
    (folder / "citeforge.toml").write_text("rpm = 60\nprice = [0.15, 0.60]\n")
    assert said() == [
        "citeforge.toml: --rpm 60",
        "citeforge.toml: --price 0.15,0.6",
        "rpm=60.0 price=(0.15, 0.6) engine=local {} None",
    ]
    monkeypatch.setenv("CITEFORGE_RPM", "30")
    assert said("--price", "1,2") == ["rpm=30.0 price=(1.0, 2.0) engine=local {} None"]
    assert said("--rpm", "7", "--price", "1,2")[-1].startswith("rpm=7.0 ")


def test_a_plugin_has_settings(folder: Path) -> None:
    (folder / "limits.toml").write_text('engine = "ray"\nray-workers = 3\n')
    env = {"CITEFORGE_CONFIG": "limits.toml"}
    result = CliRunner().invoke(show, env=env, catch_exceptions=False)
    assert result.output.splitlines() == [
        "limits.toml: --engine ray",
        "limits.toml: --ray-workers 3",
        "rpm=None price=None engine=ray {'ray': {'workers': 3}} None",
    ]


@pytest.mark.parametrize(
    ("content", "code", "field"),
    [
        ("rpm = {a = 1}", "wrong-type", "rpm"),
        ("rpm = []", "wrong-type", "rpm"),
        ("rpm = 1\nrpm = 2", "bad-toml", None),
        ("rpm", "bad-toml", None),
        ('out = "x"', "unknown-field", "out"),
        ('base-url = "http://example.org"', "unknown-field", "base-url"),
        ('store = "replies.db"', "unknown-field", "store"),
        ('reasoning-effort = "low"', "unknown-field", "reasoning-effort"),
        ('compute = "bf16"', "unknown-field", "compute"),
        ("thinking-tokens = 0", "unknown-field", "thinking-tokens"),
    ],
)
def test_wrong_settings_are_refused(
    folder: Path, content: str, code: str, field: str | None
) -> None:
    (folder / "citeforge.toml").write_text(content)
    with refused(code, path="citeforge.toml", field=field):
        said()


def test_a_misspelt_setting_suggests_another(folder: Path) -> None:
    (folder / "citeforge.toml").write_text("rmp = 6")
    with refused("unknown-field", path="citeforge.toml", field="rmp") as caught:
        said()
    assert "did you mean 'rpm'?" in str(caught.value)


def test_a_value_out_of_range_and_a_missing_file(folder: Path) -> None:
    (folder / "citeforge.toml").write_text("rpm = -3")
    assert "'--rpm': -3.0 is not in the range x>0" in said()[-1]
    with refused("missing-file", path="no.toml"):
        CliRunner().invoke(show, env={"CITEFORGE_CONFIG": "no.toml"}, catch_exceptions=False)


def test_completion_neither_reads_nor_prints(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "citeforge.toml").write_text("rmp = 6")
    context = show.make_context("show", [], resilient_parsing=True)
    assert context.params["rpm"] is None
    assert capfd.readouterr().err == ""


def test_neither_endpoints_nor_files_nor_replies_are_settings() -> None:
    settable = set(fields_in(RunOptions, SETTING))
    assert {"rpm", "device", "engine", "kg_seconds"} < settable
    hidden = {"out", "base_url", "secret_from", "reasoning_effort", "store", "verdicts"}
    assert not hidden & settable
