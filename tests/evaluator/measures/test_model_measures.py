"""BERTScore, MAUVE and extractive QA on tiny models made here; retrieval by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citeforge.engines.models.answer_models import BertScore, mauve_value
from citeforge.engines.models.extractive_qa import ExtractiveQa
from citeforge.evaluator.measures.alce_correctness import mauve_text, token_f1
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.measures.results import compute
from citeforge.evaluator.measures.retrieval import distinct_ids
from citeforge.evaluator.submissions.inputs import AnswerItem
from citeforge.package.items import Passage
from conftest import refused
from conftest_evaluator import Measure, gold
from peers.hard_answers import make_inputs, per_query
from servers.tiny_nli import train

WORDS = [f"w{i}" for i in range(40)]


def make_tokenizer(folder: Path, special: tuple[str, str]) -> int:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = ["<pad>", *special, "<unk>", *WORDS]
    plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(vocabulary)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    first, last = special
    plain.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(first, 1), (last, 2)],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<pad>",
        cls_token=first,
        sep_token=last,
        bos_token=first,
        eos_token=last,
        unk_token="<unk>",
        model_max_length=48,
    ).save_pretrained(folder)
    return len(vocabulary)


def bert_config(size: int) -> object:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        pad_token_id=0,
    )


@pytest.mark.numeric
def test_bertscore(tmp_path: Path) -> None:
    import torch
    from transformers import BertModel

    torch.manual_seed(0)
    size = make_tokenizer(tmp_path, ("<s>", "</s>"))
    BertModel(bert_config(size)).save_pretrained(tmp_path)  # type: ignore[arg-type]
    scorer = BertScore(str(tmp_path), 2)
    same, other, empty, none = scorer.best(
        ["w1 w2 w3", "w1 w2 w3", "", "w1"],
        [["w9 w8", "w1 w2 w3"], ["w9 w8 w7"], ["w1"], [""]],
    )
    assert same == pytest.approx((1, 1, 1), abs=1e-4)  # the best of the two references
    assert other[2] < 0.999
    assert empty == none == (0, 0, 0)


def tiny_gpt2(folder: Path) -> Path:
    """A random model in a folder that mauve-text knows by its name."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    size = make_tokenizer(folder, ("<s>", "</s>"))
    config = GPT2Config(vocab_size=size, n_embd=32, n_layer=2, n_head=2, n_positions=512)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.mark.numeric
def test_mauve(tmp_path: Path) -> None:
    import random

    model = str(tiny_gpt2(tmp_path / "gpt2-tiny"))
    rng = random.Random(0)
    human = [" ".join(rng.choices(WORDS[:20], k=12)) for _ in range(60)]
    alike = [" ".join(rng.choices(WORDS[:20], k=12)) for _ in range(60)]
    unlike = [" ".join(rng.choices(WORDS[20:23], k=3)) for _ in range(60)]
    close, far = mauve_value(human, alike, model), mauve_value(human, unlike, model)
    assert 0 <= far < close <= 1


def test_what_mauve_reads() -> None:
    assert mauve_text("Why is it?", "Because so...") == "Why is it? Because so"
    assert len(mauve_text("q", "word " * 300).split()) == 100


