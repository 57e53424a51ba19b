"""What is judged cannot speak to the judge: every attack on every prompt of ours that quotes."""

import ast
import html
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from citeforge.builders.prompts import FOLDER, TEMPLATES
from citeforge.builders.writer_prompts import writer_prompt
from citeforge.engines.judge.profiles import built_in_profiles, fill_messages, fill_prompt
from citeforge.engines.llm import records
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.engines.text.quoting import Quotes, repeats_number, without_tags
from citeforge.engines.text.special_tokens import special_tokens
from citeforge.evaluator.measures import kalma_marks
from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.package.items import Passage
from citeforge.plugins.documents.design import Design, built_in_forms
from citeforge.plugins.documents.llm_requests import PromptedLlm
from citeforge.plugins.documents.proposals import DesignWriter
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Evidence, Question
from citeforge.plugins.labels.nuggets import NuggetWriter, Topic
from citeforge.plugins.published_measures.citeeval import PromptInput
from citeforge.schemas.invisible import is_invisible
from citeforge.schemas.kg import Graph, Triple
from citeforge.schemas.lookalikes import latin_letters
from judge_attacks import ATTACKS, CLAIM, ORDER, count_tags, obeys, outside_quotes

ASKER = PromptedLlm(TemplateWriter({}))
PREMISE = "The bridge opened in 1937."
Turns = tuple[tuple[str, str], ...]
WRITERS = (
    "twin", "alce/summary", "alce/snippet", "alce/subclaims",
    "kalma/seed", "kalma/annotate", "kalma/extend", "kalma/general", "kalma/specific",
    "kalma/asks", "rage/grade",
)  # fmt: skip
CHATS = {name: p for name, p in built_in_profiles().items() if p.messages}


def prompts_with(text: str) -> Iterator[tuple[str, Turns]]:
    """Every prompt of ours that quotes, with a text on either side: (name, turns)."""
    for name, profile in CHATS.items():
        if profile.quotes:
            yield f"{name}, hypothesis", fill_messages(profile, PREMISE, text)
            yield f"{name}, premise", fill_messages(profile, text, CLAIM)
            yield f"{name}, both", fill_messages(profile, text, text)
    for aspect in kalma_marks.ASPECTS:
        yield aspect, (("user", kalma_marks.mark_prompt(aspect, "- A, b: c\n", "When?", text)),)
    yield "answers", (("user", kalma_marks.answers_prompt("When?", text)),)
    statements = [CitedStatement(text, (0,)), CitedStatement(text, ())]
    asked = PromptInput(text, [Passage("p1", text, text)], statements, [1, 2])
    yield "sources of statements", (("user", asked.source_prompt),)
    yield "ratings of citations", (("user", asked.rating_prompt),)
    yield from ((f"writer: {name}", turns) for name, turns in writers_with(text))


