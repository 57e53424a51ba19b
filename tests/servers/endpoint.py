"""Systems of a package against an endpoint that says what it is told to."""

import json
from pathlib import Path
from typing import Any

import citeforge as cf
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.schemas.recipes.base import RunOptions
from citeforge.systems.registry import get_system
from citeforge.systems.run import Outcome, run_system
from servers.running import Running, openai_server

Said = tuple[Outcome, list[dict[str, Any]], list[str]]


class Endpoint:
    """Runs a system of the package against a server that says what it is told to."""

    def __init__(self, package: Path, folder: Path) -> None:
        self.benchmark, self.folder = cf.load(package), folder
        self.n = 0

    def __call__(self, system: str, replies: list[list[str]], options: Any, **more: Any) -> Said:
        """(what the run came to, its lines, the prompts in no order)."""
        self.n += 1
        out = self.folder / f"{self.n}.jsonl"
        with openai_server(self.folder / f"log{self.n}", replies=replies) as server:
            ran = self._run(system, server, options, out, **more)
            prompts = [r["text"] for r in server.requests()]
        self.out = out
        rows = [json.loads(x) for x in out.read_text().splitlines()[1:]]
        return ran, rows, prompts

    def _run(self, system: str, server: Running, options: Any, out: Path, **more: Any) -> Outcome:
        llm = OpenAiLlm("m", None, RunOptions(base_url=server.url))
        known = {"limit": 3, "runs": 1, "contexts": ["mix"]} | more
        contexts, runs = known.pop("contexts"), known.pop("runs")
        return run_system(
            get_system(system),
            self.benchmark,
            contexts,
            runs,
            0,
            out,
            llm=llm,
            options=options,
            **known,
        )

    def accepted(self, measures: tuple[str, ...] = ("CiteF1",), context: str = "mix") -> None:
        """`check` finds no error in the latest submission, and it can be scored."""
        result = cf.check(self.out, self.benchmark)
        assert not result.errors, result.errors
        scored = cf.score(self.out, self.benchmark, measures, context=context)
        rows = len(self.out.read_text().splitlines()) - 1
        assert scored.counts.n_answered == rows > 0
