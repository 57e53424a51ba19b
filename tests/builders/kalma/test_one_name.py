"""Pairs of entities with one name have no questions, and nothing is written about them."""

import pytest

import citeforge as cf
from citeforge.builders.kalma.check import ExtensionCheck
from citeforge.builders.kalma.evolve import Evolver
from citeforge.builders.kalma.selection import EntityPair
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.kg.domain import load_domain
from citeforge.kg.equivalence import Equivalence
from citeforge.kg.graph import open_graph
from citeforge.schemas.kg import Graph, Triple
from citeforge.schemas.recipes.kalma import Choices
from conftest import EXAMPLES
from stand_ins import RuleLlm

PEOPLE = load_domain("people")


def pair(first: str, second: str) -> EntityPair:
    link = Triple("Q1", first, "P1", "follows", second, "Q2")
    return EntityPair(Graph("Q1", first, (link,)), Graph("Q2", second, ()), link)


def test_two_entities_of_one_name_are_dropped_before_anything_is_written() -> None:
    same = pair("Ada Byron", "ada  Byron")
    assert same.has_one_name and not pair("Ada Byron", "George Byron").has_one_name
    evolver = Evolver(
        open_graph(f"file:{EXAMPLES / 'people' / 'graph.ttl'}", "people", ("en",), cf.RunOptions()),
        RuleLlm(lambda request: pytest.fail(f"asked for {request.task}")),
        lambda texts: pytest.fail("no text is left"),
        ExtensionCheck(PEOPLE, SentenceSegmenter()),
        Choices(),
    )
    (evolution,) = evolver.evolve([same], Equivalence(PEOPLE))
    assert evolution.dropped == "pairs_of_one_name"
