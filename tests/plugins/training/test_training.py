"""Training data: only answers that cite well, never a held-out question, and TRL trains on it."""

import ast
import json
import logging
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.package.items import Item
from citeforge.plugins.training.held_out import normalise_question
from citeforge.plugins.training.rewards import citation_reward
from conftest import ROOT, Inline, refused, write_jsonl


@pytest.fixture(scope="module")
def items(package: Path) -> list[Item]:
    return list(cf.load(package).items("mix"))


def right(item: Item, extra: str = "") -> str:
    return f"So {item.query_id} " + "".join(f"[{i + 1}]" for i in item.relevant) + extra + "."


def answers(items: list[Item]) -> list[dict[str, Any]]:
    """The first 4 questions cite all that is relevant, the fifth one passage too many, the sixth
    nothing."""
    rows = [{"query_id": i.query_id, "output": right(i)} for i in items[:4]]
    wrong = next(n for n in range(len(items[4].passages)) if n not in items[4].relevant)
    rows.append({"query_id": items[4].query_id, "output": right(items[4], f"[{wrong + 1}]")})
    rows.append({"query_id": items[5].query_id, "output": "Nobody knows."})
    return rows


def sft(package: Path, out: Path, rows: list[dict[str, Any]], **options: Any) -> list[str]:
    path = out.with_suffix(".answers.jsonl")
    write_jsonl(path, rows)
    return cf.export("sft", package, out, **{"submission": path, "min_f1": 1, **options})


def test_only_answers_that_cite_well(package: Path, items: list[Item], tmp_path: Path) -> None:
    lost = sft(package, tmp_path / "all", answers(items))
    assert "2 answers below F1 1" in lost
    rows = pq.read_table(tmp_path / "all" / "data").to_pylist()
    assert [r["query_id"] for r in rows] == [i.query_id for i in items[:4]]
    prompts = {r["query_id"]: r["prompt"] for r in rows}
    for item in items[:4]:
        (message,) = prompts[item.query_id]
        assert message["role"] == "user"
        assert item.query in message["content"]
        assert all(p.text in message["content"] for p in item.passages)
    chat = [json.loads(x) for x in (tmp_path / "all" / "chat.jsonl").read_text().splitlines()]
    assert chat == [{"messages": r["prompt"] + r["completion"]} for r in rows]
    # F1 of the fifth: n relevant ones, all cited, and one more.
    n = len(items[4].relevant)
    f1 = 2 * (n / (n + 1)) / (n / (n + 1) + 1)
    sft(package, tmp_path / "more", answers(items), min_f1=f1)
    last = pq.read_table(tmp_path / "more" / "data").to_pylist()[-1]
    assert (last["query_id"], last["cite_f1"]) == (items[4].query_id, pytest.approx(f1))
    about = json.loads((tmp_path / "more" / "training.json").read_text())
    assert about["left_out"] == {f"answers_left_out[below F1 {f1:g}]": 1}
    assert about["rows"] == 5 and about["benchmark_hash"] == cf.load(package).hash


def test_held_out_questions_are_left_out_by_id_and_by_text(
    package: Path, items: list[Item], tmp_path: Path
) -> None:
    ids, texts = tmp_path / "ids.jsonl", tmp_path / "texts.jsonl"
    write_jsonl(ids, [{"_id": items[0].query_id}])
    asked = items[1].query.upper().rstrip("?") + " ?!"
    write_jsonl(texts, [{"_id": "another", "text": asked}])
    lost = sft(package, tmp_path / "x", answers(items), held_out=[ids, texts])
    assert lost[:2] == ["2 answers below F1 1", "1 answer held out by id"]
    assert lost[2] == "1 answer held out by text"
    kept = pq.read_table(tmp_path / "x" / "data")["query_id"].to_pylist()
    assert kept == [items[2].query_id, items[3].query_id]
    cf.export("rl-prompts", package, tmp_path / "rl", held_out=(ids, texts))
    assert pq.read_table(tmp_path / "rl" / "data").num_rows == 28
    # A benchmark holds out all that it asks, and then nothing is left here.
    with refused("too-few") as caught:
        sft(package, tmp_path / "y", answers(items), held_out=[package])
    assert "has no answer to learn from (6 answers held out by id" in str(caught.value)
    assert not (tmp_path / "y").exists()


def test_questions_are_compared_by_their_words() -> None:
    assert normalise_question("Wer war  Ａda Lovelace?") == normalise_question(
        "wer war ada lovelace"
    )
    assert normalise_question("Who is she?") != normalise_question("Who is he?")


