"""Builds of questions about villages, by a scripted LLM."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.session import JudgeSession
from citeforge.package.package import Package
from citeforge.plugins.documents.build import build_documents
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import RunOptions
from plugins.documents.served_pumps import embed
from plugins.documents.village import ErringLlm, entails
from servers.running import openai_server
from stand_ins import RuleJudge

EVEN = {"single": 1, "pair": 1, "lists": 1, "absent": 1}
SINGLE = {"single": 1, "pair": 0, "lists": 0, "absent": 0}


@contextmanager
def served_words(out: Path) -> Iterator[RunOptions]:
    """Options of a run to a folder, with a server of the embedder ``openai:words``."""
    with (
        pytest.MonkeyPatch.context() as patch,
        openai_server(out.with_name(f"{out.name}.log"), embed=embed) as server,
    ):
        patch.setenv("OPENAI_API_KEY", "key")
        yield RunOptions(out=out, base_url=server.url)


@dataclass
class Built:
    """A package of village questions, and what the LLM meant by each."""

    folder: Path
    manifest: Manifest
    llm: ErringLlm

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All questions, with ``error``: what the LLM did wrong on purpose."""
        package = Package(self.folder)
        titles = {r["_id"]: r["title"] for b in package.passages() for r in b.to_pylist()}
        rows: list[dict[str, Any]] = package.table("questions", "questions").to_pylist()
        for row in rows:
            row["error"] = self.llm.made[tuple(titles[e] for e in row["evidence"])]
        return rows


def built(folder: Path, llm: ErringLlm, judged: bool = True, **recipe: Any) -> Built:
    known = {"n_queries": 4, "shares": EVEN, "asking": {"neighbours": 200}} | recipe
    manifest = build_documents(
        DocumentsRecipe(source=f"folder:{folder / 'docs'}", llm="openai:erring", **known),
        RunOptions(out=folder / "out"),
        llm,
        JudgeSession(RuleJudge(entails)) if judged else None,
    )
    return Built(folder / "out", manifest, llm)
