"""ALiiCE's ``eval.py`` beside our ``reference``, with trees of a stand-in and of a real parser."""

import json
import random
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import MagicMock

import pytest

from citeforge.package.items import Passage
from citeforge.plugins.published_measures import aliice
from citeforge.plugins.published_measures.claim_trees import Parsed
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program, load_module

EVAL = Program(
    "aliice_eval",
    "ylXuu/ALiiCE",
    "eval.py: calculate_citation() with its own parser of citations; a hash of both texts stands "
    "in for the NLI model, and fixed trees for spaCy",
    "test_aliice_peer.py",
)
TREES = json.loads(Path(__file__).with_name("aliice_trees.json").read_text(encoding="utf-8"))
"""Our own sentences, and what en_core_web_sm 3.8.0 makes of their words."""
N_QUESTIONS = 30
N_SHOWN = 5
LABELS = ("nsubj", "prep", "advcl", "cc", "conj", "punct", "dobj", "amod")
_TOKEN = re.compile(r",|[^\s,]{1,8}|(?<= ) ")


def draw_tree(text: str) -> Parsed:
    """A tree that a text's characters decide: any token may depend on any other."""
    rng, words = random.Random(text), _TOKEN.findall(text)
    order = rng.sample(range(len(words)), len(words))
    heads, labels = [0] * len(words), ["ROOT"] * len(words)
    for place, i in enumerate(order):
        heads[i] = i if place == 0 else rng.choice(order[:place])
        labels[i] = "ROOT" if place == 0 else rng.choice(LABELS)
    return Parsed(words, heads, labels)


def parse(text: str) -> Parsed:
    """The stored tree of one of our sentences, or one that is drawn."""
    return Parsed(*TREES["trees"][text]) if text in TREES["trees"] else draw_tree(text)


def tokens(text: str) -> list[types.SimpleNamespace]:
    """A tree as spaCy has it."""
    parsed = parse(text)
    made = [
        types.SimpleNamespace(i=i, text=word, dep_=label)
        for i, (word, label) in enumerate(zip(parsed.words, parsed.labels, strict=True))
    ]
    for token, head in zip(made, parsed.heads, strict=True):
        token.head = made[head]
    return made


def run_eval(checkout: Path, items: list[dict[str, Any]], trees: str) -> dict[str, float]:
    """Recall and precision that ``calculate_citation`` computes."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        hard.install_punkt(Path(folder), patch)
        for name in ("torch", "pandas", "matplotlib", "matplotlib.pyplot", "transformers",
                     "graphviz", "spacy"):  # fmt: skip
            patch.setitem(sys.modules, name, MagicMock())
        patch.setattr(sys.modules["spacy"], "load", lambda name: tokens)
        patch.syspath_prepend(str(checkout))
        program = load_module(checkout / "eval.py", "aliice_eval")
        patch.setattr(program, "run_nli", lambda *texts: int(hard.entails(*texts)))
        parser = program.alice_parse_citation
        # As their `main` calls it: `psg_num` is 5, whatever its option says.
        scores = program.calculate_citation(items, parser, doc_key="text")
        for name in ("aliice_eval", "myparser", "utils"):
            sys.modules.pop(name, None)
    return {"ALiiCE.R": scores["citation_recall"], "ALiiCE.P": scores["citation_precision"]}


def inside(rng: random.Random, n: int) -> str:
    """Sentences with marks behind any word."""
    sentences = []
    for _ in range(rng.randint(1, 3)):
        length = rng.choice([3, 8, 15, 30, 49, 52])
        words = [
            word
            + rng.choice(["", "", "", ","])
            + (f"{rng.choice(['', ' '])}[{rng.randint(1, n)}]" * rng.choice([0, 0, 1, 2]))
            for word in rng.choices(hard.WORDS, k=length)
        ]
        sentences.append(f"{' '.join(words)}.")
    return " ".join(sentences)


def real(rng: random.Random, n: int) -> str:
    """Some of our sentences."""
    return " ".join(rng.sample(TREES["sentences"], rng.randint(1, 4)))


KINDS = {**hard.KINDS, "inside": inside, "real trees": real, "beyond five": inside}


@pytest.fixture(autouse=True)
def fixed_trees(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(aliice, "parse", parse)
    yield


@pytest.mark.parametrize("kind", KINDS)
def test_recall_and_precision(printed: FrozenNumbers, kind: str) -> None:
    rows = []
    for i in range(N_QUESTIONS):
        rng = random.Random(f"aliice {kind} {i}")
        n_shown = 7 if kind == "beyond five" else N_SHOWN
        shown = tuple(
            Passage(f"p{k}", rng.choice(["", "Title of it"]), hard._sentence(rng))
            for k in range(n_shown)
        )
        output = KINDS[kind](rng, 7 if kind == "different" else n_shown)
        rows.append((f"question {i}?", output, shown))
    items = [
        {"output": output, "docs": [{"title": p.title, "text": p.text} for p in shown]}
        for _, output, shown in rows
    ]
    theirs = printed(EVAL, kind, run_eval, items, json.dumps(TREES))
    ours = hard.totals(hard.make_inputs(rows), list(theirs))
    assert ours == pytest.approx(
        {name: value / 100 for name, value in theirs.items()}, abs=1e-9, nan_ok=True
    )