def test_runs_cut_answers_and_own_passages(
    package: Path, items: list[Item], tmp_path: Path
) -> None:
    first, name = right(items[0]), items[0].query_id
    rows: list[dict[str, Any]] = [
        {"query_id": name, "output": first},
        {"query_id": name, "output": first, "run": 1},
        {"query_id": name, "output": "Or: " + first, "run": 2},
        {"query_id": name, "output": first, "run": 3, "finish_reason": "length"},
        {"query_id": name, "output": first, "run": 4, "passages": [{"text": "mine"}]},
    ]
    lost = sft(package, tmp_path / "x", rows)
    assert lost[:3] == [
        "1 answer cut at the token limit",
        "1 answer in the words of another run",
        "1 answer to passages that the system brought itself",
    ]
    assert pq.read_table(tmp_path / "x" / "data")["run"].to_pylist() == [0, 2]


def test_the_command_says_what_is_missing(package: Path, tmp_path: Path, inline: Inline) -> None:
    no = inline("export", "sft", package, "--out", tmp_path / "x")
    assert no.returncode == 2 and "Missing option '--submission'" in no.stderr
    for name, option in (("rl-prompts", "--min-f1"), ("beir", "--min-f1")):
        no = inline("export", name, package, "--out", tmp_path / "x", option, "0.5")
        assert no.returncode == 2 and "No such option '--min-f1'" in no.stderr
    write_jsonl(tmp_path / "bad.jsonl", [{"answer": "x"}])
    words = ("export", "rl-prompts", package, "--out", tmp_path / "x", "--held-out", "bad.jsonl")
    inline.fails(1, "missing-field", *words)
    write_jsonl(tmp_path / "none.jsonl", [])
    for path, code in ((tmp_path, "not-a-package"), (tmp_path / "none.jsonl", "no-queries")):
        with refused(code, path=path):
            cf.export("rl-prompts", package, tmp_path / "x", held_out=[path])
    rows = [{"query_id": "q01", "output": "[1]", "context": "other"}]
    with refused("unknown-context", line=1, field="context"):
        sft(package, tmp_path / "y", rows)
    with refused("bad-option", cf.UsageError):
        cf.export("rl-prompts", package, tmp_path / "z", min_f1=1)
    yes = inline("export", "rl-prompts", package, "--out", tmp_path / "x")
    assert yes.returncode == 0 and "2 files" in yes.stdout


def test_prompts_of_the_export_have_the_contexts_of_the_reward(
    package: Path, items: list[Item], tmp_path: Path
) -> None:
    """What GRPO hands to the reward: one row per question, with its columns."""
    cf.export("rl-prompts", package, tmp_path / "rl")
    rows = pq.read_table(tmp_path / "rl" / "data").to_pylist()
    shown = [(r["contexts"]["n_passages"], r["contexts"]["relevant"]) for r in rows]
    assert shown == [(len(i.passages), list(i.relevant)) for i in items]
    assert all(i.query in r["prompt"][0]["content"] for i, r in zip(items, rows, strict=True))
    columns = {name: [r[name] for r in rows] for name in rows[0]}
    rewards = citation_reward(
        [right(item) for item in items], prompts=columns.pop("prompt"), **columns
    )
    assert rewards == [1.0] * len(items)


def test_the_program_of_the_page_imports_what_there_is() -> None:
    for line in ast.walk(ast.parse(program_of_the_page())):
        if isinstance(line, ast.ImportFrom) and str(line.module).startswith("citeforge"):
            module = import_module(str(line.module))
            assert all(hasattr(module, name.name) for name in line.names)


def program_of_the_page() -> str:
    (program,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "training.md").read_text(), re.DOTALL
    )
    return str(program)


