"""A small package, and a stand-in for the Hub."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import citeforge as cf
from citeforge.publishing.card import write_card
from conftest import write_beir
from servers.hub import Hub, hub_server


@pytest.fixture(scope="module")
def environment() -> Iterator[None]:
    """The Hub's client online, without Xet, and without pauses between its own tries."""
    import huggingface_hub.constants as constants
    import huggingface_hub.file_download as download
    import huggingface_hub.utils._http as http

    patch = pytest.MonkeyPatch()
    patch.setenv("HF_HUB_DISABLE_XET", "1")
    patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    for module in (download, http):
        patch.setattr(module, "time", SimpleNamespace(sleep=lambda s: None, time=time.time))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of five tables."""
    root = tmp_path_factory.mktemp("small")
    texts = {f"p{i}": f"Passage {i} says this and that." for i in range(6)}
    beir = write_beir(root / "beir", texts, {"q1": "What?", "q2": "Who?"}, [("q1", "p1", 1),
                      ("q2", "p2", 1)])  # fmt: skip
    recipe = cf.RageRecipe(
        source=f"beir:{beir}", licence="cc0-1.0", mining={"seemingly_relevant": 0},
        mixtures=("mix=1,2,0",),
    )  # fmt: skip
    cf.build(recipe, root / "small")
    write_card(root / "small")
    return root / "small"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A stand-in that takes the Hub's place in this process; the cache is empty."""
    import huggingface_hub.constants as constants

    with hub_server() as hub:
        address = f"{hub.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("HF_TOKEN", hub.token)
        yield hub
