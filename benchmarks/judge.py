"""Judging with repeats, against one pair at a time through `generate` in reading order."""

import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import machine, measure

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

PAIRS = 5000
REPEATED = 0.6


def make_pairs() -> list[tuple[str, str]]:
    """Premises of about 20 to 300 words, hypotheses of 5 to 40; 60 % of the pairs are repeats."""
    from servers.tiny_nli import KEYS, WORDS

    rng = random.Random(0)
    fresh = [
        (
            " ".join(rng.choices(WORDS + KEYS, k=int(rng.lognormvariate(4.5, 0.5)) + 5)),
            " ".join(rng.choices(WORDS + KEYS, k=rng.randint(5, 40))),
        )
        for _ in range(int(PAIRS * (1 - REPEATED)))
    ]
    pairs = [*fresh, *rng.choices(fresh, k=PAIRS - len(fresh))]
    rng.shuffle(pairs)
    return pairs


def prepare_ours(model: str, store: str) -> Any:
    from citeforge.engines.judge.hf import HfJudge
    from citeforge.engines.judge.records import Pair
    from citeforge.engines.judge.session import JudgeSession, VerdictStore
    from citeforge.schemas.recipes.base import Judging, RunOptions

    session = JudgeSession(
        HfJudge(model, Judging(judge_profile="true-t5"), RunOptions(device="cpu")),
        VerdictStore(Path(store)),
    )
    return session, [Pair(*p) for p in make_pairs()]


def run_ours(state: Any) -> tuple[list[bool], int]:
    session, pairs = state
    found = session.ask(pairs)
    return [found[p].entailed for p in pairs], session.n_asked


def prepare_peer(model: str, store: str) -> Any:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    loaded = AutoModelForSeq2SeqLM.from_pretrained(model).eval()
    return loaded, AutoTokenizer.from_pretrained(model), make_pairs()


def run_peer(state: Any) -> list[bool]:
    import torch

    model, tokenizer, pairs = state
    found = []
    for premise, hypothesis in pairs:
        text = f"premise: {premise} hypothesis: {hypothesis}"
        ids = tokenizer(text, return_tensors="pt").input_ids
        with torch.inference_mode():
            output = model.generate(ids, max_new_tokens=10)
        found.append(tokenizer.decode(output[0], skip_special_tokens=True) == "1")
    return found


def main() -> None:
    """Print the ratio, the agreement, and what a second run asks."""
    from servers.tiny_nli import train_t5

    print("##", machine("torch", "transformers"))
    with TemporaryDirectory() as folder:
        model = str(train_t5(Path(folder) / "t5"))
        store = str(Path(folder) / "v.db")
        peer = measure(prepare_peer, run_peer, model, store)
        ours = measure(prepare_ours, run_ours, model, store)
        again = measure(prepare_ours, run_ours, model, store)
    verdicts, asked = ours.result
    same = sum(a == b for a, b in zip(verdicts, peer.result, strict=True)) / PAIRS
    print(f"{PAIRS:,} pairs, {REPEATED:.0%} repeats, 2-layer T5; {sum(verdicts):,} entailed")
    print(f"one at a time, generate: {peer.seconds:.1f} s")
    print(f"citeforge: {ours.seconds:.1f} s, {asked:,} pairs asked; same verdicts {same:.2%}")
    print(f"ratio     {peer.seconds / ours.seconds:.1f}×")
    print(f"second run: {again.seconds:.2f} s, {again.result[1]} pairs asked")


if __name__ == "__main__":
    main()
