"""AttriEval's evaluator and our ``reference`` protocol on the same saved outputs."""

import importlib
import math
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from citeforge.builders.authorship.build import build_authorship
from citeforge.builders.rage.build import build_rage
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.publish.export import export
from citeforge.schemas.benchmarks.authorship import design_of
from citeforge.schemas.recipes.authorship import Selection
from citeforge.schemas.recipes.mixture import Mixture
from citeforge.schemas.recipes.rage import Mining
from citeforge.schemas.recipes.records import AuthorshipRecipe, RageRecipe, RunOptions
from citeforge.schemas.scores import ScoreFile
from conftest import write_jsonl
from scoring import score

N_QUERIES = 230
SHOWN = 10

GOLD = [
    ["Schindler’s List"], ["1939–1945", "six years"], ["10°C"], ["The  Coathanger!"], ["O'Neill"],
    ["snake_case"], ["naïve café"], ["Αθήνα"], ["!!!"], ["U.S.A."], [""], ["twelve", "12"],
]  # fmt: skip


def _answer(rng: random.Random, relevant: int, gold: list[str]) -> str:
    """One answer of one of sixteen kinds; ``n()`` is a shown passage, often the relevant one."""

    def n() -> int:
        return relevant if rng.random() < 0.4 else rng.randrange(SHOWN)

    word = rng.choice([*gold, rng.choice(rng.choice(GOLD)), "nothing of the sort"])
    word = rng.choice([word, word.upper(), word.replace(" ", "\n\t"), f"«{word}»"])
    kinds: list[Callable[[], str]] = [
        lambda: "",
        lambda: f"It is {word}, and nobody is cited.",
        lambda: f"It is {word} [{n()}].",
        lambda: f"One [{n()}][{n()}] and {word} [{n()}].",
        lambda: f"The same [{relevant}] again [{relevant}][{relevant}] {word}.",
        lambda: f"Beyond [{SHOWN}] and [{rng.randrange(11, 99)}] and [{n()}] {word}.",
        lambda: f"[{n()}] {word} stands behind. [{n()}]",
        lambda: f"Lists [{n()}, {n()}] and ranges [1-{n()}] and {word}; [{n()}]",
        lambda: f"[[{n()}]] [ {n()} ] [{n()} {word} ] ][{n()}][ (3) {{{n()}}}",
        lambda: f"Line [{n()}]\n\n{word}\r\n- [{n()}]\u2028[{n()}]",
        lambda: f"“{word}” — ‘[{n()}]’ … [２] [٣] [0{n()}]",
        lambda: f"In [2019] {word} was [NA]; see [{n()}](http://a.b/c) and `[{n()}]`.",
        lambda: f"[-1] [+2] [1.0] [1e0] [{n()}. ] {word} [Document {n()}]",
        lambda: f"[{'9' * 300}] {word} [{n()}]",
        lambda: "".join(f"[{i}]" for i in range(SHOWN)) + word,
        lambda: f"{'It goes on. ' * 40}{word}[{n()}]",
    ]
    return rng.choice(kinds)()


def _tokens(text: str) -> list[str]:
    """A tokenizer's cut: words, numbers of up to three digits, ``][`` in one, else characters."""
    return re.findall(r"\]\[|\d{1,3}|[^\W\d]+|.", text, re.DOTALL)


