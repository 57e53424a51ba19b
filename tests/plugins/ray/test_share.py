"""How a cluster is shared out, and which addresses are taken; no Ray is started."""

import importlib.util
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.engines.running.runner import make_runner
from citeforge.plugins.ray.connection import parse_address
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.pool import share
from citeforge.schemas import errors
from conftest import EXAMPLES, Inline, refused

LAPTOP = [{"CPU": 8.0}]
TWO = [{"CPU": 8.0}, {"CPU": 4.0}]
GPUS = [{"CPU": 32.0, "GPU": 4.0}, {"CPU": 16.0, "GPU": 2.0}, {"CPU": 8.0}]


@pytest.mark.parametrize(
    ("options", "device", "nodes", "shared"),
    [
        (RayOptions(), "auto", LAPTOP, (1, 8, 0)),
        (RayOptions(workers=3), "auto", LAPTOP, (3, 2, 0)),  # 8 // 3
        (RayOptions(), "auto", TWO, (2, 4, 0)),  # 8 // 4, 4 // 4
        (RayOptions(workers=3), "auto", TWO, (3, 4, 0)),  # 4, 4 and 4
        (RayOptions(workers=99), "auto", TWO, (12, 1, 0)),
        (RayOptions(), "auto", GPUS, (6, 8, 1)),  # 32 // 4, 16 // 2
        (RayOptions(), "cpu", GPUS, (3, 16, 0)),  # 2 and 1; none on the smallest
        (RayOptions(gpus=0.5), "cuda", GPUS, (12, 4, 0.5)),
        (RayOptions(gpus=4), "cuda", GPUS, (1, 32, 4)),
        (RayOptions(workers=2), "cuda", GPUS, (2, 16, 1)),  # 32 // 16, 16 // 16
        (RayOptions(workers=9), "cuda", GPUS, (6, 8, 1)),
        (RayOptions(gpus=0), "auto", GPUS, (3, 16, 0)),
    ],
)
def test_shares(
    options: RayOptions, device: str, nodes: list[dict[str, float]], shared: tuple[int, int, float]
) -> None:
    assert share(options, device, nodes) == shared


@pytest.mark.parametrize(
    ("options", "nodes", "lacking"),
    [
        (RayOptions(gpus=1), LAPTOP, "has 1 GPUs"),
        (RayOptions(gpus=8), GPUS, "has 8 GPUs"),
        (RayOptions(), [{"CPU": 0.0}], "has a core"),
    ],
)
def test_what_no_machine_has(
    options: RayOptions, nodes: list[dict[str, float]], lacking: str
) -> None:
    with refused("no-cluster", path="Ray") as caught:
        share(options, "auto", nodes)
    assert lacking in str(caught.value)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert parse_address(RayOptions()) is None
    assert parse_address(RayOptions(address="local")) is None
    assert parse_address(RayOptions(address="head:6379")) == "head:6379"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert parse_address(RayOptions()) == "10.0.0.1:6379"
    for wrong in ("head", "ray://head:10001", "head:", ":6379", "head:port", "head:0", "h:99999"):
        with refused("bad-option", cf.UsageError):
            parse_address(RayOptions(address=wrong))


def test_a_cluster_that_does_not_answer_is_told_before_any_work(
    inline: Inline, tmp_path: Path
) -> None:
    result = inline(
        "build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}", "--out", "out",
        "--embedder", "offline", "--engine", "ray", "--ray-address", "127.0.0.1:1",
    )  # fmt: skip
    assert (result.returncode, result.code) == (1, "no-cluster")
    assert result.stderr.startswith("error: 127.0.0.1:1: no Ray cluster answers within 5 s; start")
    assert not list(tmp_path.glob("out*"))


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    result = importlib.util.find_spec
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name == "ray" else result(name))
    with refused("missing-extra", cf.MissingExtraError, extra="ray"):
        make_runner(cf.RunOptions(engine="ray")).require()
    make_runner(cf.RunOptions()).require()  # needs none


def test_options_of_ray_go_with_the_engine(inline: Inline) -> None:
    result = inline("build", "rage", "--source", "beir:x", "--out", "out", "--ray-workers", "2")
    assert (result.returncode, result.code) == (2, "option-without-effect")
