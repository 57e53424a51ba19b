"""Each rule of the citation grammar has a case: a text that is read otherwise without the rule."""

import json
from pathlib import Path

import pytest

from citation_rules import Rule, list_rules, read_all, switched_off

RULES = list(list_rules())
CASES: dict[str, str] = json.loads(
    Path(__file__).with_name("rule_cases.json").read_text(encoding="utf-8")
)


def test_each_rule_has_a_case_and_each_case_a_rule() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(CASES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule(rule: Rule) -> None:
    texts = [CASES[rule.name]]
    expected = read_all(texts)
    with switched_off(rule):
        assert read_all(texts) != expected
    assert read_all(texts) == expected
