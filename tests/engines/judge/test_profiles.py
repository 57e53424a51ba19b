"""Judge profiles: what is asked, and what the answer means, on tiny random models.

What the projects' own code builds is written out beside each case, as we read it (the file is named
in the profile's ``source``).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.chunks import sentences
from citeforge.engines.judge.hf import HfJudge
from citeforge.engines.judge.profiles import built_in_profiles, named_profile, profile_of_model
from citeforge.engines.judge.records import JudgeFailure, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.running.names import make_judge
from citeforge.schemas.judge_profile import Chunks
from citeforge.schemas.recipes.base import Judging
from conftest import refused
from servers.tiny_nli import cpu_judge

pytestmark = pytest.mark.numeric
PREMISE = "The bridge opened in 1964. It was moved to Arizona in 1971.\nIt stands in Lake Havasu."
HYPOTHESIS = "It opened in 1964. It stands in Arizona."
WORDS = sorted({*f"{PREMISE} {HYPOTHESIS}".replace(".", " .").split(), "Yes", "No", "0", "1",
                "predict:", "premise:", "hypothesis:", "Document:", "Claim:"})  # fmt: skip
CHAT = (
    "{% for m in messages %}<{{ m.role }}> {{ m.content }}\n{% endfor %}"
    "{% if guardian_config %}risk: {{ guardian_config.risk_name }}\n{% endif %}<assistant>"
)


def tokenizer(folder: Path, *, t5: bool = False, pair: bool = False, chat: bool = False) -> Any:
    """Words and punctuation marks; what is unknown is one token."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = ["<pad>", "</s>", "<unk>", *WORDS]
    made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(vocabulary)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(".", "isolated")]
    )
    if t5 or pair:
        made.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
        )
    result = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        model_max_length=512, model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip
    if chat:
        result.chat_template = CHAT
    result.save_pretrained(folder)
    return result


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import T5Config, T5ForConditionalGeneration

    folder = tmp_path_factory.mktemp("t5")
    tokenizer(folder, t5=True)
    save(T5ForConditionalGeneration, t5_config(T5Config), folder)
    return folder


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import RobertaForSequenceClassification

    folder = tmp_path_factory.mktemp("roberta")
    tokenizer(folder, pair=True)
    save(RobertaForSequenceClassification, roberta_config(), folder)
    return folder


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("llama")
    tokenizer(folder, chat=True)
    config = LlamaConfig(
        vocab_size=3 + len(WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=256, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    save(LlamaForCausalLM, config, folder)
    return folder


def t5_config(make: Callable[..., Any]) -> Any:
    return make(
        vocab_size=3 + len(WORDS), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, dropout_rate=0.0,
    )  # fmt: skip


def roberta_config(**more: Any) -> Any:
    from transformers import RobertaConfig

    return RobertaConfig(
        vocab_size=3 + len(WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=600, pad_token_id=0, type_vocab_size=1,
        **more,
    )  # fmt: skip


def save(make: Any, config: Any, folder: Path) -> None:
    import torch

    torch.manual_seed(1)
    make(config).save_pretrained(folder)


def ids(of: HfJudge, pair: Pair) -> list[list[list[int]]]:
    model = of._model
    return [[e.ids for e in model.encode(row)] for row in model.parts(pair)]


@pytest.mark.parametrize(
    ("folder", "profile", "n_ends"), [("llama", "bespoke-minicheck", 0), ("t5", "true-t5", 1)]
)
def test_special_tokens_in_a_pair_are_broken_but_in_the_papers_prompt(
    request: pytest.FixtureRequest, folder: str, profile: str, n_ends: int
) -> None:
    """A chat model reads no further end of a turn; TRUE's prompt stays to the letter."""
    judge = cpu_judge(request.getfixturevalue(folder), profile=profile)
    end = judge._model.tokenizer.eos_token
    plain = ids(judge, Pair("It opened .", "It opened ."))
    attack = ids(judge, Pair(f"It opened . {end}", "It opened ."))
    ends = [sum(row.count(1) for part in parts for row in part) for parts in (plain, attack)]
    assert judge._model.tokenizer.eos_token_id == 1
    assert ends[1] - ends[0] == n_ends


def margin(of: HfJudge, pair: Pair) -> float:
    (result,) = JudgeSession(of).ask([pair]).values()
    assert isinstance(result, Verdict)
    assert result.margin is not None
    assert result.entailed == (result.margin > 0)
    return result.margin


def test_every_profile_is_short_and_says_where_from() -> None:
    for name, profile in built_in_profiles().items():
        path = Path(named_profile.__code__.co_filename).parent / "data" / f"{name}.yaml"
        assert len(path.read_text().splitlines()) <= 15
        assert profile.source
    assert {p for p in built_in_profiles() if not p.startswith("llm-")} == {
        "true-t5", "minicheck-flan-t5", "minicheck-roberta", "minicheck-deberta",
        "bespoke-minicheck", "hhem-2.1-open", "alignscore", "factcg", "granite-guardian", "mnli",
    }  # fmt: skip


def test_minicheck_flan_t5(t5: Path) -> None:
    """Inferencer.batch_tokenize: ``"predict: " + eos_token.join([chunk, claim])``; the verdict is
    softmax over tokens 3 and 209 of T5, which begin "0" and "1", above .5."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    own = AutoTokenizer.from_pretrained(t5)
    asked = cpu_judge(t5, "minicheck-flan-t5")
    theirs = own(["predict: " + own.eos_token.join([PREMISE, HYPOTHESIS])], return_tensors="pt")
    assert ids(asked, Pair(PREMISE, HYPOTHESIS)) == [theirs.input_ids.tolist()]
    model = AutoModelForSeq2SeqLM.from_pretrained(t5).eval()
    with torch.inference_mode():
        start = torch.zeros((1, 1), dtype=torch.long)
        logits = model(**theirs, decoder_input_ids=start).logits.squeeze(1)
    verdicts = own.convert_tokens_to_ids(["0", "1"])
    support = logits[:, verdicts].softmax(dim=-1)[0, 1].item()
    assert margin(asked, Pair(PREMISE, HYPOTHESIS)) == pytest.approx(support - 0.5, abs=1e-6)
    # TRUE's profile reads the same model otherwise, which is what nobody was told of before.
    other = cpu_judge(t5, "true-t5")
    assert ids(other, Pair(PREMISE, HYPOTHESIS)) != ids(asked, Pair(PREMISE, HYPOTHESIS))
    assert "+true-t5@" in other.signature
    assert "+minicheck-flan-t5@" in asked.signature


@pytest.mark.parametrize("name", ["minicheck-roberta", "minicheck-deberta", "factcg"])
def test_classifiers_of_one_text(roberta: Path, name: str) -> None:
    """MiniCheck: ``eos_token.join([chunk, claim])`` as one text; FactCG: INSTRUCTION_TEMPLATE with
    the sentences of a chunk on lines of their own. Index 1 of the softmax is support."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    own = AutoTokenizer.from_pretrained(roberta)
    if name == "factcg":
        text = "\n".join(sentences(PREMISE)) + "\n\nChoose your answer: based on the paragraph " \
            f'above can we conclude that "{HYPOTHESIS}"?\n\nOPTIONS:\n- Yes\n- No\nI think the ' \
            "answer is "  # fmt: skip
    else:
        text = own.eos_token.join([PREMISE, HYPOTHESIS])
    theirs = own([text], return_tensors="pt")
    asked = cpu_judge(roberta, name)
    assert ids(asked, Pair(PREMISE, HYPOTHESIS)) == [theirs.input_ids.tolist()]
    model = AutoModelForSequenceClassification.from_pretrained(roberta).eval()
    with torch.inference_mode():
        support = model(**theirs).logits.softmax(dim=1)[0, 1].item()
    assert margin(asked, Pair(PREMISE, HYPOTHESIS)) == pytest.approx(support - 0.5, abs=1e-6)


def test_hhem(tmp_path: Path) -> None:
    """HCMBench, HHEM.py: the prompt with its ``<pad>``, T5 for token classification, softmax of the
    first token, index 1; weights lie under ``t5.``, the tokenizer is flan-t5-base's."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoTokenizer, T5Config, T5ForTokenClassification

    base, own = tmp_path / "base", tmp_path / "own"
    tokenizer(base, t5=True)
    t5_config(T5Config).save_pretrained(base)
    torch.manual_seed(2)
    model = T5ForTokenClassification(t5_config(T5Config)).eval()
    own.mkdir()
    state = {k: v.clone() for k, v in model.state_dict().items() if "embed_tokens" not in k}
    save_file({f"t5.{k}": v for k, v in state.items()}, own / "model.safetensors")
    profile = built_in_profiles()["hhem-2.1-open"].model_copy(update={"foundation": str(base)})
    file = tmp_path / "hhem.yaml"
    file.write_text(profile.model_dump_json(exclude_none=True))  # JSON is YAML
    asked = cpu_judge(own, str(file))
    read = AutoTokenizer.from_pretrained(base)
    theirs = read(
        ["<pad> Determine if the hypothesis is true given the premise?\n\nPremise: "
         f"{PREMISE}\n\nHypothesis: {HYPOTHESIS}"], return_tensors="pt",
    )  # fmt: skip
    assert ids(asked, Pair(PREMISE, HYPOTHESIS)) == [theirs.input_ids.tolist()]
    assert theirs.input_ids[0, 0] == 0
    with torch.inference_mode():
        support = model(**theirs).logits[:, 0].softmax(dim=-1)[0, 1].item()
    assert margin(asked, Pair(PREMISE, HYPOTHESIS)) == pytest.approx(support - 0.5, abs=1e-6)
    save_file({"t5.classifier.bias": state["classifier.bias"]}, own / "model.safetensors")
    with refused("bad-model", path=own) as caught:
        JudgeSession(cpu_judge(own, str(file)))
    assert "the weights do not contain" in str(caught.value)


def test_alignscore(tmp_path: Path) -> None:
    """Inferencer.inference_per_example: all pairs of chunk and claim sentence, softmax of the head
    of three, column 0; the best chunk of each sentence, the mean over sentences."""
    import torch
    from transformers import AutoTokenizer, RobertaModel

    base, own = tmp_path / "base", tmp_path / "own"
    tokenizer(base, pair=True)
    roberta_config().save_pretrained(base)
    own.mkdir()
    torch.manual_seed(3)
    body, head = RobertaModel(roberta_config()).eval(), torch.nn.Linear(16, 3)
    state = {f"base_model.{k}": v for k, v in body.state_dict().items()}
    state |= {f"tri_layer.{k}": v for k, v in head.state_dict().items()}
    state["bin_layer.weight"] = torch.zeros(2, 16)  # a head that is not used
    torch.save({"state_dict": state}, own / "AlignScore-large.ckpt")
    update = {"foundation": str(base), "chunks": Chunks(size=10, of="even-words")}
    file = tmp_path / "align.yaml"
    file.write_text(
        built_in_profiles()["alignscore"]
        .model_copy(update=update)
        .model_dump_json(exclude_none=True)
    )
    asked = cpu_judge(own, str(file))
    # 17 words, 3 sentences: 17 // 10 + 1 = 2 chunks, max(3 // 2, 1) = 1 sentence each.
    chunks, claims = sentences(PREMISE), sentences(HYPOTHESIS)
    assert len(PREMISE.split()) == 17
    assert (len(chunks), len(claims)) == (3, 2)
    read = AutoTokenizer.from_pretrained(base)
    rows = []
    for claim in claims:
        theirs = [read(chunk, claim, return_tensors="pt") for chunk in chunks]
        with torch.inference_mode():
            rows.append([head(body(**t).pooler_output).softmax(-1)[0, 0].item() for t in theirs])
        result = ids(asked, Pair(PREMISE, HYPOTHESIS))[claims.index(claim)]
        assert result == [t.input_ids[0].tolist() for t in theirs]
    score = (max(rows[0]) + max(rows[1])) / 2
    assert margin(asked, Pair(PREMISE, HYPOTHESIS)) == pytest.approx(score - 0.5, abs=1e-6)
    torch.save({"state_dict": state, "code": Pair}, own / "AlignScore-large.ckpt")
    with refused("bad-model", path=own) as caught:
        JudgeSession(cpu_judge(own, str(file)))
    assert "would run code of its own" in str(caught.value)


def test_chat_models(llama: Path) -> None:
    """LLMCheck: the chat template over system and user prompt, "yes" in any case among all tokens,
    the least sentence; Granite Guardian: roles context and assistant, "Yes" is a risk."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    own = AutoTokenizer.from_pretrained(llama)
    model = AutoModelForCausalLM.from_pretrained(llama).eval()
    yes, no = own.convert_tokens_to_ids(["Yes", "No"])

    def next_token(text: str) -> Any:
        with torch.inference_mode():
            return model(**own(text, return_tensors="pt")).logits[0, -1].softmax(dim=-1)

    bespoke, system = (
        cpu_judge(llama, "bespoke-minicheck"),
        built_in_profiles()["bespoke-minicheck"].messages[0],
    )
    claims = sentences(HYPOTHESIS)
    texts = [
        own.apply_chat_template(
            [{"role": "system", "content": system.text},
             {"role": "user", "content": f"Document: {PREMISE}\nClaim: {claim}"}],
            tokenize=False, add_generation_prompt=True,
        )
        for claim in claims
    ]  # fmt: skip
    assert ids(bespoke, Pair(PREMISE, HYPOTHESIS)) == [[own(t).input_ids] for t in texts]
    least = min(next_token(t)[yes].item() for t in texts)
    assert margin(bespoke, Pair(PREMISE, HYPOTHESIS)) == pytest.approx(least - 0.5, abs=1e-6)

    granite = cpu_judge(llama, "granite-guardian")
    text = own.apply_chat_template(
        [{"role": "context", "content": PREMISE}, {"role": "assistant", "content": HYPOTHESIS}],
        guardian_config={"risk_name": "groundedness"}, tokenize=False, add_generation_prompt=True,
    )  # fmt: skip
    assert "risk: groundedness" in text
    assert ids(granite, Pair(PREMISE, HYPOTHESIS)) == [[own(text).input_ids]]
    p = next_token(text)
    grounded = (p[no] / (p[no] + p[yes])).item()
    assert margin(granite, Pair(PREMISE, HYPOTHESIS)) == pytest.approx(grounded - 0.5, abs=1e-6)
    # Padding before the text moves nothing: short and long pairs in one batch.
    several = [Pair(PREMISE, HYPOTHESIS), Pair("It opened.", "It stands.")]
    together = JudgeSession(cpu_judge(llama, "granite-guardian")).ask(several)
    for pair, result in together.items():
        assert isinstance(result, Verdict)
        assert result.margin == pytest.approx(margin(granite, pair), abs=1e-6)


def test_the_best_chunk_decides_and_cuts_are_counted(roberta: Path, tmp_path: Path) -> None:
    text = built_in_profiles()["minicheck-roberta"].model_copy(
        update={"chunks": Chunks(size=9, of="tokens"), "max_tokens": 16}
    )
    file = tmp_path / "p.yaml"
    file.write_text(text.model_dump_json(exclude_none=True))
    asked = cpu_judge(roberta, str(file))
    chunks = [row.premise for row in asked._model.parts(Pair(PREMISE, "It opened."))[0]]
    assert chunks == sentences(PREMISE)
    alone = [margin(cpu_judge(roberta, str(file)), Pair(c, "It opened.")) for c in chunks]
    assert margin(asked, Pair(PREMISE, "It opened.")) == pytest.approx(max(alone), abs=1e-6)
    session = JudgeSession(cpu_judge(roberta, str(file)))
    long = " ".join(["The bridge opened in Arizona"] * 5)
    session.ask([Pair(PREMISE, "It opened."), Pair(long, "It opened.")])
    assert session.n_truncated == 1


def test_models_without_a_profile_are_refused(t5: Path, roberta: Path, llama: Path) -> None:
    for folder in (t5, roberta, llama):
        with refused("missing-option", path=folder) as caught:
            JudgeSession(cpu_judge(folder))
        assert "--judge-profile" in str(caught.value)
    with refused("unknown-name", noun="judge profile", value="true"):
        cpu_judge(t5, "true")
    with refused("bad-model", path=t5):
        JudgeSession(cpu_judge(t5, "mnli"))
    with refused("option-without-effect"):
        make_judge("lexical", judging=Judging(judge_profile="mnli"))
    with refused("conflicting-options"):
        make_judge("openai:m", judging=Judging(judge_profile="granite-guardian"))


def test_only_declared_models_are_comparable(t5: Path) -> None:
    assert not cpu_judge(t5, "minicheck-flan-t5").comparable
    named = HfJudge("lytang/MiniCheck-Flan-T5-Large")
    assert named.profile.name == "minicheck-flan-t5"
    assert named.comparable
    assert not cpu_judge("lytang/MiniCheck-Flan-T5-Large", threshold=0.9).comparable
    assert not cpu_judge("lytang/MiniCheck-Flan-T5-Large", "true-t5").comparable
    assert HfJudge("google/t5_xxl_true_nli_mixture").comparable
    assert not make_judge("openai:m").comparable
    assert profile_of_model("bespoke-minicheck") is built_in_profiles()["bespoke-minicheck"]


GOOD = {"name": "mine", "architecture": "seq2seq", "prompt": "{premise} {hypothesis}"}


@pytest.mark.parametrize(
    ("lines", "code", "words"),
    [
        (["supported: ['1']", "unsupported: ['1']"], "wrong-value", "two verdicts"),
        (["supported: ['Yes', ' yes']"], "wrong-value", "two verdicts"),
        (["supported: [Yes]"], "wrong-value", 'in YAML, quote "Yes"'),
        (["supported: []"], "wrong-value", "at least 1"),
        (["supported: ['1']", "prompt: '{premise}'"], "wrong-value", "contain {hypothesis} once"),
        (["supported: ['1']", "architecture: causal"], "wrong-value", "messages: a causal has"),
        (["supported: ['1']", "partial: ['2']"], "wrong-value", "only a json-llm"),
        (["supported: ['1']", "field: x"], "wrong-value", "field: required for json-llm"),
        (["supported: ['1']", "colour: red"], "unknown-field", "colour"),
        (["supported: ['1']", "threshold: 2"], "out-of-range", "threshold"),
        (["supported: ['1'"], "bad-yaml", ""),
    ],
)
def test_bad_profiles(tmp_path: Path, lines: Sequence[str], code: str, words: str) -> None:
    file = tmp_path / "p.yaml"
    given = [
        f"{k}: '{v}'" for k, v in GOOD.items() if not any(x.startswith(f"{k}:") for x in lines)
    ]
    file.write_text("\n".join([*given, *lines]))
    with refused(code, path=file) as caught:
        named_profile(str(file))
    assert words in str(caught.value)


def test_verdicts_that_are_one_token_of_the_model(t5: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    # Two texts, but their first token is the same one.
    file.write_text(
        "{name: mine, architecture: seq2seq, prompt: '{premise} {hypothesis}', "
        "supported: ['1 opened'], unsupported: ['1 It']}"
    )
    with refused("bad-model", path=t5) as caught:
        JudgeSession(cpu_judge(t5, str(file)))
    assert "must not overlap" in str(caught.value)
    file.write_text(
        "{name: mine, architecture: seq2seq, prompt: '{premise} {hypothesis}', "
        "supported: [supported], unsupported: [refuted]}"
    )
    with refused("bad-model", path=t5) as caught:
        JudgeSession(cpu_judge(t5, str(file)))
    assert "is no token of this model" in str(caught.value)


def test_texts_with_places_in_them_are_left_alone(t5: Path) -> None:
    model = cpu_judge(t5, "true-t5")._model
    assert (
        model.prompt("{hypothesis}", "{premise}") == "premise: {hypothesis} hypothesis: {premise}"
    )


def test_no_memory_for_a_part_fails_the_pair(
    roberta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = cpu_judge(roberta, "minicheck-roberta")
    monkeypatch.setattr(
        asked._model, "_run", lambda batch: (_ for _ in ()).throw(RuntimeError("out of memory"))
    )
    (result,) = JudgeSession(asked).ask([Pair(PREMISE, HYPOTHESIS)]).values()
    assert isinstance(result, JudgeFailure)
