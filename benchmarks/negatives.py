"""How many of the negatives that `build documents` shows are relevant, where people judged.

Passages of HAGRID become documents. A script writes HAGRID's own questions about them, and reads:
it overlooks the answer in a share of the passages that people judged relevant, and sees one in a
share of the others. At last a judge stands before it that finds an answer nowhere but in the
evidence, so that the reader sees the nearest passages alone. Needs CITEFORGE_REAL_DATA.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measure import machine

if TYPE_CHECKING:
    from citeforge.engines.judge.records import Keep, Pair
    from citeforge.engines.llm.records import Request, Result

PASSAGES = 800
"""First ones of the corpus; with them, the questions all of whose relevant passages they hold."""
ERRORS = ((0.0, 0.0, False), (0.1, 0.02, False), (0.3, 0.02, False), (1.0, 0.0, False),
          (0.0, 0.0, True))  # fmt: skip
"""Shares of relevant passages overlooked, and of others in which an answer is seen, and whether the
blind judge decides; the fourth reader finds no other passage at all."""


def hagrid() -> Path:
    """The BEIR folder of HAGRID."""
    return Path(os.environ["CITEFORGE_REAL_DATA"]) / "beir_hagrid"


def corpus() -> list[str]:
    """Lines of the passages."""
    return (hagrid() / "corpus.jsonl").read_text().splitlines()[:PASSAGES]


@dataclass
class HagridLlm:
    """Writes HAGRID's questions, and reads with errors.

    Attributes:
        overlooks: share of relevant passages whose answer it does not see.
        invents: share of other passages in which it sees one.
        relevant: ids of queries to those of the passages that people judged relevant.
        questions: texts of queries to their ids.
    """

    overlooks: float
    invents: float
    relevant: dict[str, set[str]] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    _id_of: dict[str, str] = field(default_factory=dict)
    _written: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = (json.loads(line) for line in corpus())
        self._id_of = {row["text"]: row["_id"] for row in rows}
        for line in (hagrid() / "qrels" / "dev.tsv").read_text().splitlines()[1:]:
            query, passage, _ = line.split("\t")
            self.relevant.setdefault(query, set()).add(passage)
        known = set(self._id_of.values())
        for line in (hagrid() / "queries.jsonl").read_text().splitlines():
            row = json.loads(line)
            if self.relevant[row["_id"]] <= known:
                self.questions[row["text"]] = row["_id"]

    def identity(self) -> dict[str, Any]:
        return {"name": "openai:hagrid"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        from citeforge.engines.llm.records import LlmReply

        return [LlmReply(self._reply(r.task, dict(r.values))) for r in requests]

    def _reply(self, task: str, values: dict[str, Any]) -> str:
        passages = [(self._id_of[p["text"]], p["text"]) for p in values["passages"]]
        if task == "question":
            return self._question(*passages[0])
        query = self.questions[values["question"]]
        return f"fact {query}" if any(self._sees(query, p) for p, _ in passages) else "NOT ANSWERED"

    def _question(self, passage: str, text: str) -> str:
        for question, query in self.questions.items():
            if passage in self.relevant.get(query, ()) and query not in self._written:
                self._written[query] = passage
                return (
                    f"Quote: {text[:60]}\nAnswer: fact {query}\nQuestion: {question}\n"
                    f"Statement: {text} So fact {query} says."
                )
        return "There is nothing to ask."

    def _sees(self, query: str, passage: str) -> bool:
        draw = random.Random(f"{query} {passage}").random()
        if passage == self._written.get(query):
            return True
        if passage in self.relevant[query]:
            return draw >= self.overlooks
        return draw < self.invents


class BlindJudge:
    """A passage entails the statements that begin with its text, and no other."""

    signature, comparable = "blind", False

    def identity(self) -> dict[str, Any]:
        return {"name": "blind"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        from citeforge.engines.judge.records import Verdict

        keep([(n, Verdict(self._entails(*pair))) for n, pair in enumerate(pairs)])

    def _entails(self, premise: str, hypothesis: str) -> bool:
        text = premise.partition("\n")[2] if premise.startswith("Title: ") else premise
        return hypothesis.startswith(" ".join(text.split()))


def main() -> None:
    """Print the share of relevant ones among the negatives shown, with its exact interval."""
    from scipy.stats import binomtest

    from citeforge.engines.judge.session import JudgeSession
    from citeforge.package.package import Package
    from citeforge.plugins.documents.build import build_documents
    from citeforge.plugins.documents.recipe import DocumentsRecipe
    from citeforge.schemas.recipes.run import RunOptions

    print(machine("sentence-transformers"))
    with tempfile.TemporaryDirectory() as folder:
        passages = Path(folder) / "corpus.jsonl"
        passages.write_text("\n".join(corpus()) + "\n")
        for overlooks, invents, is_judged in ERRORS:
            llm = HagridLlm(overlooks, invents)
            recipe = DocumentsRecipe(
                source=f"corpus:{passages}", llm="openai:hagrid",
                n_queries=len(llm.questions), licence="apache-2.0", asking={"longest_copy": 100},
                shares={"single": 1, "pair": 0, "lists": 0, "absent": 0},
            )  # fmt: skip
            out = Path(folder) / f"{overlooks}-{invents}-{is_judged}"
            run = RunOptions(out=out, embeddings=Path(folder) / "vectors")
            build_documents(recipe, run, llm, JudgeSession(BlindJudge()) if is_judged else None)
            package = Package(out)
            texts = dict(zip(package.query_ids, package.questions("mix"), strict=True))
            names = {query: llm.questions[text] for query, text in texts.items()}
            shown = [
                doc["corpus-id"] in llm.relevant[names[row["query_id"]]]
                for row in package.context_table("mix").to_pylist()
                for doc in row["docs"]
                if doc["label"] != "relevant"
            ]
            share = binomtest(sum(shown), len(shown)).proportion_ci(0.95, method="exact")
            print(
                f"overlooks {overlooks:.0%}, invents {invents:.0%}, "
                f"{'blind judge' if is_judged else 'no judge'}: {len(texts)} questions, "
                f"{sum(shown)} of {len(shown)} negatives shown are relevant "
                f"({sum(shown) / len(shown):.2%} [{share.low:.2%}, {share.high:.2%}])",
                flush=True,
            )


if __name__ == "__main__":
    main()
