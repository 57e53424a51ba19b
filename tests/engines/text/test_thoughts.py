"""Thoughts of reasoning models, in the forms that their replies have."""

import pytest

from citeforge.engines.text.thoughts import SplitReply, split_thoughts

ANSWER = "It opened in 1964 [5]."
THOUGHT = "Passage [3] says 1931."


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{THOUGHT}</think>\n\n{ANSWER}",
        f"<think>\n{THOUGHT}\n</think>{ANSWER}",
        f"{THOUGHT}</think>\n\n{ANSWER}",
        f"<thinking>{THOUGHT}</thinking>{ANSWER}",
        f"<THINK>{THOUGHT}</THINK>{ANSWER}",
        f"[THINK]{THOUGHT}[/THINK]{ANSWER}",
        f"◁think▷{THOUGHT}◁/think▷{ANSWER}",
        f"<seed:think>{THOUGHT}</seed:think>{ANSWER}",
        f"<|START_THINKING|>{THOUGHT}<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>",
        f"<|begin_of_thought|>{THOUGHT}<|end_of_thought|>"
        f"<|begin_of_solution|>{ANSWER}<|end_of_solution|>",
        f"<reasoning>{THOUGHT}</reasoning>\n<answer>{ANSWER}</answer>",
        f"<reasoning>{THOUGHT}</reasoning>\n<answer>{ANSWER}",
        f"<scratchpad>{THOUGHT}</scratchpad>{ANSWER}",
        f"<analysis>{THOUGHT}</analysis>\n<final>{ANSWER}</final>",
        f"Here is my thought process: {THOUGHT}\nHere is my response: {ANSWER}",
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant"
        f"<|channel|>final<|message|>{ANSWER}<|return|>",
        f"<|channel|>analysis<|message|>{THOUGHT}<|channel|>final<|message|>{ANSWER}",
        f"analysis{THOUGHT}assistantfinal{ANSWER}",
    ],
)
def test_a_thought_is_told_from_the_answer(text: str) -> None:
    assert split_thoughts(text) == SplitReply(ANSWER, (THOUGHT,))


def test_what_follows_the_last_closing_tag_is_the_answer() -> None:
    text = f"<think>one</think>It may be 1931 [3].\n<think>two</think>{ANSWER}"
    assert split_thoughts(text) == SplitReply(ANSWER, ("one", "It may be 1931 [3].", "two"))


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{THOUGHT}",
        f"[THINK]{THOUGHT}",
        f"<|channel|>analysis<|message|>{THOUGHT}",
        f"<|START_THINKING|>{THOUGHT}",
    ],
)
def test_a_thought_that_never_ends_leaves_no_answer(text: str) -> None:
    assert split_thoughts(text) == SplitReply("", (THOUGHT,), is_cut=True)


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        "",
        "<summary>It is long [1].</summary>\n<analysis>It is old [2].</analysis>",
        "The tag `<think>` opens a thought and `</think>` ends it [2].",
        "```html\n<think>\n</think>\n```\nSo it is written [1].",
        "In a text, <think> is a tag of some models [1].",
        "analysis of the figures shows growth [2].",
    ],
)
def test_a_text_without_thoughts_stays_as_it_is(text: str) -> None:
    assert split_thoughts(text) == SplitReply(text)


def test_an_empty_thought_is_none() -> None:
    assert split_thoughts(f"<think>\n\n</think>\n\n{ANSWER}") == SplitReply(ANSWER)


def test_a_whole_answer_in_tags_is_unwrapped() -> None:
    assert split_thoughts(f"<answer>{ANSWER}</answer>") == SplitReply(ANSWER)
