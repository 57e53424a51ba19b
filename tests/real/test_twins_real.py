"""Rewrites of real passages: good ones, and the same with one thing turned round."""

import json
import re

import pytest

from citeforge.builders.authorship.checks import Checker, SourcePassage
from citeforge.builders.authorship.facts import Entities
from citeforge.schemas.recipes.twins import Thresholds
from conftest import real_data

pytestmark = pytest.mark.slow

OTHER_WORDS = {
    "also": "as well", "many": "numerous", "because": "since", "however": "yet",
    "used": "employed", "known": "called", "located": "situated", "several": "various",
    "built": "constructed", "died": "passed away", "during": "in the course of",
    "found": "discovered", "made": "created", "important": "significant",
}  # fmt: skip
TURNED = {
    "negation": {w: f"{w} not" for w in ("is", "was", "are", "were", "can", "did", "will")},
    "direction": {"north": "south", "south": "north", "eastern": "western", "western": "eastern"},
    "order": {"first": "last", "last": "first", "before": "after", "after": "before"},
    "opposite": {
        "large": "small", "small": "large", "high": "low", "low": "high", "old": "new",
        "new": "old", "more": "less", "less": "more", "most": "least", "always": "never",
        "won": "lost", "lost": "won", "long": "short", "early": "late", "best": "worst",
    },
}  # fmt: skip


def replace_words(text: str, words: dict[str, str], at_most: int = 0) -> str:
    pattern = rf"\b({'|'.join(words)})\b(?! not)"
    return re.sub(pattern, lambda m: words[m[0]], text, count=at_most)


def reworded(text: str) -> str:
    """A rewrite that says the same: the first sentence comes last, and words are others."""
    first, *rest = re.split(r"(?<=[.!?]) +", text)
    return replace_words(" ".join([*rest, first]), OTHER_WORDS)


def test_one_thing_turned_round_is_refused() -> None:
    lines = (real_data() / "beir_hagrid" / "corpus.jsonl").read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines[:400]]
    # What else is wrong with such rewrites, such as a name in pieces, is not looked at here.
    checker = Checker(Thresholds(), Entities())
    rules = {"negation", "opposites", "units"}

    def is_refused(human: str, twin: str) -> bool:
        (report,) = checker.check([(SourcePassage("p", "", human), twin)])
        return not rules.isdisjoint(report.failed)

    good = [reworded(text) for text in texts]
    refused_good = sum(map(is_refused, texts, good))
    assert refused_good <= 0.05 * len(texts)
    for name, words in TURNED.items():
        pairs = [
            (t, g, replace_words(g, words, at_most=1)) for t, g in zip(texts, good, strict=True)
        ]
        wrong = [(human, twin) for human, said, twin in pairs if twin != said]
        refused = sum(is_refused(*pair) for pair in wrong)
        print(f"{name}: {refused} of {len(wrong)} refused")
        assert refused >= (0.85 if name == "negation" else 0.9) * len(wrong), name
    every = TURNED["negation"] | TURNED["direction"] | TURNED["order"]
    turned = [(t, g, replace_words(g, every)) for t, g in zip(texts, good, strict=True)]
    wrong = [(human, twin) for human, said, twin in turned if twin != said]
    refused, n = sum(is_refused(*pair) for pair in wrong), len(wrong)
    print(f"all at once: {refused} of {n} refused; good: {refused_good} of {len(texts)}")
    assert refused >= 0.9 * n