def train_qa(folder: Path) -> Path:
    """A model that finds the one word among w1 to w4 in a context."""
    import random

    import torch
    from transformers import AutoTokenizer, BertForQuestionAnswering

    torch.manual_seed(0)
    size = make_tokenizer(folder, ("<s>", "</s>"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = BertForQuestionAnswering(bert_config(size))  # type: ignore[arg-type]
    rng = random.Random(0)

    def loss() -> Any:
        contexts, starts = [], []
        for _ in range(32):
            words = rng.choices(WORDS[5:], k=10)
            place = rng.randrange(10)
            words[place] = rng.choice(WORDS[1:5])
            contexts.append(" ".join(words))
            starts.append(place + 3)  # behind <s> w0 </s>
        batch = tokenizer(["w0"] * 32, contexts, padding=True, return_tensors="pt")
        target = torch.tensor(starts)
        return model(**batch, start_positions=target, end_positions=target).loss

    train(model, 2e-3, 900, loss, low=0.02)
    model.eval().save_pretrained(folder)
    return folder


def test_extractive_qa(tmp_path: Path) -> None:
    model = ExtractiveQa(str(train_qa(tmp_path)))
    assert model.answer("w0", "w9 w8 w30 w3 w7 w6 w11 w12 w13 w14") == "w3"
    assert model.answer("w0", "w1 w30 w7 w6 w5 w8 w9 w11 w12 w13") == "w1"
    assert model.answer("w0", "") == ""
    # Longer than the model's 48 tokens: read in windows.
    long = " ".join([*WORDS[5:35], *WORDS[5:35], "w2", *WORDS[5:15]])
    assert model.answer("w0", long) == "w2"


@pytest.fixture
def untrained_qa(tmp_path: Path) -> ExtractiveQa:
    from transformers import BertForQuestionAnswering

    size = make_tokenizer(tmp_path, ("<s>", "</s>"))
    BertForQuestionAnswering(bert_config(size)).save_pretrained(tmp_path)  # type: ignore[arg-type]
    return ExtractiveQa(str(tmp_path))


def test_answers_have_at_most_fifteen_tokens(
    untrained_qa: ExtractiveQa, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = WORDS[5:35]

    def probabilities(first: int, *lasts: tuple[int, float]) -> None:
        def given(windows: Any, window: int, allowed: Any) -> Any:
            start, end = np.zeros((2, len(allowed)), np.float32)
            start[3 + first] = 1  # behind <s> w0 </s>
            for last, chance in lasts:
                end[3 + last] = chance
            return start, end

        monkeypatch.setattr(untrained_qa, "_probabilities", given)

    def answer() -> list[str]:
        return untrained_qa.answer("w0", " ".join(words)).split()

    probabilities(4, (4 + 14, 0.5))
    assert answer() == words[4:19]  # 15 tokens
    probabilities(4, (4 + 15, 0.9), (4 + 2, 0.1))
    assert answer() == words[4:7]  # 16 tokens are too many
    # An end before the start is no span; with nothing likelier than 0, "none" wins no tie.
    probabilities(9, (4, 0.9), (9, 0.1))
    assert answer() == words[9:10]


def test_answers_end_at_words() -> None:
    from types import SimpleNamespace

    from citeforge.engines.models.extractive_qa import _whole_words

    # "co-operate" is the tokens co, -oper, ate of word 0; "now" is word 1; then a special token.
    encoding = SimpleNamespace(
        offsets=[(0, 2), (2, 7), (7, 10), (11, 14), (0, 0)],
        token_to_word=lambda token: [0, 0, 0, 1, None][token],
        word_to_chars=lambda word, sequence_index: [(0, 10), (11, 14)][word],
    )
    assert _whole_words(encoding, 1, 1) == (0, 10)
    assert _whole_words(encoding, 2, 3) == (0, 14)
    # Tokens that stand in no word keep their own characters.
    assert _whole_words(encoding, 1, 4) == (2, 0)


def test_questions_that_leave_no_room(untrained_qa: ExtractiveQa) -> None:
    assert untrained_qa.answer("w0 " * 60, "w5 w6") == ""


def test_token_f1_by_hand() -> None:
    # "the red planet mars" has 3 tokens without the article, 2 shared with "planet mars x".
    p, r = 2 / 3, 2 / 3
    assert token_f1("the red planet Mars", "planet mars x") == pytest.approx(2 * p * r / (p + r))
    assert token_f1("", "x") == token_f1("a", "b") == 0
    assert token_f1("", "the") == 1  # neither has a token


def test_models_that_are_not_there(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with refused("missing-model", path="nobody/nothing"):
        BertScore("nobody/nothing")
    with refused("missing-model", path="nobody/nothing"):
        mauve_value(["a"], ["b"], "nobody/nothing")
    with refused("bad-model", path=tmp_path):
        ExtractiveQa(str(tmp_path))


def test_a_missing_model_is_a_reason_and_no_zero(measure: Measure) -> None:
    pytest.importorskip("torch")
    rows = [[gold("answer", "x")]]
    assert "roberta-large: " in measure(["x"], ["BERTScore.F"], gold=rows)["BERTScore.F"]
    pairs = [[gold("qa_pair", "q", aliases=["x"])]]
    assert "roberta-large-squad: " in measure(["x"], ["QA-EM"], gold=pairs)["QA-EM"]
    assert measure(["x"], ["QA-EM"])["QA-EM"] == "needs qa_pairs (ASQA)"
    assert measure(["x"], ["MAUVE"])["MAUVE"].startswith("needs long answers")


def test_retrieval_by_hand(measure: Measure) -> None:
    import math

    names = ["P@1", "P@5", "R@5", "nDCG@5"]
    # Passage p0 p1 p2; relevant p1 and p7.
    result = measure(["x"], names, quotes=[["p1", "p7"]])
    ideal = 1 + 1 / math.log2(3)
    expected = [0, 1 / 5, 1 / 2, (1 / math.log2(3)) / ideal]
    assert [result[n][0] for n in names] == pytest.approx(expected)
    # The reference divides by the distinct passages retrieved.
    result = measure(["x"], ["P@5"], quotes=[["p1", "p7"]], protocol="reference")
    assert result["P@5"] == [1 / 3]


def test_retrieval_without_relevant_passages(measure: Measure) -> None:
    names = ["P@3", "R@3", "nDCG@3"]
    quotes = [["p1", "p7"], []]
    result = measure(["x", "x"], names, quotes=quotes)
    assert result["P@3"][0] == 1 / 3
    assert result["R@3"] == [1 / 2, None]
    # The published code gives such a query 0 and keeps it.
    result = measure(["x", "x"], names, quotes=quotes, protocol="reference")
    assert result["P@3"] == [1 / 3, 0 / 3]
    assert result["R@3"] == [1 / 2, 0]


def test_retrieval_of_nothing() -> None:
    shown = (Passage("p0", "", "t"),)
    rows = [("q", "x", shown), ("q", "x", ()), ("q", "x", (Passage("", "", "t"),))]
    inputs = make_inputs(rows, quotes=[["p0"]] * 3)
    for name in ("P@1", "R@1", "nDCG@1"):
        assert per_query(inputs, [name])[name] == [1, 0, 0]


@pytest.mark.parametrize(
    ("shown", "quotes", "reason"),
    [((Passage("", "", "t"),), [["p0"]], "with ids"), ((Passage("p0", "", "t"),), [[]], "judge")],
)
def test_retrieval_that_nobody_can_measure(
    shown: tuple[Passage, ...], quotes: list[list[str]], reason: str
) -> None:
    inputs = make_inputs([("q", "x", shown)], quotes=quotes)
    _, (absent,) = compute(inputs, select(["P@1"]), None, has_hidden_gold=False)
    assert reason in absent.reason


def test_repeated_passages_are_one() -> None:
    # Passage p0 p1 p2 (the fixture names them by place); ids that repeat take one place.
    item = AnswerItem(0, "q", "x", tuple(Passage(i, "", "t") for i in ("a", "a", "", "b")))
    assert distinct_ids(item) == ["a", "b"]


def test_alce_rouge(measure: Measure) -> None:
    rows = [[gold("long_answer", "The cats were running."), gold("long_answer", "None.")]]
    # Stemmed: cat, run; "the cat runs" against "the cats were running": 3 of 3 and 3 of 4.
    p, r = 3 / 3, 3 / 4
    result = measure(["The cat runs [1]."], ["ALCE.ROUGE-Lsum"], gold=rows)
    assert result["ALCE.ROUGE-Lsum"] == pytest.approx([2 * p * r / (p + r)])
    # ALCE's code looks at two long answers, strict at all.
    third = [[*[gold("long_answer", "None.")] * 2, gold("long_answer", "The cats were running.")]]
    assert measure(["The cat runs."], ["ALCE.ROUGE-Lsum"], gold=third) == result
    reference = measure(["The cat runs."], ["ALCE.ROUGE-Lsum"], gold=third, protocol="reference")
    assert reference["ALCE.ROUGE-Lsum"] == [0]


def test_alce_rouge_of_eli5(measure: Measure) -> None:
    rows = [[gold("claim", "c"), gold("answer", "The cats were running.")]]
    p, r = 3 / 3, 3 / 4
    result = measure(["The cat runs [1]."], ["ALCE.ROUGE-Lsum"], gold=rows, task="eli5")
    assert result["ALCE.ROUGE-Lsum"] == pytest.approx([2 * p * r / (p + r)])
    # Answers of other data sets are no long answers of ALCE's.
    hagrid = measure(["The cat runs [1]."], ["ALCE.ROUGE-Lsum"], gold=rows)
    assert str(hagrid["ALCE.ROUGE-Lsum"]).startswith("needs long answers")


def test_mauve_reads_the_answer(monkeypatch: pytest.MonkeyPatch, measure: Measure) -> None:
    seen: list[list[str]] = []

    def compute(human: list[str], written: list[str], model: str) -> float:
        seen.append([*human, *written])
        return 1.0

    monkeypatch.setattr("citeforge.engines.models.answer_models.mauve_value", compute)
    rows = [[gold("long_answer", "Long one."), gold("answer", "The answer.")]]
    measure(["Mine [1]."], ["MAUVE"], gold=rows)
    measure(["Mine [1]."], ["MAUVE"], gold=[rows[0][:1]])
    assert seen == [["q The answer", "q Mine"], ["q Long one", "q Mine"]]