@pytest.fixture(scope="module")
def attrieval(peer: Callable[[str], Path]) -> ModuleType:
    """Their evaluation module, its figures left unrounded."""
    checkout = str(peer("attrieval"))
    sys.path.insert(0, checkout)
    try:
        module = importlib.import_module("attrieval.evaluation")
    finally:
        sys.path.remove(checkout)
    module.np = SimpleNamespace(  # type: ignore[attr-defined]
        mean=np.mean, exp=np.exp, abs=np.abs, around=lambda value, digits: value
    )
    module.tqdm = lambda rows: rows  # type: ignore[attr-defined]
    return module


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """AttriEval's kind of rows as an authorship benchmark of human passages."""
    root = tmp_path_factory.mktemp("attrieval")
    rng = random.Random(7)
    rows: list[dict[str, object]] = []
    for q in range(N_QUERIES):
        selected = [0] * SHOWN
        selected[rng.randrange(SHOWN)] = 1
        texts = [f"Passage {i} of question {q} says {rng.random()}." for i in range(SHOWN)]
        row: dict[str, object] = {
            "query_id": f"q{q}",
            "query": f"What about {q}?",
            "passages": {"passage_text": texts, "is_selected": selected},
        }
        if q % 9:  # some queries have no gold
            row["org_answers"] = GOLD[q % len(GOLD)]
        rows.append(row)
    source = write_jsonl(root / "rows.jsonl", rows)
    config = RageRecipe(
        source=f"attrieval:{source}", embedder="none", mining=Mining(irrelevant=0),
        mixtures=(Mixture(name="m", relevant=1, irrelevant=0, seemingly_relevant=9),),
    )  # fmt: skip
    build_rage(config, RunOptions(out=root / "rage"), _no_embedder)
    recipe = AuthorshipRecipe(
        benchmark=root / "rage", label_sets=("human_llm",), selection=Selection(k=SHOWN)
    )
    build_authorship(recipe, RunOptions(out=root / "a"))
    return Benchmark(root / "a")


def _no_embedder() -> Any:
    raise AssertionError("negatives are given; nothing is embedded")