def tiny_model(folder: Path) -> None:
    """A LLaMA of 2 layers that nobody has trained, and a tokenizer of bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    marks = ["<pad>", "<eos>", "<user>", "<assistant>"]
    words = Tokenizer(models.BPE({c: i for i, c in enumerate(marks + letters)}, []))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>",
        additional_special_tokens=marks[2:],
    )  # fmt: skip
    tokenizer.chat_template = (
        "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}<eos>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=8192, pad_token_id=0, eos_token_id=1,
        bos_token_id=1,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tiny_model(folder)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return folder


QUIET = {"report_to": [], "use_cpu": True, "bf16": False, "save_strategy": "no",
         "logging_steps": 1, "disable_tqdm": True, "seed": 0}  # fmt: skip


@pytest.mark.slow
def test_sft_trainer_reads_the_export(
    package: Path, items: list[Item], model: Path, tmp_path: Path
) -> None:
    from datasets import load_dataset
    from trl import SFTConfig, SFTTrainer

    sft(package, tmp_path / "sft", answers(items))
    data = load_dataset(str(tmp_path / "sft"), split="train", cache_dir=str(tmp_path / "cache"))
    options = SFTConfig(
        str(tmp_path / "out"), max_steps=2, per_device_train_batch_size=2, max_length=4096, **QUIET
    )
    trainer = SFTTrainer(str(model), args=options, train_dataset=data)
    trainer.train()
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    assert len(losses) == 2 and all(loss > 0 for loss in losses)
    # Only completions are learnt: as many labels as bytes of the answers, and their end.
    batch = next(iter(trainer.get_train_dataloader()))
    learnt = int((batch["labels"] != -100).sum())
    known = {len(right(item).encode()) + 1 for item in items[:4]}
    assert learnt in {a + b for a in known for b in known}


@pytest.mark.slow
def test_grpo_trainer_calls_the_reward_and_logs_it(
    package: Path, items: list[Item], model: Path, tmp_path: Path
) -> None:
    from datasets import load_dataset
    from trl import GRPOConfig, GRPOTrainer

    cf.export("rl-prompts", package, tmp_path / "rl")
    data = load_dataset(str(tmp_path / "rl"), split="train", cache_dir=str(tmp_path / "cache"))
    shown = {i.query: (len(i.passages), list(i.relevant)) for i in items}
    calls: list[tuple[int, list[float]]] = []

    def watched(completions: list[Any], contexts: list[Any], **columns: Any) -> list[float]:
        for prompt, one in zip(columns["prompts"], contexts, strict=True):
            text = prompt[0]["content"]
            (query,) = (q for q in shown if q in text)
            assert (one["n_passages"], one["relevant"]) == shown[query]
        # The model cannot write yet: every second completion is given a citation.
        said = [
            c if n % 2 else [{"role": "assistant", "content": f"So [{x['relevant'][0] + 1}]."}]
            for n, (c, x) in enumerate(zip(completions, contexts, strict=True))
        ]
        result = citation_reward(said, contexts, **columns)
        calls.append((len(completions), result))
        return result

    watched.__name__ = citation_reward.__name__
    options = GRPOConfig(
        str(tmp_path / "out"), max_steps=3, per_device_train_batch_size=4, num_generations=2,
        max_completion_length=12, beta=0.04, **QUIET,
    )  # fmt: skip
    trainer = GRPOTrainer(str(model), reward_funcs=watched, args=options, train_dataset=data)
    trainer.train()
    logged = [row for row in trainer.state.log_history if "reward" in row]
    assert [n for n, _ in calls] == [4] * 3
    for (_, result), row in zip(calls, logged, strict=True):
        assert 0 < sum(result) / 4 <= 0.5  # two of four cite
        assert (
            row["reward"] == row["rewards/citation_reward/mean"] == pytest.approx(sum(result) / 4)
        )
        assert row["kl"] >= 0


@pytest.mark.slow
def test_the_program_of_the_page_runs(
    package: Path, items: list[Item], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a tiny model and two steps of each."""
    program = program_of_the_page()
    for said, instead in (
        ('"mistralai/Mistral-7B-Instruct-v0.3"', repr(str(model))),
        ('"report_to": []', '"report_to": [], "max_steps": 2, "use_cpu": True'),
        ("max_completion_length=256", "max_completion_length=8"),
    ):
        assert program.count(said) == 1
        program = program.replace(said, instead)
    sft(package, tmp_path / "out" / "sft", answers(items))
    cf.export("rl-prompts", package, tmp_path / "out" / "rl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    result: dict[str, Any] = {}
    exec(compile(program, "training.md", "exec"), result)
    logged = [row for row in result["rl"].state.log_history if "reward" in row]
    assert len(logged) == 2 and all("kl" in row for row in logged)
    trained = sum(p.numel() for p in result["rl"].model.parameters() if p.requires_grad)
    # Rank 64 on all linear layers: q, k, v, o of 32 x 32, three of 32 x 64, in two layers.
    assert trained == 64 * 2 * (4 * (32 + 32) + 3 * (32 + 64))
    assert (tmp_path / "out" / "rl-model" / "adapter_model.safetensors").is_file()
