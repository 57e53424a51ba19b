"""Tokens that the embedded LLM writes in a second, against transformers' own `generate`."""

import time
from typing import Any

from benchmarks.measure import machine, measure

PROMPTS, TOKENS = 16, 32


def questions() -> list[str]:
    return [
        f"[1] Bridge {n} opened in {1900 + n}.\n[2] It spans river {n}.\n"
        f"Tell the story of bridge {n} at length, and cite the passages."
        for n in range(PROMPTS)
    ]


def prepare_ours() -> Any:
    from citeforge.engines.llm import smollm
    from citeforge.engines.llm.offline import OfflineLlm
    from citeforge.engines.llm.records import Request

    params = {"temperature": 0.0, "max_tokens": TOKENS}
    smollm.loaded()
    return OfflineLlm(), [Request((("user", q),), params, needs_text=False) for q in questions()]


def run_ours(state: Any) -> int:
    llm, requests = state
    return sum(answer.completion_tokens for answer in llm.complete(requests))


def prepare_peer() -> Any:
    from citeforge.engines.llm import smollm

    return smollm.loaded()


def run_peer(state: Any) -> int:
    """One prompt after another, as their documentation shows it, on torch's own threads."""
    tokenizer, model = state
    total = 0
    for question in questions()[:3]:
        encoded = tokenizer.apply_chat_template(
            [{"role": "user", "content": question}],
            add_generation_prompt=True, return_tensors="pt", return_dict=True,
        )  # fmt: skip
        whole = model.generate(**encoded, max_new_tokens=TOKENS, do_sample=False)
        total += int(whole.shape[1] - encoded["input_ids"].shape[1])
    return total


def run_load(_: Any) -> float:
    start = time.perf_counter()
    prepare_peer()
    return time.perf_counter() - start


def main() -> None:
    """Print tokens per second of both, the ratio, and the time to load."""
    print("##", machine("torch", "transformers"))
    prepare_peer()  # the cache is there
    ours, peer = measure(prepare_ours, run_ours), measure(prepare_peer, run_peer)
    rates = ours.result / ours.seconds, peer.result / peer.seconds
    print(f"{PROMPTS} prompts, {TOKENS} tokens at most, temperature 0, prompts read included")
    print(f"citeforge          {rates[0]:.1f} tokens/s, peak {ours.peak_mb:,.0f} MB")
    print(f"generate, one each {rates[1]:.1f} tokens/s")
    print(f"ratio              {rates[0] / rates[1]:.2f}")
    print(f"load from cache    {measure(str, run_load).result:.1f} s")


if __name__ == "__main__":
    main()
