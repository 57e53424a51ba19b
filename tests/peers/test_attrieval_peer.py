"""AttriEval's evaluator and our ``reference`` protocol on the same saved outputs."""

import importlib
import math
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from citeforge.builders.authorship.build import build_authorship
from citeforge.builders.authorship.twins import build_twins
from citeforge.builders.rage.build import build_rage
from citeforge.engines.llm.records import LlmReply, Token
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.publishing.export import export
from citeforge.schemas.authorship import parse_design
from citeforge.schemas.recipes.authorship import AuthorshipRecipe, Selection
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.recipes.twins import TwinsRecipe
from citeforge.schemas.scores import ScoreFile
from citeforge.systems.submission_writer import citation_logprobs
from conftest import write_jsonl
from peers.frozen import FrozenNumbers, Program
from scoring import score
from stand_ins import turning_llm

ATTRIEVAL = Program(
    "attrieval",
    "aminvenv/attrieval",
    "generation.py: find_sequences(); evaluation.py: all functions, with figures left unrounded",
    "test_attrieval_peer.py",
)
N_QUERIES = 48
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


def _clean(token: str) -> str:
    """A token as AttriEval looks at it."""
    return re.sub(r"[^\w\s\[\]]", "", re.sub(r"[\n\t ]", "", token))


@contextmanager
def evaluation(checkout: Path) -> Iterator[ModuleType]:
    """Their evaluation module, its figures left unrounded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(checkout))
        module = importlib.import_module("attrieval.evaluation")
        exact = SimpleNamespace(mean=np.mean, exp=np.exp, abs=np.abs, around=lambda x, digits: x)
        patch.setattr(module, "np", exact)
        patch.setattr(module, "tqdm", lambda rows: rows)
        yield module


def find_citations(checkout: Path, tokens: list[list[str]]) -> list[list[int]]:
    """Places of the numbers that AttriEval takes for citations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(checkout))
        handler = importlib.import_module("attrieval.generation").ModelHandler
    return [handler.find_sequences(row) for row in tokens]


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """AttriEval's kind of rows as an authorship benchmark: all origins and labels."""
    root = tmp_path_factory.mktemp("attrieval")
    rng = random.Random(7)
    rows: list[dict[str, object]] = []
    for q in range(N_QUERIES):
        selected = [0] * SHOWN
        selected[rng.randrange(SHOWN)] = 1
        texts = [
            f"Here passage {i} speaks at some length of what was asked in question {q}."
            for i in range(SHOWN)
        ]
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
        source=f"attrieval:{source}", candidates="bm25", mining={"irrelevant": 0},
        mixtures=("m=1,0,9",),
    )  # fmt: skip
    build_rage(config, RunOptions(out=root / "rage"))
    twins = TwinsRecipe(benchmark=root / "rage", llm="turner")
    build_twins(twins, RunOptions(out=root / "twins"), turning_llm("turner"))
    recipe = AuthorshipRecipe(
        benchmark=root / "twins", label_sets=("human_llm",), selection=Selection(k=SHOWN)
    )
    build_authorship(recipe, RunOptions(out=root / "a"))
    return Benchmark(root / "a")


Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def rows(
    benchmark: Benchmark, printed: FrozenNumbers, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Rows]:
    """Cell to its data set, exported by us, and answered."""
    import datasets

    folder = tmp_path_factory.mktemp("exported")
    cells: dict[str, Rows] = {}
    for cell in parse_design(benchmark.manifest.config).cells:
        exported = folder / cell.context
        export("attrieval", benchmark.folder, exported, context=cell.context)
        mine = [dict(row) for row in datasets.load_from_disk(str(exported / "data"))]
        rngs = [random.Random(f"{cell.context} {row['query_id']}") for row in mine]
        for rng, row in zip(rngs, mine, strict=True):
            relevant = row["passages"]["is_selected"].index(1)
            row["rag_raw_answer"] = _answer(rng, relevant, row["org_answers"])
            # What its confidence looks up the relevant passage in.
            row |= {"bm25_top10": [str(i) for i in range(SHOWN)], "new_docid": str(relevant)}
        tokens = [[_clean(token) for token in _tokens(row["rag_raw_answer"])] for row in mine]
        places = printed(ATTRIEVAL, f"{cell.context}, places", find_citations, tokens)
        for rng, row, cleaned, found in zip(rngs, mine, tokens, places, strict=True):
            row["list_of_citations_in_answer"] = [int(cleaned[i]) for i in found]
            row["logprob_of_citations_in_answer"] = [-rng.random() for _ in found]
        cells[cell.context] = mine
    return cells


@pytest.fixture(scope="module")
def ours(
    benchmark: Benchmark, rows: dict[str, Rows], tmp_path_factory: pytest.TempPathFactory
) -> ScoreFile:
    """Our figures of the answers, saved as AttriEval saves them."""
    import datasets
    import pandas as pd

    folder = tmp_path_factory.mktemp("outputs")
    for cell, mine in rows.items():
        table = datasets.Dataset.from_pandas(pd.DataFrame(data=mine))
        table.save_to_disk(str(folder / f"llama3_{cell}"))
    return score(folder, benchmark, select(["authorship"]), protocol="reference")


