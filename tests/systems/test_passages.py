"""Copying systems on hand-made HAGRID and ALCE benchmarks."""

import json
from pathlib import Path

import pytest

from conftest import Inline, write_jsonl


@pytest.fixture
def hagrid(inline: Inline, tmp_path: Path) -> Path:
    def answer(text: str, attributable: int, informative: int) -> dict[str, object]:
        return {
            "answer": text,
            "answer_type": "long",
            "informative": informative,
            "attributable": attributable,
            "sentences": [],
        }

    rows = [
        {
            "query_id": i,
            "query": "Which?",
            "quotes": [
                {"idx": 1, "docid": f"{i}a", "text": f"Iron {i} is hard. It rusts. It melts."},
                {"idx": 2, "docid": f"{i}b", "text": f"Gold {i} is soft."},
            ],
            "answers": [answer("Wrong [1].", 0, 1), answer(f"Gold {i} is soft [2].", 1, 1)],
        }
        for i in range(6)
    ]
    source = write_jsonl(tmp_path / "dev.jsonl", rows)  # type: ignore[arg-type]
    built = inline("build", "hagrid", "--source", f"hagrid:{source}", "--out", "h")
    assert built.returncode == 0, built.stderr
    return tmp_path / "h"


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(x) for x in path.read_text().splitlines()[1:]]


def test_gold_is_the_selected_answer_and_scores_well(
    inline: Inline, hagrid: Path, tmp_path: Path
) -> None:
    assert inline("verify", hagrid).returncode == 0
    assert inline("run", "gold", "--benchmark", hagrid, "--out", "g.jsonl").returncode == 0
    assert lines(tmp_path / "g.jsonl")[2]["output"] == "Gold 2 is soft [2]."
    result = inline(
        *("score", "g.jsonl", "--benchmark", hagrid, "--judge", "lexical", "--out", "s.json"),
        *("--measures", "alce,attributed_ir,CiteP"),
    )
    assert result.returncode == 0, result.stderr
    found = {
        m["name"]: m["value"] for m in json.loads((tmp_path / "s.json").read_text())["measures"]
    }
    assert found["ALCE.CitRec"] == found["Overlap.P"] == found["CiteP"] == 100
    assert found["ROUGE-Lsum.F"] == pytest.approx(100)
    assert inline("run", "all-gold", "--benchmark", hagrid, "--out", "all.jsonl").returncode == 0
    assert [row["run"] for row in lines(tmp_path / "all.jsonl")[:2]] == [0, 1]


def test_the_first_passage(inline: Inline, hagrid: Path, tmp_path: Path) -> None:
    inline("run", "top-1", "--benchmark", hagrid, "--out", "t.jsonl")
    text = lines(tmp_path / "t.jsonl")[0]["output"]
    assert text == "Iron 0 is hard [1]. It rusts [1]. It melts [1]."
    inline("run", "top-1-two-sentences", "--benchmark", hagrid, "--out", "u.jsonl")
    assert lines(tmp_path / "u.jsonl")[0]["output"] == "Iron 0 is hard [1]. It rusts [1]."


def test_gold_needs_gold(inline: Inline, package: Path) -> None:
    result = inline("run", "gold", "--benchmark", package, "--out", "g.jsonl")
    assert result.returncode == 2
    assert "nothing for the system 'gold' to answer with" in result.stderr


def test_alce_benchmarks(inline: Inline, tmp_path: Path) -> None:
    items = [
        {
            "id": str(i),
            "question": "Which moon?",
            "qa_pairs": [{"question": "x", "short_answers": [f"Io {i}"]}],
            "annotations": [{"long_answer": f"It is Io {i}."}],
            "docs": [
                {
                    "id": f"{i}-{j}",
                    "title": "T",
                    "text": f"Io {i} shines." if j == 1 else f"No {j}.",
                }
                for j in range(8)
            ],
        }
        for i in range(3)
    ]
    (tmp_path / "asqa.json").write_text(json.dumps(items))
    built = inline("build", "alce", "--source", "alce:asqa.json", "--k", "3", "--out", "a")
    assert built.returncode == 0, built.stderr
    assert inline("verify", "a").returncode == 0
    page = inline("show", "a", "--query", "1").stdout
    assert "[2] relevant (1-1)" in page
    assert "[1] unjudged (1-0)" in page
    rows = [{"query_id": str(i), "output": f"Io {i} shines [2]."} for i in range(3)]
    write_jsonl(tmp_path / "s.jsonl", rows)  # type: ignore[arg-type]
    args = ("--benchmark", "a", "--judge", "lexical", "--out", "s.json")
    result = inline("score", "s.jsonl", *args)
    assert result.returncode == 0, result.stderr
    found = {
        m["name"]: m["value"] for m in json.loads((tmp_path / "s.json").read_text())["measures"]
    }
    assert found["ALCE.StrEM"] == found["ALCE.CitRec"] == 100.0


def test_models_of_ones_own_through_the_command(
    inline: Inline, hagrid: Path, tmp_path: Path
) -> None:
    import torch
    from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel

    from servers.tiny_nli import make_tokenizer

    torch.manual_seed(0)
    bert, gpt = tmp_path / "bert", tmp_path / "gpt2-tiny"
    words = ["Gold", "is", "soft.", "soft", "Iron", "hard.", *map(str, range(9))]
    size = len(make_tokenizer(bert, pair=True, words=words))
    make_tokenizer(gpt, pair=False, words=words)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    BertModel(BertConfig(vocab_size=size, intermediate_size=64, **shape)).save_pretrained(bert)
    GPT2LMHeadModel(
        GPT2Config(vocab_size=size, n_embd=32, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=1)
    ).save_pretrained(gpt)
    inline("run", "gold", "--benchmark", hagrid, "--out", "g.jsonl")
    result = inline(
        *("score", "g.jsonl", "--benchmark", hagrid, "--out", "s.json"),
        *("--measures", "BERTScore.F,BERTScore.F@1gold,MAUVE"),
        *("--bertscore-model", f"{bert}#2", "--mauve-model", gpt),
    )
    assert result.returncode == 0, result.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    assert scores["not_computed"] == []
    found = {m["name"]: m for m in scores["measures"]}
    assert found["BERTScore.F"]["value"] == pytest.approx(100, abs=0.01)
    assert found["BERTScore.F@1gold"]["value"] == pytest.approx(100, abs=0.01)
    assert "|opt:bert/layer2|" in found["BERTScore.F"]["signature"]
    assert found["MAUVE"]["interval"] == "none"
    assert 0 < found["MAUVE"]["value"] <= 100


def test_judge_failures_give_bounds_and_exit_code_3(
    inline: Inline, hagrid: Path, tmp_path: Path
) -> None:
    inline("run", "gold", "--benchmark", hagrid, "--out", "g.jsonl")
    row = {"premise": "Gold 0 is soft.", "hypothesis": "Gold 0 is soft.", "verdict": True}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    args = (
        *("score", "g.jsonl", "--benchmark", hagrid, "--measures", "ALCE.CitRec"),
        *("--judge", "table:t.jsonl", "--out", "s.json"),
    )
    failed = inline(*args)
    assert failed.returncode == 3
    assert "the judge failed on 5 pairs; bounds are given" in failed.stderr
    scores = json.loads((tmp_path / "s.json").read_text())
    assert scores["counts"]["n_judge_failed"] == 5
    (measure,) = scores["measures"]
    # One of six answers is known to be supported; the other five may be.
    assert measure["lower_bound"] == pytest.approx(100 * 1 / 6)
    assert measure["upper_bound"] == 100
    assert inline(*args, "--allow-judge-failures").returncode == 0
