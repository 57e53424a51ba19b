"""Thoughts of reasoning models, in the forms that their replies have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("text", "answer", "thoughts"),
    [
        ("The answer is 5 [1]. <think>hmm</think>", "The answer is 5 [1].", ("hmm",)),
        ("One [1]. <think>in</think> Two [2].", "One [1].  Two [2].", ("in",)),
        ("One [1].<think>in</think>Two [2].", "One [1].\nTwo [2].", ("in",)),
        ("It is <think>let me see</think> 5 [1].", "It is  5 [1].", ("let me see",)),
        ("One [1]. [THINK]in[/THINK] Two.", "One [1].  Two.", ("in",)),
        ("<think>a</think>One [1].\n<think>b</think>Two.", "One [1].\nTwo.", ("a", "b")),
        ("<think>a <think>b</think> c</think>One.", "One.", ("a", "b", "c")),
        ("<think>The tag <think> opens.</think>One.", "One.", ("The tag", "opens.")),
        ("<think>a</think>One.</think> Two.", "One. Two.", ("a",)),
        ("a</think>One [1]. <think>b</think>", "One [1].", ("a", "b")),
        ("a</think>b</think>One [1].", "One [1].", ("a", "b")),
        ('<thinking budget="9">a</thinking>One.', "One.", ("a",)),
        ("&lt;think&gt;a&lt;/think&gt;One.", "One.", ("a",)),
        ("<think>\n```py\nx = 1\n</think>\nOne.", "One.", ("```py\nx = 1",)),
        ("<think>a</think>\n<response>\nOne.\n</response>", "One.", ("a",)),
    ],
)
def test_a_thought_takes_what_is_between_its_tags(
    text: str, answer: str, thoughts: tuple[str, ...]
) -> None:
    assert split_thoughts(text) == SplitReply(answer, thoughts)


def test_a_block_of_open_webui_is_a_thought() -> None:
    block = (
        '<details type="reasoning" done="true" duration="12">\n<summary>Thought for 12 seconds'
        "</summary>\n&gt; Passage [3] says 1931.\n&gt; No: &quot;1964&quot;.\n</details>\n"
    )
    thought = 'Passage [3] says 1931.\nNo: "1964".'
    assert split_thoughts(block + ANSWER) == SplitReply(ANSWER, (thought,))
    other = "<details duration='1' type='reasoning'><summary>x</summary>\n> two\n</details>"
    twice = split_thoughts(f"{block}One [1].\n{other}\nTwo [2].")
    assert twice == SplitReply("One [1].\n\nTwo [2].", (thought, "two"))
    call = (
        '<details type="tool_calls" done="true" name="search">\n<summary>Ran</summary>\n</details>'
    )
    assert split_thoughts(f"{call}\n{ANSWER}") == SplitReply(ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        f"<think>{THOUGHT}",
        f"[THINK]{THOUGHT}",
        f"<|channel|>analysis<|message|>{THOUGHT}",
        f"<|START_THINKING|>{THOUGHT}",
        f'<details type="reasoning" done="false">\n<summary>Thinking…</summary>\n> {THOUGHT}',
    ],
)
def test_a_thought_that_never_ends_leaves_no_answer(text: str) -> None:
    assert split_thoughts(text) == SplitReply("", (THOUGHT,), is_cut=True)


@pytest.mark.parametrize(
    ("text", "answer", "thought"),
    [
        ("One [1].\n<think>Should I add [3]", "One [1].", "Should I add [3]"),
        ("The answer is 5 [1]. <think>hmm, let", "The answer is 5 [1].", "hmm, let"),
    ],
)
def test_text_before_a_thought_that_never_ends_is_an_answer_that_was_cut(
    text: str, answer: str, thought: str
) -> None:
    assert split_thoughts(text) == SplitReply(answer, (thought,), is_cut=True)


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        "",
        "Models write “<think>” before and “</think>” behind a thought [2].",
        "The tags <think> and </think> mark thoughts [2].",
        "The token `<|channel|>` names a channel [2].",
        "One [1].\n<details><summary>More</summary>\nTwo [2].\n</details>",
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


def test_a_message_of_gpt_oss_to_a_tool_is_no_answer() -> None:
    text = (
        "<|channel|>analysis<|message|>Is it [3]?<|end|><|start|>assistant<|channel|>commentary "
        'to=functions.find <|constrain|>json<|message|>{"q": 1}<|call|><|start|>assistant'
        f"<|channel|>final<|message|>{ANSWER}<|return|>"
    )
    assert split_thoughts(text) == SplitReply(ANSWER, ("Is it [3]?", '{"q": 1}'))


_PARTS = st.sampled_from(
    ["<think>", "</think>", "[THINK]", "[/THINK]", '<details type="reasoning">', "</details>",
     "<answer>", "</answer>", "`", "```\n", "\n", " ", ". ", "One [1]", "“", "”", "and",
     "<|channel|>", "final<|message|>", "<|end|>"]
)  # fmt: skip


@given(st.lists(_PARTS, max_size=14).map("".join))
def test_the_pieces_are_those_that_the_answer_is_made_of(text: str) -> None:
    split = split_thoughts(text)
    taken = ["\n"] * len(split.answer)
    for start, end, at in split.pieces:
        assert split.move_span(start, end) == (at, at + end - start)
        taken[at : at + end - start] = text[start:end]
    assert "".join(taken) == split.answer
    starts = [start for start, _, _ in split.pieces]
    assert starts == sorted(starts)
