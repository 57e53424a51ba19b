"""How many of the negatives that `build documents` shows are relevant, where people judged.

Passages of HAGRID become documents. A script writes HAGRID's own questions about them, and reads:
it overlooks the answer in a share of the passages that people judged relevant, and sees one in a
share of the others. Before it may stand a judge that errs likewise, but elsewhere. One judge finds
an answer nowhere but in the evidence. Needs CITEFORGE_REAL_DATA.
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


@dataclass(frozen=True)
class Errors:
    """Shares of relevant passages overlooked, and of others in which an answer is seen."""

    overlooks: float
    invents: float = 0.0

    def __str__(self) -> str:
        return f"overlooks {self.overlooks:.0%}, invents {self.invents:.0%}"

    def sees(self, is_relevant: bool, draw: float) -> bool:
        """Whether an answer is seen in a passage, by a number from 0 to 1 that chance drew."""
        return draw >= self.overlooks if is_relevant else draw < self.invents


RUNS = (
    (Errors(0), None), (Errors(0.1, 0.02), None), (Errors(0.3, 0.02), None), (Errors(1), None),
    (Errors(0), Errors(1)), (Errors(0.1, 0.02), Errors(0.1, 0.02)),
    (Errors(0.3, 0.02), Errors(0.1, 0.02)), (Errors(0.3, 0.02), Errors(0.3, 0.02)),
)  # fmt: skip
"""Readers and their judges; the fourth reader finds no other passage, the fifth's judge nothing."""


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
        errors: of its reading.
        relevant: ids of queries to those of the passages that people judged relevant.
        questions: texts of queries to their ids.
    """

    errors: Errors
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
        return self.is_evidence(query, passage) or self.errors.sees(
            passage in self.relevant[query], draw
        )

    def is_evidence(self, query: str, passage: str) -> bool:
        """Whether the question was written about this passage."""
        return passage == self._written.get(query)

    def id_of(self, text: str) -> str:
        """The passage with this text."""
        return self._id_of[text]


@dataclass(frozen=True)
class HagridJudge:
    """Finds the answers of questions in what people judged relevant, with errors of its own."""

    llm: HagridLlm
    errors: Errors
    signature = "hagrid"
    comparable = False

    def identity(self) -> dict[str, Any]:
        return {"name": "hagrid"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        from citeforge.engines.judge.records import Verdict

        keep([(n, Verdict(self._entails(*pair))) for n, pair in enumerate(pairs)])

    def _entails(self, premise: str, hypothesis: str) -> bool:
        text = premise.partition("\n")[2] if premise.startswith("Title: ") else premise
        passage = self.llm.id_of(text)
        query = hypothesis.rpartition(" So fact ")[2].removesuffix(" says.")
        draw = random.Random(f"judge {query} {passage}").random()
        return self.llm.is_evidence(query, passage) or self.errors.sees(
            passage in self.llm.relevant[query], draw
        )


def main() -> None:
    """Print the share of relevant ones among the negatives shown, with its exact interval."""
    from scipy.stats import binomtest

    from citeforge.engines.judge.session import JudgeSession
    from citeforge.package.package import Package
    from citeforge.plugins.documents.build import build_documents
    from citeforge.plugins.documents.recipe import DocumentsRecipe
    from citeforge.schemas.recipes.base import RunOptions

    print(machine("sentence-transformers"))
    with tempfile.TemporaryDirectory() as folder:
        passages = Path(folder) / "corpus.jsonl"
        passages.write_text("\n".join(corpus()) + "\n")
        for n, (reading, judging) in enumerate(RUNS):
            llm = HagridLlm(reading)
            judge = JudgeSession(HagridJudge(llm, judging)) if judging else None
            recipe = DocumentsRecipe(
                source=f"corpus:{passages}", llm="openai:hagrid",
                n_queries=len(llm.questions), licence="apache-2.0", asking={"longest_copy": 100},
                shares={"single": 1, "pair": 0, "lists": 0, "absent": 0},
            )  # fmt: skip
            out = Path(folder) / f"{n}"
            run = RunOptions(out=out, embeddings=Path(folder) / "vectors")
            build_documents(recipe, run, llm, judge)
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
                f"reader {reading}; {f'judge {judging}' if judging else 'no judge'}: "
                f"{len(texts)} questions, "
                f"{sum(shown)} of {len(shown)} negatives shown are relevant "
                f"({sum(shown) / len(shown):.2%} [{share.low:.2%}, {share.high:.2%}])",
                flush=True,
            )


if __name__ == "__main__":
    main()
