"""The papers' own evaluators beside ours.

These tests run when ``CITEFORGE_PEERS`` names a folder with checkouts of the papers' repositories,
each under its repository's name (``ALCE``, ``rage_toolkit``, ``Attributed-IR``, ``attrieval``,
``Knowledge-aware-Language-Model-Attribution``, ``deep_research_bench``, ``every_eval_ever``,
``RAGDoll``, ``nuggetizer``, DRAGUN's ``resources``, ``ai2-scholarqa-eval``, ``AttributionBench``,
``anserini-tools``).
Nothing of theirs is in this repository. ALCE's QA measures need transformers 4.28.1 besides:
``CITEFORGE_PEERS_PYTHON`` names an interpreter with it.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def peer() -> Callable[[str], Path]:
    """Checkout of a peer by its repository's name; the test is skipped where there is none."""

    def find(name: str) -> Path:
        folder = os.environ.get("CITEFORGE_PEERS")
        if not folder:
            pytest.skip("CITEFORGE_PEERS is not set")
        checkout = Path(folder) / name
        if not checkout.is_dir():
            pytest.skip(f"CITEFORGE_PEERS has no checkout of {name}")
        return checkout

    return find
