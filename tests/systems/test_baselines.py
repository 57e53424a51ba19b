"""Copying systems on hand-made HAGRID and ALCE benchmarks."""

import json
import re
from pathlib import Path

import pytest

import citeforge as cf
from conftest import Inline, refused, write_jsonl


@pytest.fixture(scope="module")
def hagrid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def answer(text: str, attributable: int, informative: int) -> dict[str, object]:
        return {
            "answer": text,
            "answer_type": "long",
            "informative": informative,
            "attributable": attributable,
            "sentences": [],
        }

    folder = tmp_path_factory.mktemp("hagrid")
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
    source = write_jsonl(folder / "dev.jsonl", rows)  # type: ignore[arg-type]
    return cf.build(cf.HagridRecipe(source=f"hagrid:{source}"), folder / "h").folder


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(x) for x in path.read_text().splitlines()[1:]]


def test_gold_is_the_selected_answer_and_scores_well(hagrid: Path, tmp_path: Path) -> None:
    cf.run("gold", hagrid, tmp_path / "g.jsonl")
    assert lines(tmp_path / "g.jsonl")[2]["output"] == "Gold 2 is soft [2]."
    names = ["alce", "attributed_ir", "CiteP"]
    found = cf.score(tmp_path / "g.jsonl", hagrid, names, judge="lexical")
    values = [found[name].value for name in ("ALCE.CitRec", "Overlap.P", "CiteP", "ROUGE-Lsum.F")]
    assert values == pytest.approx([100] * 4)
    cf.run("all-gold", hagrid, tmp_path / "all.jsonl")
    assert [row["run"] for row in lines(tmp_path / "all.jsonl")[:2]] == [0, 1]


def test_the_first_passage(hagrid: Path, tmp_path: Path) -> None:
    for system, text in (
        ("top-1", "Iron 0 is hard [1]. It rusts [1]. It melts [1]."),
        ("top-1-two-sentences", "Iron 0 is hard [1]. It rusts [1]."),
    ):
        cf.run(system, hagrid, tmp_path / "t.jsonl")
        assert lines(tmp_path / "t.jsonl")[0]["output"] == text


def test_gold_needs_gold(package: Path, tmp_path: Path) -> None:
    with refused("no-answers", cf.UsageError) as caught:
        cf.run("gold", package, tmp_path / "g.jsonl")
    assert "has nothing for the system 'gold' to answer with" in str(caught.value)


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
    recipe = cf.AlceRecipe(source=f"alce:{tmp_path / 'asqa.json'}", k=3)
    benchmark = cf.build(recipe, tmp_path / "a")
    page = inline("show", "a", "--query", "1").stdout
    assert "[2] relevant (1-1)" in page
    assert "[1] unjudged (1-0)" in page
    rows = [{"query_id": str(i), "output": f"Io {i} shines [2]."} for i in range(3)]
    found = cf.score(rows, benchmark, judge="lexical")
    assert found["ALCE.StrEM"].value == found["ALCE.CitRec"].value == 100.0


@pytest.mark.slow
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
    cf.run("gold", hagrid, tmp_path / "g.jsonl")
    inline.ok(
        *("score", "g.jsonl", "--benchmark", hagrid, "--out", "s.json"),
        *("--measures", "BERTScore.F,BERTScore.F@1gold,MAUVE"),
        *("--bertscore-model", f"{bert}#2", "--mauve-model", gpt),
    )
    found = cf.read_scores(tmp_path / "s.json")
    assert found.not_computed == []
    assert found["BERTScore.F"].value == pytest.approx(100, abs=0.01)
    assert found["BERTScore.F@1gold"].value == pytest.approx(100, abs=0.01)
    assert re.search(r"\|opt:bert@[0-9a-f]{12}/layer2\|", found["BERTScore.F"].signature)
    assert found["MAUVE"].interval == "none"
    assert 0 < (found["MAUVE"].value or 0) <= 100


def test_judge_failures_give_bounds_and_exit_code_3(
    inline: Inline, hagrid: Path, tmp_path: Path
) -> None:
    cf.run("gold", hagrid, tmp_path / "g.jsonl")
    row = {"premise": "Gold 0 is soft.", "hypothesis": "Gold 0 is soft.", "verdict": True}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n")
    args = (
        *("score", "g.jsonl", "--benchmark", hagrid, "--measures", "ALCE.CitRec"),
        *("--judge", "table:t.jsonl", "--out", "s.json"),
    )
    failed = inline(*args)
    assert failed.returncode == 3
    assert "the judge failed on 5 pairs; bounds are given" in failed.stderr
    scores = cf.read_scores(tmp_path / "s.json")
    assert scores.counts.n_judge_failed == 5
    # One of six answers is known to be supported; the other five may be.
    assert scores["ALCE.CitRec"].lower_bound == pytest.approx(100 * 1 / 6)
    assert scores["ALCE.CitRec"].upper_bound == 100
    inline.ok(*args, "--allow-judge-failures")
