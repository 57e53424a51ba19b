"""Relations that laws protect, by property id or, where files have none, by label."""

from citeforge.kg.sensitive import sensitive_relations
from citeforge.schemas.kg import Triple


def fact(qid: str, pid: str, relation: str) -> Triple:
    return Triple(qid, qid, pid, relation, "x")


def test_relations_count_by_id_in_any_language() -> None:
    triples = [
        fact("Q1", "P140", "Religion oder Weltanschauung"),
        fact("Q1", "P140", "Religion oder Weltanschauung"),
        fact("Q2", "P140", "Religion oder Weltanschauung"),
        fact("Q1", "P1050", "maladie"),
        fact("Q3", "P19", "place of birth"),
    ]
    assert sensitive_relations(triples) == {"religion or worldview": 2, "medical condition": 1}


def test_relations_without_an_id_count_by_label() -> None:
    triples = [fact("Q1", "", "Religion"), fact("Q2", "", "ethnic group"), fact("Q2", "", "sport")]
    assert sensitive_relations(triples) == {"ethnic group": 1, "religion or worldview": 1}
    # A plain graph has ids of its own.
    assert sensitive_relations([fact("Q1", "P3", "cause of death")]) == {"cause of death": 1}