@pytest.fixture(scope="module")
def outputs(
    benchmark: Benchmark, peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """One data set a cell, exported by us, answered, and saved as AttriEval saves it."""
    import datasets
    import pandas as pd

    sys.path.insert(0, str(peer("attrieval")))
    try:
        handler = importlib.import_module("attrieval.generation").ModelHandler
    finally:
        sys.path.pop(0)
    folder = tmp_path_factory.mktemp("outputs")
    for cell in design_of(benchmark.manifest).cells:
        exported = folder / "exported" / cell.context
        export("attrieval", benchmark.folder, exported, context=cell.context)
        rows = []
        saved = datasets.load_from_disk(str(exported / "data"))
        for row in map(dict, saved):
            rng = random.Random(f"{cell.context} {row['query_id']}")
            relevant = row["passages"]["is_selected"].index(1)
            text = _answer(rng, relevant, row["org_answers"])
            tokens = _tokens(text)
            cleaned = [
                re.sub(r"[^\w\s\[\]]", "", re.sub(r"[\n\t ]", "", token)) for token in tokens
            ]
            result = handler.find_sequences(cleaned)
            row |= {
                "rag_raw_answer": text,
                "list_of_citations_in_answer": [int(cleaned[i]) for i in result],
                "logprob_of_citations_in_answer": np.array([-rng.random() for _ in result]),
                # What its confidence looks up the relevant passage in.
                "bm25_top10": [str(i) for i in range(SHOWN)],
                "new_docid": str(relevant),
            }
            rows.append(row)
        table = datasets.Dataset.from_pandas(pd.DataFrame(data=rows))
        table.save_to_disk(str(folder / "runs" / f"llama3_{cell.context}"))
    return folder / "runs"


@pytest.fixture(scope="module")
def ours(benchmark: Benchmark, outputs: Path) -> ScoreFile:
    return score(outputs, benchmark, select(["authorship"]), protocol="reference")


def _rows(outputs: Path, cell: str) -> list[dict[str, Any]]:
    import datasets

    return [dict(row) for row in datasets.load_from_disk(str(outputs / f"llama3_{cell}"))]


def _value(file: ScoreFile, name: str) -> float:
    (result,) = (m for m in file.measures if m.name == name)
    assert result.value is not None
    return result.value / result.scale


def _per_query(file: ScoreFile, name: str) -> list[float]:
    (result,) = (m for m in file.measures if m.name == name)
    return [math.nan if v is None else v for v in result.per_query]


CELLS = (
    "hh_vanilla", "hh_human_llm_informed_informed", "hh_human_llm_cf_informed",
    "hh_human_llm_informed_cf", "hh_human_llm_cf_cf",
)  # fmt: skip


@pytest.mark.parametrize("cell", CELLS)
def test_precision_recall_and_exact_match(
    attrieval: ModuleType, outputs: Path, ours: ScoreFile, cell: str
) -> None:
    rows = _rows(outputs, cell)
    assert len(rows) == N_QUERIES
    whole = attrieval.evaluate_prec_recall(rows)
    assert _value(ours, f"Auth.P[{cell}]") * 100 == pytest.approx(whole["precision"], abs=1e-9)
    assert _value(ours, f"Auth.R[{cell}]") * 100 == pytest.approx(whole["recall"], abs=1e-9)
    em = attrieval.evaluate_exact_match_nq(rows)
    assert 0.1 < em < 0.9
    assert _value(ours, f"Auth.EM[{cell}]") == pytest.approx(em, abs=1e-9)
    singly = [attrieval.evaluate_prec_recall([row]) for row in rows]
    for name, key in (("P", "precision"), ("R", "recall")):
        expected = [one[key] / 100 for one in singly]
        assert _per_query(ours, f"Auth.{name}[{cell}]") == pytest.approx(expected, abs=1e-9)
    exact = [attrieval.evaluate_exact_match_nq([row]) for row in rows]
    assert _per_query(ours, f"Auth.EM[{cell}]") == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("cell", CELLS)
def test_confidence(attrieval: ModuleType, outputs: Path, ours: ScoreFile, cell: str) -> None:
    relevant, other = attrieval.evaluate_confidence(_rows(outputs, cell))
    assert _value(ours, f"AC.relevant[{cell}]") == pytest.approx(relevant, abs=1e-9)
    assert _value(ours, f"AC.other[{cell}]") == pytest.approx(other, abs=1e-9)


def test_bias_and_sensitivity(attrieval: ModuleType, outputs: Path, ours: ScoreFile) -> None:
    rows = {cell: _rows(outputs, cell) for cell in CELLS}
    first, second = "hh_human_llm_informed_cf", "hh_human_llm_cf_informed"
    bias = attrieval.cab_evaluation(rows[first], rows[second])
    for letter, expected in zip("PR", bias, strict=True):
        assert _value(ours, f"CAB.{letter}[hh_human_llm]") * 100 == pytest.approx(
            expected, abs=1e-9
        )
    for cell in (first, second):
        change = attrieval.cas_evaluation(rows[cell], rows["hh_vanilla"])
        for letter, expected in zip("PR", change, strict=True):
            assert _value(ours, f"CAS.{letter}[{cell}]") * 100 == pytest.approx(expected, abs=1e-9)


def test_confidence_of_our_own_log_probabilities(
    attrieval: ModuleType, benchmark: Benchmark, outputs: Path, tmp_path: Path
) -> None:
    """The same tokens by way of ``llm run``'s submission lines give AttriEval's confidence."""
    from citeforge.engines.llm.records import LlmReply, Token
    from citeforge.systems.llm.writing import citation_logprobs

    cell = CELLS[1]
    lines: list[dict[str, object]] = []
    for row in _rows(outputs, cell):
        given = iter(row["logprob_of_citations_in_answer"])
        cited = iter(row["list_of_citations_in_answer"])
        expected = next(cited, None)
        tokens = _tokens(row["rag_raw_answer"])
        cleaned = [re.sub(r"[^\w\s\[\]]", "", re.sub(r"[\n\t ]", "", t)) for t in tokens]
        pairs = []
        for i, token in enumerate(tokens):
            between = (
                0 < i < len(tokens) - 1
                and cleaned[i].isdigit()
                and (cleaned[i - 1] in ("[", "][") and cleaned[i + 1] in ("]", "]["))
            )
            assert not between or int(cleaned[i]) == expected
            pairs.append(Token(token, next(given) if between else -0.5))
            expected = next(cited, None) if between else expected
        answer = LlmReply(row["rag_raw_answer"], logprobs=tuple(pairs))
        lines.append(
            {
                "query_id": row["query_id"],
                "context": cell,
                "output": row["rag_raw_answer"],
                "logprobs": citation_logprobs(answer),
            }
        )
    path = write_jsonl(tmp_path / "s.jsonl", lines)
    file = score(path, benchmark, select(["authorship"]), protocol="reference")
    relevant, other = attrieval.evaluate_confidence(_rows(outputs, cell))
    assert _value(file, f"AC.relevant[{cell}]") == pytest.approx(relevant, abs=1e-9)
    assert _value(file, f"AC.other[{cell}]") == pytest.approx(other, abs=1e-9)
