"""Measures of words in scripts other than Latin (docs/definitions.md#text)."""

import pytest

from citeforge.evaluator.measures.script_words import choose_tokenizer, count_text_words
from conftest_evaluator import Measure, gold

ROUGE = ["ROUGE-Lsum.P", "ROUGE-Lsum.R", "ALCE.ROUGE-Lsum"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("One two, three - four.", 5),
        ("Один два три", 3),
        ("鲁迅写了书。", 5),
        ("鲁迅 wrote 3 books", 2 + 3),
        ("東京タワー", 2 + 3),
        ("รักมา", 2 + 1),
        ("서울은 크다", 2),
        ("", 0),
    ],
)
def test_words_are_counted_in_every_script(text: str, words: int) -> None:
    assert count_text_words(text) == words


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The café", "13a"), ("1964", "13a"), ("", "13a"), ("книга Life", "intl"),
        ("किताब", "intl"), ("كتاب", "intl"), ("서울은", "intl"), ("鲁迅写书", "zh"),
        ("東京は大きい", "char"), ("กรุงเทพ", "char"), ("NASA 的 lunar probe", "13a"),
    ],
)  # fmt: skip
def test_the_script_of_most_letters_chooses(text: str, name: str) -> None:
    assert choose_tokenizer([text]) == name


# (gold answer, output): two of the four words of the gold answer, and nothing else.
HALVES = [
    ("он написал две книги", "две книги"),
    ("他写了书。", "了书。"),
    ("भारत में दो नदियाँ", "दो नदियाँ"),
    ("กขคง", "คง"),
]


@pytest.mark.parametrize(("right", "output"), HALVES)
def test_rouge_reads_other_scripts(measure: Measure, right: str, output: str) -> None:
    rows = [[gold("answer", right)]]
    result = measure([output, right], ROUGE, gold=rows * 2, task="eli5")
    assert result["ROUGE-Lsum.P"] == [1, 1]
    assert result["ROUGE-Lsum.R"] == [2 / 4, 1]
    assert result["ALCE.ROUGE-Lsum"] == pytest.approx([2 * 1 * (2 / 4) / (1 + 2 / 4), 1])


def test_reference_reads_latin_letters_alone(measure: Measure) -> None:
    rows = [[gold("answer", "он написал две книги")]]
    result = measure(["он написал две книги"], ROUGE[:2], gold=rows, protocol="reference")
    assert [result[name] for name in ROUGE[:2]] == [[0], [0]]


def test_an_answer_does_not_choose_how_it_is_scored(measure: Measure) -> None:
    rows = [[gold("answer", "he wrote two books")]]
    result = measure(["他写了书", ""], ROUGE[:2], gold=rows * 2, missing=[1])
    assert [result[name] for name in ROUGE[:2]] == [[0, 0], [0, 0]]


@pytest.mark.parametrize("text", ["他写了三本书", "東京はとても大きい", "กขคงจฉ"])
def test_bleu_reads_scripts_without_spaces(measure: Measure, text: str) -> None:
    result = measure([text, f"{text[0]}xyz"], ["BLEU"], gold=[[gold("answer", text)]] * 2)
    assert result["BLEU"] == pytest.approx([1, 0])
