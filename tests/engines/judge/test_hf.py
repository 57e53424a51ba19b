"""Real `transformers` code paths on tiny models trained here."""

import json
import random
import shutil
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.architectures import label_indices
from citeforge.engines.judge.hf import HfJudge
from citeforge.engines.judge.profiles import built_in_profiles
from citeforge.engines.judge.records import CLOSE_CALL, JudgeFailure, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from conftest import refused
from servers.nursery import run_judge
from servers.tiny_nli import KEYS, WORDS, cpu_judge, make_pair, train_classifier, train_t5


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learnt next to nothing."""
    return train_t5(tmp_path_factory.mktemp("t5"), steps=12)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learnt nothing."""
    return train_classifier(tmp_path_factory.mktemp("classifier"), steps=0)


@pytest.fixture(scope="module")
def trained_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_t5(tmp_path_factory.mktemp("trained-t5"))


@pytest.fixture(scope="module")
def trained_classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_classifier(tmp_path_factory.mktemp("trained-classifier"))


def pairs(n: int, seed: int = 9, longest: int = 30) -> list[Pair]:
    rng = random.Random(seed)
    return [Pair(*make_pair(rng, rng.randint(2, longest))[:2]) for _ in range(n)]


def profile(folder: Path) -> str | None:
    """A T5 of one's own has no profile that could be known; a classifier names its labels."""
    config = json.loads((folder / "config.json").read_text())
    return "true-t5" if config.get("is_encoder_decoder") else None


def ask(folder: Path, asked: Sequence[Pair], **options: Any) -> list[Any]:
    judge = cpu_judge(folder, **{"profile": profile(folder), **options})
    result = JudgeSession(judge).ask(asked)
    return [result[p] for p in asked]


@pytest.mark.slow
@pytest.mark.numeric
@pytest.mark.parametrize("kind", ["trained_t5", "trained_classifier"])
def test_both_verdicts_are_given_and_mean_something(
    kind: str, request: pytest.FixtureRequest
) -> None:
    rng = random.Random(5)
    rows = [make_pair(rng) for _ in range(200)]
    result = ask(request.getfixturevalue(kind), [Pair(p, h) for p, h, _ in rows])
    right = sum(v.entailed == bool(y) for v, (_, _, y) in zip(result, rows, strict=True))
    assert 20 < sum(v.entailed for v in result) < 180
    assert right > 130


