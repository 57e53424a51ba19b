"""How a cluster is shared out, and which addresses are taken; no Ray is started."""

import importlib.util
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.engines.runner import make_runner
from citeforge.plugins.ray.connection import address_of
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.share import Share, share_out
from citeforge.schemas import errors
from conftest import EXAMPLES, Inline, refused

LAPTOP = [{"CPU": 8.0}]
TWO = [{"CPU": 8.0}, {"CPU": 4.0}]
GPUS = [{"CPU": 32.0, "GPU": 4.0}, {"CPU": 16.0, "GPU": 2.0}, {"CPU": 8.0}]


@pytest.mark.parametrize(
    ("options", "device", "nodes", "share"),
    [
        (RayOptions(), "auto", LAPTOP, Share(1, 8, 0)),
        (RayOptions(workers=3), "auto", LAPTOP, Share(3, 2, 0)),  # 8 // 3
        (RayOptions(), "auto", TWO, Share(2, 4, 0)),  # one each, with the cores of the smaller
        (RayOptions(workers=3), "auto", TWO, Share(3, 4, 0)),  # 4, 4 and 4
        (RayOptions(workers=99), "auto", TWO, Share(12, 1, 0)),
        (RayOptions(), "auto", GPUS, Share(6, 8, 1)),  # 32 // 4, 16 // 2
        (RayOptions(), "cpu", GPUS, Share(3, 8, 0)),
        (RayOptions(gpus=0.5), "cuda", GPUS, Share(12, 4, 0.5)),
        (RayOptions(gpus=4), "cuda", GPUS, Share(1, 32, 4)),
        (RayOptions(workers=2), "cuda", GPUS, Share(2, 8, 1)),
        (RayOptions(gpus=0), "auto", GPUS, Share(3, 8, 0)),
    ],
)
def test_shares(
    options: RayOptions, device: str, nodes: list[dict[str, float]], share: Share
) -> None:
    assert share_out(options, device, nodes) == share


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
        share_out(options, "auto", nodes)
    assert lacking in str(caught.value)


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert address_of(RayOptions()) is None
    assert address_of(RayOptions(address="local")) is None
    assert address_of(RayOptions(address="head:6379")) == "head:6379"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    assert address_of(RayOptions()) == "10.0.0.1:6379"
    for wrong in ("head", "ray://head:10001", "head:", ":6379", "head:port", "head:0", "h:99999"):
        with refused("bad-option", cf.UsageError):
            address_of(RayOptions(address=wrong))


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