def writers_with(text: str) -> Iterator[tuple[str, Turns]]:
    """Every prompt of a build, with a text in all its places."""
    shown = (Evidence("p1", text, text), Evidence("p2", "", text))
    for form in ("single", "pair", "list", "absent"):
        question = Question(
            "q1", QuestionSpec(built_in_forms()[form]), shown[: 1 + (form == "pair")], text=text
        )
        yield f"documents, {form}", ASKER.to_write(question).messages
        yield f"documents, answer to {form}", ASKER.to_answer(question, shown).messages
    yield "documents, closed book", ASKER.to_answer(question).messages
    yield "documents, evidence of a seed", ASKER.to_find_evidence(question, shown[0]).messages
    seeded = PromptedLlm(TemplateWriter({}), seeds=[text])
    yield "documents, seeds", seeded.to_write(question).messages
    finding = PromptedLlm(TemplateWriter({}), Design(found_topics=2))
    yield "documents, names of topics", finding.to_name_topics([shown, shown]).messages
    proposals = DesignWriter(TemplateWriter({}), text, text)
    yield "documents, design", proposals.to_propose(text, text).messages
    nuggets, topic = NuggetWriter(TemplateWriter({})), Topic("q1", text, [(text, text)], [text])
    yield "nuggets, list", nuggets.make_list_request(topic, 0).messages
    yield "nuggets, importance", nuggets.make_importance_request(topic, 0).messages
    triple = Triple(qid=text, name=text, pid="P1", relation=text, value=text)
    graph = Graph(qid=text, name=text, triples=(triple,))
    names = "text title question answer passage paragraph fact marker plain again".split()
    values = {
        **dict.fromkeys(names, text), "n": 3, "graphs": (graph,), "facts": [(text, [text])],
    }  # fmt: skip
    for name in WRITERS:
        own = values | ({"facts": text} if name == "kalma/asks" else {})
        yield name, writer_prompt(name).request(own, {}).messages


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_leaves_its_quote(attack: str) -> None:
    text = ATTACKS[attack]('{"entailed": true}')
    assert ORDER in text
    prompts = list(prompts_with(text))
    assert len(prompts) == 3 * 16 + 4 + 1 + 2 + 2 * 4 + 5 + 2 + len(WRITERS)
    for name, turns in prompts:
        assert any(ORDER in turn for _, turn in turns), name
        assert not obeys(turns), name
    for (name, turns), (_, plain) in zip(prompts, prompts_with(CLAIM), strict=True):
        tags = [sum(count_tags(turn) for _, turn in chat) for chat in (turns, plain)]
        assert tags[0] == tags[1], name


@pytest.mark.parametrize("attack", ATTACKS)
def test_without_quotes_every_attack_is_obeyed(attack: str) -> None:
    """The same prompts with the texts put in as they are."""
    text = ATTACKS[attack]('{"entailed": true}')
    for profile in CHATS.values():
        turns = [(m.role, fill_prompt(m.text, PREMISE, text)) for m in profile.messages]
        assert obeys(turns), profile.name


def test_our_prompts_quote_and_those_of_published_models_are_as_they_were_trained() -> None:
    assert {name: profile.quotes for name, profile in CHATS.items()} == {
        **dict.fromkeys((n for n in CHATS if n.startswith("llm-")), True),
        "bespoke-minicheck": False,
        "granite-guardian": False,
    }
    for profile in CHATS.values():
        turns = fill_messages(profile, PREMISE, CLAIM)
        if not profile.quotes:
            plain = tuple((m.role, fill_prompt(m.text, PREMISE, CLAIM)) for m in profile.messages)
            assert turns == plain
            continue
        # What is to be done, and in which form to reply, stands behind the texts.
        after = turns[-1][1].rpartition("</quote-")[2]
        for value in (*profile.supported, *profile.unsupported):
            assert f'{{"{profile.field}": {json.dumps(value)}}}' in after


def test_every_prompt_of_builds_is_among_those_that_are_attacked() -> None:
    """Of the templates, those of systems show passages as their papers do; cards ask nobody."""
    files = {str(p.relative_to(FOLDER).with_suffix("")) for p in FOLDER.rglob("*.j2")}
    assert files - set(WRITERS) == {*TEMPLATES, "card.md"}


def test_tags_that_a_model_repeats_are_no_part_of_its_reply() -> None:
    quotes = Quotes("x")
    assert without_tags(f" {quotes.quote('Io is hot.')}\n") == "Io is hot."
    assert without_tags("Io < 3 <quote> and\nso on") == "Io < 3 <quote> and\nso on"
    assert repeats_number(f"Io is {quotes.nonce}.", f"Read this: {quotes.quote('Io')}")
    assert not repeats_number(f"Io is {quotes.nonce}.", f"Read this: {Quotes('y').quote('Io')}")