@pytest.mark.slow
@pytest.mark.numeric
def test_one_decoder_step_agrees_with_free_generation(trained_t5: Path) -> None:
    """What ALCE's code does: generate, and look whether "1" was written."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model = AutoModelForSeq2SeqLM.from_pretrained(trained_t5).eval()
    tokenizer = AutoTokenizer.from_pretrained(trained_t5)
    asked = pairs(80)
    written = []
    for pair in asked:
        text = f"premise: {pair.premise} hypothesis: {pair.hypothesis}"
        inputs = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            output = model.generate(**inputs, max_new_tokens=10)
        written.append(tokenizer.decode(output[0], skip_special_tokens=True) == "1")
    assert [v.entailed for v in ask(trained_t5, asked)] == written
    assert 0 < sum(written) < 80


@pytest.mark.numeric
@pytest.mark.parametrize("kind", ["t5", "classifier"])
def test_no_verdict_depends_on_its_batch(kind: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(kind)
    asked = pairs(60)
    together = ask(folder, asked, batch_size=16)
    for other in (ask(folder, asked, batch_size=7), ask(folder, asked[::-1], batch_size=60)[::-1]):
        for a, b in zip(together, other, strict=True):
            assert a.entailed == b.entailed
            assert a.margin == pytest.approx(b.margin, abs=CLOSE_CALL["float32"] / 2)


@pytest.mark.numeric
@pytest.mark.parametrize("kind", ["t5", "classifier"])
def test_close_calls_are_decided_in_float64(
    request: pytest.FixtureRequest, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = request.getfixturevalue(kind)
    judge = cpu_judge(folder, profile(folder))
    plain = JudgeSession(judge).ask(pairs(20))
    monkeypatch.setitem(CLOSE_CALL, "float32", 1e9)  # every call is close
    result = JudgeSession(judge).ask(pairs(20))
    assert judge._finer._model.dtype == "float64"
    for pair, verdict in result.items():
        exact = judge._finer._model.margins(judge._finer._model.encode([pair]))
        assert verdict.margin == pytest.approx(exact[0], abs=1e-10)  # type: ignore[union-attr]
        assert verdict.margin == pytest.approx(plain[pair].margin, abs=1e-4)  # type: ignore[union-attr]


def test_close_calls_without_room_for_float64_are_told_of(
    t5: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = cpu_judge(t5, "true-t5")
    monkeypatch.setitem(CLOSE_CALL, "float32", 1e9)
    monkeypatch.setattr("os.sysconf", lambda name: 1000)
    assert len(JudgeSession(judge).ask(pairs(20))) == 20
    assert "are near its border, and float64" in capsys.readouterr().err


@pytest.mark.numeric
def test_verdicts_of_bfloat16_are_those_of_float32(t5: Path) -> None:
    """A model that hesitates: bfloat16 alone would turn a verdict here and there."""
    asked = list(dict.fromkeys(pairs(600)))
    exact, quantized = ask(t5, asked), ask(t5, asked, dtype="bfloat16")
    assert [v.entailed for v in quantized] == [v.entailed for v in exact]
    assert any(abs(v.margin) < CLOSE_CALL["bfloat16"] for v in exact)


@pytest.mark.slow
@pytest.mark.numeric
def test_near_ties_of_bfloat16_are_asked_again_in_finer_numbers(
    trained_t5: Path, tmp_path: Path
) -> None:
    from transformers import AutoTokenizer, T5ForConditionalGeneration

    timid = T5ForConditionalGeneration.from_pretrained(trained_t5)
    timid.decoder.final_layer_norm.weight.data /= 100  # logits, and so margins, a hundredth
    timid.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(trained_t5).save_pretrained(tmp_path)
    asked = list(dict.fromkeys(pairs(60)))
    exact = ask(tmp_path, asked)
    assert all(abs(v.margin) < CLOSE_CALL["bfloat16"] for v in exact)
    for size in (16, 7):
        quantized = ask(tmp_path, asked, dtype="bfloat16", batch_size=size)
        assert [v.entailed for v in quantized] == [v.entailed for v in exact]
        assert [v.margin for v in quantized] == pytest.approx([v.margin for v in exact], abs=1e-5)
    judges = [cpu_judge(tmp_path, "true-t5", dtype=d) for d in ("bfloat16", "float32")]
    identities = [judge.identity() for judge in judges]
    assert [i["close_calls"] for i in identities] == ["float64"] * 2


@pytest.mark.parametrize("kind", ["t5", "classifier"])
def test_long_premises_are_cut_and_counted(kind: str, request: pytest.FixtureRequest) -> None:
    long = " ".join(WORDS * 20)
    # The key comes first, so that it is still there after the end was cut.
    asked = [
        Pair(f"{KEYS[0]} {long}", f"w1 {KEYS[0]}"),
        Pair("w1 w2", f"w1 {KEYS[0]}"),
        Pair("w1", long),  # here it is the hypothesis that is too long
    ]
    folder = request.getfixturevalue(kind)
    session = JudgeSession(cpu_judge(folder, profile(folder), max_tokens=40))
    result = session.ask(asked)
    assert [result[p].truncated for p in asked] == [True, False, True]  # type: ignore[union-attr]
    assert session.n_truncated == 2


@pytest.mark.numeric
def test_memory_that_runs_out_halves_the_batch(t5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    judge = cpu_judge(t5, "true-t5", batch_size=16)
    asked = pairs(40)
    expected = JudgeSession(cpu_judge(t5, "true-t5")).ask(asked)
    inner = judge._model._run
    seen: list[int] = []

    def run(batch: Sequence[Any]) -> list[float]:
        seen.append(len(batch))
        if len(batch) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        result: list[float] = inner(batch)
        return result

    monkeypatch.setattr(judge._model, "_run", run)
    result = JudgeSession(judge).ask(asked)
    assert {p: v.entailed for p, v in result.items()} == {  # type: ignore[union-attr]
        p: v.entailed  # type: ignore[union-attr]
        for p, v in expected.items()
    }
    assert max(seen) == 16
    assert sum(n for n in seen if n <= 4) == 40


def test_memory_that_never_suffices_is_a_failure(t5: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = cpu_judge(t5, "true-t5")
    asked = pairs(6)
    inner = judge._model._run

    def run(batch: Sequence[Any]) -> list[float]:
        if any(e.ids == judge._model.encode([asked[2]])[0].ids for e in batch):
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        result: list[float] = inner(batch)
        return result

    monkeypatch.setattr(judge._model, "_run", run)
    session = JudgeSession(judge)
    result = session.ask(asked)
    assert isinstance(result[asked[2]], JudgeFailure)
    assert sum(isinstance(v, Verdict) for v in result.values()) == 5
    assert session.n_failed == 1


def test_classifiers_without_an_entailment_label(classifier: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(classifier, tmp_path / "other"))
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "no", "1": "maybe", "2": "yes"}
    config["label2id"] = {"no": 0, "maybe": 1, "yes": 2}
    (folder / "config.json").write_text(json.dumps(config))
    with refused("missing-option", path=folder) as caught:
        ask(folder, pairs(2))
    assert "labels: 0 no, 1 maybe, 2 yes" in str(caught.value)
    assert "{name: mine, architecture: classifier, supported: [0]}" in str(caught.value)
    profile = tmp_path / "yes.yaml"
    profile.write_text("name: yes-no\narchitecture: classifier\nsupported: ['yes']\n")
    named = ask(folder, pairs(20), profile=str(profile))
    assert [v.entailed for v in named] == [v.entailed for v in ask(classifier, pairs(20))]


@pytest.mark.parametrize(
    ("names", "indices"),
    [
        (("contradiction", "neutral", "entailment"), [2]),
        (("ENTAILMENT", "NEUTRAL", "CONTRADICTION"), [0]),
        (("not_entailment", "entailment"), [1]),
        (("entailment", "not_entailment"), [0]),
        (("Not-Entailment", " Entailment "), [1]),
        (("NOT ENTAILED", "ENTAILED"), [1]),
        (("no entailment", "non-entailment"), []),
        (("LABEL_0", "LABEL_1", "LABEL_2"), []),
        (("unentailed", "entailment?"), []),
    ],
)
def test_labels_mean_support_by_their_whole_names(
    names: tuple[str, ...], indices: list[int]
) -> None:
    labels = dict(enumerate(names))
    supported = built_in_profiles()["mnli"].supported
    assert [i for one in supported for i in label_indices(labels, one)] == indices


def test_a_profile_names_a_label_in_any_spelling_or_by_its_number() -> None:
    labels = {0: "LABEL_0", 1: "Not_Supported", 2: "supported"}
    for label, indices in (("label-0", [0]), ("not supported", [1]), (2, [2]), (3, []), ("2", [])):
        assert label_indices(labels, label) == indices


@pytest.mark.numeric
def test_the_threshold_moves_a_classifier(classifier: Path) -> None:
    asked = pairs(60)
    probabilities = sorted(v.margin for v in ask(classifier, asked, threshold=0.0))
    counts = [
        sum(v.entailed for v in ask(classifier, asked, threshold=t))
        for t in (0.0, (probabilities[29] + probabilities[30]) / 2, 1.0)
    ]
    assert counts == [60, 30, 0]


def test_truncated_weights(t5: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(t5, tmp_path / "cut"))
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:200])
    with refused("bad-model", path=folder):
        cpu_judge(folder, "true-t5").identity()


def test_unknown_models(tmp_path: Path) -> None:
    with refused("missing-model", path="nobody/nothing") as caught:
        JudgeSession(HfJudge("nobody/nothing"))
    assert "use --judge lexical" in str(caught.value)
    (tmp_path / "model.safetensors").write_bytes(b"")
    for name in (None, "true-t5"):
        with refused("bad-model", path=tmp_path):
            JudgeSession(cpu_judge(tmp_path, name))


@pytest.mark.slow
def test_killed_judges_lose_nothing_and_ask_nothing_twice(trained_t5: Path, tmp_path: Path) -> None:
    store, asked = tmp_path / "v.db", pairs(400, longest=60)
    total = len(set(asked))

    def count() -> int:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return int(
                connection.execute("SELECT count(*) FROM kept WHERE kind = 'verdict'").fetchone()[0]
            )

    before = 0
    for step in range(14):
        left = 1 + step % 8
        assert run_judge(trained_t5, store, asked, left).returncode == -signal.SIGKILL
        assert count() >= before + left  # batches of four, or what is left of the last ones
        before = count()
    assert before < total
    # What was stored is not asked again, and nothing of it is missing.
    done = run_judge(trained_t5, store, asked, 0)
    assert done.stdout == f"asked {total - before} stored {before}\n", done.stderr
    calm = {p: v.entailed for p, v in zip(asked, ask(trained_t5, asked), strict=True)}
    with VerdictStore(store) as opened:
        session = JudgeSession(cpu_judge(trained_t5, "true-t5", batch_size=4), opened)
        result = session.ask(list(calm))
        assert session.n_asked == 0
    assert {p: v.entailed for p, v in result.items()} == calm  # type: ignore[union-attr]
