"""Questions to an LLM judge besides entailment: the bill, the store, the signature; tokens."""

import json
import re
from pathlib import Path

import pytest

from citeforge.engines.judge.profiles import question_version
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.library.scores import Scores, score, score_files
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.command_options import ScoreOptions
from conftest import Inline, refused, write_jsonl
from servers.provider import Body, Sent, chat, provider
from stand_ins import RuleJudge

QUESTIONS = ("llm-need-citation", "llm-half-support", "llm-relevant")


def reply(body: Body) -> Sent:
    """Needs no citation, is supported in part, and is relevant."""
    text = body["messages"][-1]["content"]
    for asked, said in (
        ("need a citation", {"need": "implied"}),
        ("How much", {"support": "half"}),
        ("Is a point", {"relevance": "relevant"}),
    ):
        if asked in text:
            return chat(json.dumps(said))
    raise AssertionError(text)


@pytest.fixture
def answers(benchmark: Benchmark, tmp_path: Path) -> Path:
    """One answer of two citations of one statement, and a statement without any."""
    context = benchmark.contexts[0]
    rows = [{"query_id": q, "context": context, "output": f"{q} is so [1][2]. It is nice."}
            for q in benchmark.query_ids]  # fmt: skip
    return write_jsonl(tmp_path / "answers.jsonl", rows)


@pytest.mark.slow
def test_an_llm_is_asked_what_the_bill_says_and_nothing_twice(
    answers: Path, benchmark: Benchmark, inline: Inline
) -> None:
    n = len(benchmark.query_ids)
    with provider(reply) as server:
        command = (
            "score", answers, "--benchmark", benchmark.folder, "--measures", "worthy,longcite",
            "--judge", "openai:m", "--base-url", server.url, "--verdicts", "v.db", "--no-details",
        )  # fmt: skip
        # Of each answer: one need, one statement with its citations, and two citations.
        assert f"calls to make      {4 * n:,} if" in inline.ok(*command, "--dry-run").stdout
        assert not server.bodies
        inline.ok(*command, "--out", "scores.json")
        assert len(server.bodies) == 4 * n
        inline.ok(*command, "--out", "again.json")
        assert len(server.bodies) == 4 * n
    written = json.loads((inline.folder / "scores.json").read_text())["measures"]
    values = {m["name"]: m["value"] for m in written}
    recall, precision = (0.5 + 1) / 2, 2 / 2
    assert values | {"LongCite.Length": 0} == pytest.approx({
        "Worthy": 100 * 2 / 2, "LongCite.R": 100 * recall, "LongCite.P": 100 * precision,
        "LongCite.F1": 100 * 2 * recall * precision / (recall + precision), "LongCite.Length": 0,
    })  # fmt: skip
    signatures = {m["name"]: m["signature"] for m in written}
    assert all(question_version(name) in signatures["LongCite.R"] for name in QUESTIONS)
    assert question_version("llm-relevant") not in signatures["Worthy"]


def test_signatures_name_no_questions_of_judges_that_are_asked_none(
    answers: Path, benchmark: Benchmark
) -> None:
    judge = RuleJudge(lambda premise, hypothesis: True)
    found = score(answers, benchmark, ["LongCite.R"], judge=judge)
    assert "llm-" not in found["LongCite.R"].signature


def test_lengths_are_in_words_or_in_the_tokens_of_a_tokenizer(
    answers: Path, benchmark: Benchmark, tmp_path: Path
) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path / "tokenizer"
    items = list(benchmark.items(benchmark.contexts[0]))
    cited = [passage.text for item in items for passage in item.passages[:2]]
    words = [len(text.split()) for text in cited]
    parts = [len(re.findall(r"\w+|[^\w\s]", text)) for text in cited]
    plain = Tokenizer(models.WordLevel({"<unk>": 0, "<s>": 1}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    begin = [("<s>", 1)]
    plain.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=begin)
    made = PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="<unk>", bos_token="<s>")
    made.save_pretrained(folder)

    def length(tokenizer: str | None) -> Scores:
        options = ScoreOptions(measures=("LongCite.Length",), tokenizer=tokenizer)
        (found,) = score_files([answers], benchmark, options).scores
        return found

    found = length(None)["LongCite.Length"]
    assert found.value == pytest.approx(sum(words) / len(words))
    assert "tokens words" in found.signature
    # Words and signs are tokens; the one that begins a text for a model is none of it.
    found = length(str(folder))["LongCite.Length"]
    assert found.value == pytest.approx(sum(parts) / len(parts))
    assert parts != words
    assert f"tokens {folder.name}@" in found.signature
    # Another tokenizer in a folder of that name is another one, and the same one elsewhere is not.
    copied, other = (tmp_path / name / folder.name for name in ("copied", "other"))
    made.save_pretrained(copied)
    made.add_tokens(["of"])
    made.save_pretrained(other)
    assert length(str(copied))["LongCite.Length"].signature == found.signature
    assert length(str(other))["LongCite.Length"].signature != found.signature
    with refused("not-computed", UsageError) as caught:
        length(str(tmp_path / "none"))
    assert "--tokenizer" in str(caught.value)
