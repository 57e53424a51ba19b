"""`--runtime openvino` against torch: verdicts and time, on thousands of real pairs.

No trained classifier is part of the libraries here. So one is made: all-MiniLM-L6-v2's own layers,
read as a cross-encoder, with a head fitted to tell relevant passages of beir_hagrid from others.
`PAIRS` in the environment is how many are judged (default 4,000, of at most 64 tokens).
"""

import json
import os
import random
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import machine, measure

FITTED = 300
TOKENS = 64
Texts = list[tuple[str, str]]


def make_pairs(folder: Path, n: int) -> tuple[Texts, list[int]]:
    """Queries with a relevant passage (1), and with one of another query (0), in turn."""
    rng = random.Random(0)
    rows = [json.loads(x) for x in (folder / "corpus.jsonl").read_text().splitlines()]
    texts = {r["_id"]: r["text"] for r in rows}
    asked = [json.loads(x) for x in (folder / "queries.jsonl").read_text().splitlines()]
    queries = {q["_id"]: q["text"] for q in asked}
    lines = (folder / "qrels" / "dev.tsv").read_text().splitlines()[1:]
    judged = [line.split("\t") for line in lines]
    relevant = [(q, p) for q, p, score in judged if int(score) > 0]
    rng.shuffle(relevant)
    found: dict[tuple[str, str], int] = {}
    for i in range(n * 2):
        query, passage = relevant[(i // 2) % len(relevant)]
        label = int(i % 2 == 0)
        if not label:
            passage = rng.choice(relevant)[1]
        found.setdefault((texts[passage], queries[query]), label)
        if len(found) == n:
            break
    return list(found), list(found.values())


def make_classifier(folder: Path, pairs: Texts, labels: list[int]) -> Path:
    """A BERT classifier of two labels; only its last layer is fitted."""
    import torch
    from transformers import AutoTokenizer, BertForSequenceClassification

    from citeforge.engines.models.embed import EmbedderSettings
    from citeforge.engines.running.names import make_embedder

    located = make_embedder("offline", EmbedderSettings(device="cpu"))._located  # type: ignore[attr-defined]
    tokenizer = AutoTokenizer.from_pretrained(located.folder, model_max_length=TOKENS)
    model = BertForSequenceClassification.from_pretrained(
        located.folder, id2label={0: "not_entailment", 1: "entailment"}
    ).eval()
    with torch.inference_mode():
        rows = []
        for start in range(0, len(pairs), 32):
            left, right = zip(*pairs[start : start + 32], strict=True)
            tokens = tokenizer(left, right, padding=True, truncation=True, return_tensors="pt")
            rows.append(model.bert(**tokens).pooler_output)
    features, wanted = torch.cat(rows).clone(), torch.tensor(labels)
    head = model.classifier
    optimiser = torch.optim.LBFGS(head.parameters(), max_iter=100)

    def loss() -> Any:
        optimiser.zero_grad()
        penalty = 0.01 * head.weight.square().sum()
        found = torch.nn.functional.cross_entropy(head(features), wanted) + penalty
        found.backward()
        return found

    optimiser.step(loss)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def timed(function: Any) -> tuple[Any, float]:
    """Its result, and the processor seconds that it took."""
    start = time.process_time()
    return function(), time.process_time() - start


def prepare_ours(model: str, data: str, n: int, runtime: str) -> Any:
    from citeforge.engines.judge.hf import HfJudge
    from citeforge.engines.judge.records import Pair
    from citeforge.engines.judge.session import JudgeSession
    from citeforge.schemas.recipes.base import Judging, RunOptions

    judging = Judging(max_tokens=TOKENS, runtime=runtime)  # type: ignore[arg-type]
    session = JudgeSession(HfJudge(model, judging, RunOptions(device="cpu")))
    pairs = [Pair(*p) for p in make_pairs(Path(data), n)[0]]
    session.judge.identity()  # loads the model, or converts it
    return session, pairs


def run_ours(state: Any) -> Any:
    session, pairs = state
    found, seconds = timed(lambda: session.ask(pairs))
    return [(found[p].entailed, found[p].margin) for p in pairs], seconds


def prepare_peer(model: str, data: str, n: int) -> Any:
    from sentence_transformers import CrossEncoder

    return CrossEncoder(model, device="cpu"), make_pairs(Path(data), n)[0]


def run_peer(state: Any) -> Any:
    model, pairs = state
    found, seconds = timed(lambda: model.predict(pairs, batch_size=32))
    return found.argmax(axis=1).astype(bool).tolist(), seconds


def main() -> None:
    """Print pairs a second and how many verdicts agree."""
    data = os.environ.get("CITEFORGE_REAL_DATA")
    if not data:
        sys.exit("set CITEFORGE_REAL_DATA to the folder that holds beir_hagrid")
    folder, n = Path(data) / "beir_hagrid", int(os.environ.get("PAIRS", 4000))
    print("##", machine("torch", "sentence-transformers", "transformers", "openvino"))
    print("load", os.getloadavg())
    with TemporaryDirectory() as place:
        pairs, labels = make_pairs(folder, n + FITTED)
        model = str(make_classifier(Path(place), pairs[n:], labels[n:]))
        peer = measure(prepare_peer, run_peer, model, str(folder), n)
        wanted, spent = peer.result
        right = sum(w == bool(y) for w, y in zip(wanted, labels, strict=False)) / n
        print(f"{n:,} distinct pairs; {sum(wanted):,} entailed, {right:.1%} right")
        print(f"CrossEncoder.predict, batch 32: {n / peer.seconds:.1f} pairs/s, "
              f"{n / spent:.1f} a processor second")  # fmt: skip
        for runtime in ("torch", "openvino"):
            ours = measure(prepare_ours, run_ours, model, str(folder), n, runtime)
            found, seconds = ours.result
            same = sum(v == w for (v, _), w in zip(found, wanted, strict=True))
            near = min(abs(margin) for _, margin in found)
            print(
                f"--runtime {runtime}: {n / ours.seconds:.1f} pairs/s "
                f"({peer.seconds / ours.seconds:.2f}×), {n / seconds:.1f} a processor second "
                f"({spent / seconds:.2f}×); {same:,} verdicts of {n:,} equal; "
                f"nearest to the border {near:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
