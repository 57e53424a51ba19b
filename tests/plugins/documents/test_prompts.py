"""``prompts:`` of a design: templates that quote what is not ours, and show what they are given."""

from importlib import resources
from pathlib import Path

import pytest
import yaml

from citeforge.engines.files import digest
from citeforge.plugins.documents.design import Design
from citeforge.plugins.documents.llm_requests import PromptedLlm
from citeforge.plugins.documents.prompts import SAMPLES, find_template_fault
from citeforge.plugins.documents.questions import Evidence
from citeforge.plugins.documents.recipe import DocumentsRecipe
from conftest import refused
from plugins.documents.pumps import FormLlm, write_pumps
from plugins.documents.test_design import ask, make

OWN = "Say it briefly.\\n{% for p in passages %}{{ quote(p.text) }}{% endfor %}\\n"


def test_own_prompts_are_used_and_hashed(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 4)
    llm = FormLlm()
    own = OWN.replace("\\n", "\n") + "{{ quote(question) }} {{ note }}"
    design = {"prompts": {"answer": own}, "questions": [{"name": "number"}]}
    package = make(tmp_path, llm, design, 1)
    asked = [r.messages[-1][1] for r in llm.asked if r.task == "answer"]
    assert asked
    assert all(one.startswith("Say it briefly.") for one in asked)
    config, defaults = package.manifest.config, PromptedLlm(llm).prompts
    assert config["prompts"]["answer"] == digest(own) != defaults["answer"]
    assert config["prompts"]["question"] == defaults["question"]
    assert config["design"]["prompts"]["answer"] == own


PASSAGES = "{% for p in passages %}{{ quote(p.title ~ p.text) }}{% endfor %}"
ANSWER = PASSAGES + "{{ quote(question) }}{{ note }}"
WRITE = PASSAGES + "{{ wishes|join(' ') }}{{ note }}"
FILLED = "is not a template that can be filled in"


@pytest.mark.parametrize(
    ("task", "template", "fault"),
    [
        ("answer", ANSWER, None),
        ("answer", ANSWER.replace("quote(question)", "question"), "shows a question without quo"),
        ("answer", ANSWER + "{{ question[:12]|upper }}", "shows a question without quotes"),
        ("answer", ANSWER + "{{ question|urlencode }}", "shows a question without quotes"),
        ("answer", ANSWER + "{% for p in passages %}{{ p.title }}{% endfor %}", "shows a title"),
        ("answer", "{{ quote(question) }}{{ note }}", "does not show passages"),
        ("answer", "{{ passages|length }}{{ quote(question) }}{{ note }}", "does not show passag"),
        ("answer", ANSWER.replace("{{ note }}", ""), "lacks {{ note }}"),
        ("answer", ANSWER.replace("{{ note }}", "{% if passages %}{{ note }}{% endif %}"),
         "lacks {{ note }}, which tells the model to follow no instruction in a quote, with"),
        ("answer", "{{ quote(query) }}", "unknown variable of the prompt 'query'"),
        ("answer", "{% if question %}", FILLED),
        ("answer", "{{ passages.__class__.__mro__ }}", FILLED),
        # Without passages, as from memory, there is no first one.
        ("answer", ANSWER + "{{ quote(passages[0].text) }}", f"{FILLED} (UndefinedError"),
        ("answer", ANSWER + "{{ language + '!' }}", f"{FILLED} (TypeError"),
        ("answer", ANSWER + "{% if several %}{{ 1 / 0 }}{% endif %}", f"{FILLED} (ZeroDivisionErr"),
        ("question", WRITE, None),
        ("question", WRITE + "{{ passages[0].title }}", "shows a title without quotes"),
        ("question", WRITE + "{{ seeds|join(', ') }}", "shows a seed without quotes"),
        ("question", WRITE + "{% if not is_first %}{{ passages[0].text }}{% endif %}",
         "shows a text without quotes"),
        ("question", WRITE + "{% if form == 'pair' %}{{ passages[1].text|upper }}{% endif %}",
         "shows a text without quotes"),
        ("question", WRITE + "{{ passages[1].form }}", f"{FILLED} (UndefinedError"),
        ("question", WRITE + "{{ wishes + 1 }}", f"{FILLED} (TypeError"),
        ("question", WRITE + "{{ range(10**9) }}", f"{FILLED} (OverflowError"),
        ("question", WRITE + "{{ quote(5) }}", FILLED),
        ("question", WRITE + "{{ quote(passages[0]) }}", FILLED),
        ("question", PASSAGES + "{{ note }}", "does not show wishes"),
        ("evidence", "{{ quote(passage.text) }}{{ quote(question) }}{{ note }}", None),
        ("evidence", "{{ passage.title }}{{ quote(passage.text) }}{{ quote(question) }}{{ note }}",
         "shows a title without quotes"),
    ],
)  # fmt: skip
def test_wrong_templates_are_refused(task: str, template: str, fault: str | None) -> None:
    found = find_template_fault(task, template)
    assert (found or "").startswith(fault or "")
    assert bool(found) == bool(fault)


def test_a_fault_says_with_which_values() -> None:
    fault = find_template_fault("answer", ANSWER + "{{ passages[1].title[0:0] }}") or ""
    assert fault.endswith(", with several False, language None, 0 passages)")


def test_a_template_that_fails_on_a_text_of_the_documents_is_named() -> None:
    source = ANSWER + "{% for p in passages %}{{ 1 / (p.text|length - 2) }}{% endfor %}"
    prompted_llm = PromptedLlm(FormLlm(), Design.model_validate({"prompts": {"answer": source}}))
    with refused("bad-template", field="prompts.answer"):
        prompted_llm.to_answer(ask("single"), [Evidence("a", "", "It")])


def test_a_template_shows_the_seeds_that_are_given(tmp_path: Path) -> None:
    design, seeds = tmp_path / "d.yaml", tmp_path / "s.jsonl"
    shown = "{% if seeds %}{{ quote(seeds|join('; ')) }}{% endif %}"
    for source, is_right in ((WRITE, False), (WRITE + shown, True)):
        design.write_text(yaml.safe_dump({"length": {"most": 9}, "prompts": {"question": source}}))
        recipe = DocumentsRecipe(source="folder:x", llm="openai:m", design=str(design))
        recipe.load_design()
        recipe = recipe.model_copy(update={"seeds": seeds})
        if is_right:
            recipe.load_design()
            continue
        with refused("wrong-value", path=design, line=4, field="prompts.question"):
            recipe.load_design()


def test_built_in_templates_keep_the_rules() -> None:
    for task in SAMPLES:
        source = resources.files("citeforge.plugins.documents") / "data" / f"{task}.j2"
        assert find_template_fault(task, source.read_text(encoding="utf-8")) is None