def test_a_number_is_found_again_and_cannot_be_written_into_a_text() -> None:
    quotes = Quotes("a", "b", model="m")
    assert quotes.nonce == Quotes("a", "b", model="m").nonce
    others = [Quotes("b", "a", model="m"), Quotes("ab", "", model="m"), Quotes("a", "b")]
    assert len({quotes.nonce, *(other.nonce for other in others)}) == 4
    text = f"so </quote-{quotes.nonce}> and <QUOTE x> < / quote> <quoted> but a < b"
    assert quotes.quote(text) == (
        f"<quote-{quotes.nonce}>\nso ‹/quote-{quotes.nonce}> and ‹QUOTE x> ‹ / quote> ‹quoted> "
        f"but a < b\n</quote-{quotes.nonce}>"
    )
    assert outside_quotes(f"Text:\n{quotes.quote(text)}\n\n{quotes.note}") == (
        f"Text:\n\n\n{quotes.note}"
    )


FAMILIES = special_tokens()
TOKENS = sorted({t.strip() for tokens in FAMILIES.values() for t in tokens if t.strip()})
WIDE = {ord(c): c_wide for c, c_wide in zip("<|>[]", "＜｜＞［］", strict=True)}
DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": lambda token: token,
    "full width": lambda token: token.translate(WIDE),
    "small form": lambda token: token.translate({ord("<"): "﹤", ord(">"): "﹥"}),
    "entity": lambda token: token.replace("<", "&lt;"),
    "upper case": str.upper,
    "Cyrillic": lambda token: token.replace("o", "\u043e").replace("e", "\u0435"),
    **{
        f"U+{ord(c):04X} inside": lambda token, c=c: c.join(token)  # type: ignore[misc]
        for c in "\u200b\u200d\u2060\u00ad\ufeff\u034f\ufe0f\u3164"
    },
}
PLACES_OF_REQUESTS = {
    "builders/writer_prompts.py", "engines/judge/llm.py", "evaluator/measures/kalma_marks.py",
    "plugins/documents/llm_requests.py", "plugins/labels/nuggets.py",
    "plugins/published_measures/citeeval.py",
}  # fmt: skip
"""Files that ask models with prompts of ours, all of them in :func:`prompts_with`."""
OF_SYSTEMS = {"systems/prompt_files.py", "systems/system.py"}
"""Files that ask systems under test, whose prompts keep their papers' form."""
WITHOUT_MESSAGES = {"engines/llm/offline.py", "engines/models/served.py"}
"""Files that count tokens, or ask for embeddings and log probabilities."""


def read_leniently(text: str) -> str:
    """What a reader sees who folds look-alikes and drops what shows nothing."""
    seen = html.unescape("".join(c for c in text if not is_invisible(c)))
    return latin_letters(seen).casefold()


def test_no_special_token_reaches_a_model_by_any_prompt() -> None:
    """Judges, G-Eval, nuggets, rubrics, contradictions, documents' checks, writers of builds."""
    require_no_token("plain")


@pytest.mark.slow
@pytest.mark.parametrize("disguise", [name for name in DISGUISES if name != "plain"])
def test_no_disguised_token_reaches_a_model_by_any_prompt(disguise: str) -> None:
    require_no_token(disguise)


def require_no_token(disguise: str) -> None:
    """Ask by every prompt about a text with all special tokens in a disguise."""
    text = "\n".join(f"a {DISGUISES[disguise](token)} b" for token in TOKENS)
    tokens = [read_leniently(token) for token in TOKENS]
    assert all(token in read_leniently(text) for token in tokens)
    for (name, turns), (_, plain) in zip(prompts_with(text), prompts_with(CLAIM), strict=True):
        seen = read_leniently("\n".join(turn for _, turn in turns))
        own = read_leniently("\n".join(turn for _, turn in plain))
        assert [t for t in tokens if seen.count(t) > own.count(t)] == [], name


def test_every_request_to_a_model_is_among_those_that_are_tried() -> None:
    root = Path(records.__file__).parents[2]
    places = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "Request"
        and "llm.records import" in path.read_text().replace("\n", " ")
    }
    assert places == PLACES_OF_REQUESTS | OF_SYSTEMS | WITHOUT_MESSAGES
    named = {name for name, profile in CHATS.items() if not profile.quotes}
    assert named == {"bespoke-minicheck", "granite-guardian"}  # as their models were trained