def _value(file: ScoreFile, name: str) -> float:
    (result,) = (m for m in file.measures if m.name == name)
    assert result.value is not None
    return result.value / result.scale


def _per_query(file: ScoreFile, name: str) -> list[float]:
    (result,) = (m for m in file.measures if m.name == name)
    return [math.nan if v is None else v for v in result.per_query]


def evaluate_cell(checkout: Path, mine: Rows) -> dict[str, Any]:
    """Their figures of one cell, and of each of its answers."""
    with evaluation(checkout) as theirs:
        singly = [theirs.evaluate_prec_recall([row]) for row in mine]
        exact = [theirs.evaluate_exact_match_nq([row]) for row in mine]
        whole = theirs.evaluate_prec_recall(mine)
        return {
            "P": whole["precision"],
            "R": whole["recall"],
            "EM": theirs.evaluate_exact_match_nq(mine),
            "P of each": [one["precision"] for one in singly],
            "R of each": [one["recall"] for one in singly],
            "EM of each": exact,
            "confidence": theirs.evaluate_confidence(mine),
        }


def test_every_figure_of_a_cell(
    printed: FrozenNumbers, rows: dict[str, Rows], ours: ScoreFile
) -> None:
    assert len(rows) == 4 + 2 + 2 + 4 + 4
    for cell, mine in rows.items():
        theirs = printed(ATTRIEVAL, cell, evaluate_cell, mine)
        for name, scale in (("P", 100), ("R", 100), ("EM", 1)):
            measure = f"Auth.{name}[{cell}]"
            assert _value(ours, measure) * scale == pytest.approx(theirs[name], abs=1e-9)
            expected = [value / scale for value in theirs[f"{name} of each"]]
            assert _per_query(ours, measure) == pytest.approx(expected, abs=1e-9)
        relevant, other = theirs["confidence"]
        assert _value(ours, f"AC.relevant[{cell}]") == pytest.approx(relevant, abs=1e-9)
        assert _value(ours, f"AC.other[{cell}]") == pytest.approx(other, abs=1e-9)
        assert 0.1 < theirs["EM"] < 0.9


def change(function: str, checkout: Path, *cells: Rows) -> list[float]:
    """What one of their functions says of two cells."""
    with evaluation(checkout) as theirs:
        return list(getattr(theirs, function)(*cells))


LABELLED = {
    # Origins to the cells whose relevant passages are called human, and an LLM's.
    "hl": ("informed", "cf"),
    "lh": ("cf", "informed"),
    "hh": ("informed_cf", "cf_informed"),
    "ll": ("cf_informed", "informed_cf"),
}


@pytest.mark.slow
@pytest.mark.parametrize("origins", LABELLED)
def test_bias_and_sensitivity(
    printed: FrozenNumbers, rows: dict[str, Rows], ours: ScoreFile, origins: str
) -> None:
    human, llm = (f"{origins}_human_llm_{mode}" for mode in LABELLED[origins])
    figures = {f"CAB.{{}}[{origins}_human_llm]": ("cab_evaluation", human, llm)}
    mixed = origins[0] == origins[1]
    for cell in (human, llm) if mixed else (f"{origins}_human_llm_informed",):
        figures[f"CAS.{{}}[{cell}]"] = ("cas_evaluation", cell, f"{origins}_vanilla")
    for measure, (function, *cells) in figures.items():
        theirs = printed(
            ATTRIEVAL, f"{function} {', '.join(cells)}", partial(change, function),
            *(rows[cell] for cell in cells),
        )  # fmt: skip
        for letter, expected in zip("PR", theirs, strict=True):
            value = _value(ours, measure.format(letter))
            assert value * 100 == pytest.approx(expected, abs=1e-9), measure


@pytest.mark.slow
def test_confidence_of_our_own_log_probabilities(
    printed: FrozenNumbers, benchmark: Benchmark, rows: dict[str, Rows], tmp_path: Path
) -> None:
    """The same tokens by way of ``llm run``'s submission lines give AttriEval's confidence."""
    cell = "hl_human_llm_informed"
    mine = rows[cell]
    lines: list[dict[str, object]] = []
    for row in mine:
        given = iter(row["logprob_of_citations_in_answer"])
        cited = iter(row["list_of_citations_in_answer"])
        expected = next(cited, None)
        tokens = _tokens(row["rag_raw_answer"])
        cleaned = list(map(_clean, tokens))
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
    theirs = printed(ATTRIEVAL, cell, evaluate_cell, mine)
    relevant, other = theirs["confidence"]
    assert _value(file, f"AC.relevant[{cell}]") == pytest.approx(relevant, abs=1e-9)
    assert _value(file, f"AC.other[{cell}]") == pytest.approx(other, abs=1e-9)
