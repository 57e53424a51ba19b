"""ALCE and AutoAIS over real outputs, against judging one pair at a time in reading order."""

import json
import os
import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import machine, measure

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

JUDGED = "ALCE.CitRec,ALCE.CitPrec,AutoAIS.cit,AutoAIS.psg"
PLAIN = "alce,attributed_ir,retrieval"
MODELS = {
    "BERTScore.P@1gold",
    "BERTScore.R@1gold",
    "BERTScore.F@1gold",
    "BERTScore.P",
    "BERTScore.R",
    "BERTScore.F",
    "MAUVE",
    "QA-EM",
    "QA-F1",
    "QA-Hit",
}


def train(folder: Path, data: Path) -> str:
    """A tiny T5 that knows the words of the data; entailed when the hypothesis holds "was"."""
    from servers.tiny_nli import train_t5

    counts: Counter[str] = Counter()
    for line in (data / "attributed_ir" / "zephyr_RTG_vanilla.jsonl").read_text().splitlines():
        row = json.loads(line)
        counts.update(row["output"].split())
        for passage in row["passages"]:
            counts.update(passage["text"].split())
    words = [w for w, _ in counts.most_common(8000) if w not in ("0", "1")]

    def pair(rng: random.Random) -> tuple[str, str, int]:
        premise, hypothesis = rng.choices(words, k=20), rng.choices(words, k=10)
        entailed = rng.random() < 0.5
        hypothesis = [w for w in hypothesis if w != "was"]
        if entailed:
            hypothesis.insert(rng.randrange(len(hypothesis) + 1), "was")
        return " ".join(premise), " ".join(hypothesis), int(entailed)

    return str(train_t5(folder / "t5", words, pair))


def build(folder: Path, data: Path) -> str:
    from citeforge.builders.alce.frozen import build_hagrid
    from citeforge.schemas.recipes.answers import HagridRecipe
    from citeforge.schemas.recipes.base import RunOptions

    out = folder / "hagrid-gold"
    build_hagrid(
        HagridRecipe(source=f"hagrid:{data / 'hagrid' / 'dev.jsonl'}"), RunOptions(out=out)
    )
    return str(out)


def prepare_ours(model: str, benchmark: str, path: str, store: str, names: str) -> Any:
    from citeforge.engines.judge.hf import HfJudge
    from citeforge.engines.judge.session import JudgeSession, VerdictStore
    from citeforge.engines.text.sentences import SentenceSegmenter
    from citeforge.evaluator.measures.registry import select
    from citeforge.evaluator.score import ScoringSetup, score_context
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.tools import ScoringTools
    from citeforge.schemas.recipes.base import Judging, RunOptions

    judge = None
    if model:
        judge = JudgeSession(
            HfJudge(model, Judging(judge_profile="true-t5"), RunOptions(device="cpu")),
            VerdictStore(Path(store)),
        )
    segmenter = SentenceSegmenter()
    segmenter.split("Loads the pipeline.")
    tools = ScoringTools(judge, segmenter)
    measures = [m for m in select(names.split(",")) if m.name not in MODELS]
    tools = tools.with_options(details=False)
    return score_context, Path(path), ScoringSetup(Benchmark(Path(benchmark)), measures, tools)


def run_ours(state: Any) -> tuple[dict[str, float], int]:
    score, path, setup = state
    result = score(path, setup)
    judge = setup.tools.judge
    asked = judge.n_asked if judge is not None else 0
    return {m.name: m.value for m in result.measures}, asked


def prepare_peer(model: str, benchmark: str, path: str, store: str, names: str) -> Any:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    from citeforge.engines.text.sentences import SentenceSegmenter
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.formats import read_answers
    from citeforge.evaluator.submissions.inputs import ItemCollector
    from citeforge.evaluator.submissions.tools import ScoringTools

    opened = Benchmark(Path(benchmark))
    answers = read_answers(Path(path))
    segmenter = SentenceSegmenter()
    segmenter.split("Loads the pipeline.")
    collector = ItemCollector(opened, "own", opened.grammar, ScoringTools(segmenter=segmenter))
    for _, answer in answers:
        collector.add(opened.row_of[answer.query_id], answer)
    loaded = AutoModelForSeq2SeqLM.from_pretrained(model).eval()
    return loaded, AutoTokenizer.from_pretrained(model), collector.inputs(("answers",))


def run_peer(state: Any) -> tuple[dict[str, float], int]:
    """The same statements and citations; every question is asked when it comes up."""
    import torch

    from citeforge.evaluator.measures.judging import premise_text
    from citeforge.evaluator.statements.strict import read_strict

    model, tokenizer, inputs = state
    rows = [(item, read_strict(item, inputs)) for _, item in inputs.items()]
    asked = 0

    def holds(premise: str, hypothesis: str) -> bool:
        nonlocal asked
        asked += 1
        ids = tokenizer(
            f"premise: {premise} hypothesis: {hypothesis}", return_tensors="pt"
        ).input_ids
        with torch.inference_mode():
            output = model.generate(ids, max_new_tokens=10)
        return bool(tokenizer.decode(output[0], skip_special_tokens=True) == "1")

    sums = dict.fromkeys(JUDGED.split(","), 0.0)
    for item, claims in rows:
        texts = [premise_text(p, strict=True) for p in item.passages]
        recall = right = n_citations = 0
        cited = shown = 0
        for claim in claims:
            together = (
                holds("\n".join(texts[c] for c in claim.cited), claim.text) if claim.cited else 0
            )
            recall += together
            n_citations += len(claim.cited) + claim.wrong
            if together and len(claim.cited) > 1:
                for c in claim.cited:
                    others = "\n".join(texts[x] for x in claim.cited if x != c)
                    right += holds(texts[c], claim.text) or not holds(others, claim.text)
            else:
                right += together * len(claim.cited)
            cited += max((holds(item.passages[c].text, claim.text) for c in claim.cited), default=0)
            shown += max((holds(p.text, claim.text) for p in item.passages), default=0)
        n = len(claims) or 1
        sums["ALCE.CitRec"] += recall / n
        sums["ALCE.CitPrec"] += right / n_citations if n_citations else 0
        sums["AutoAIS.cit"] += cited / n
        sums["AutoAIS.psg"] += shown / n
    return {name: 100 * total / len(rows) for name, total in sums.items()}, asked


def main() -> None:
    """Print the ratio with a judge, and time and memory of everything without a model."""
    folder_name = os.environ.get("CITEFORGE_REAL_DATA")
    if not folder_name:
        sys.exit("set CITEFORGE_REAL_DATA to the folder that holds attributed_ir")
    data = Path(folder_name).resolve()
    path = str(data / "attributed_ir" / "zephyr_RTG_vanilla.jsonl")
    print("##", machine("torch", "transformers", "sacrebleu", "rouge_score", "ir_measures"))
    with TemporaryDirectory() as folder:
        model, benchmark = train(Path(folder), data), build(Path(folder), data)
        args = (model, benchmark, path, str(Path(folder) / "v.db"), JUDGED)
        peer = measure(prepare_peer, run_peer, *args)
        ours = measure(prepare_ours, run_ours, *args)
        again = measure(prepare_ours, run_ours, *args)
        plain = measure(prepare_ours, run_ours, "", benchmark, path, "", PLAIN)
    for name, value in peer.result[0].items():
        print(f"{name:<12} one at a time {value:.4f}, citeforge {ours.result[0][name]:.4f}")
    print(f"one at a time: {peer.seconds:.1f} s, {peer.result[1]:,} questions")
    print(f"citeforge: {ours.seconds:.1f} s, {ours.result[1]:,} questions")
    print(f"ratio     1/{peer.seconds / ours.seconds:.1f} of the time")
    print(f"second run: {again.seconds:.1f} s, {again.result[1]} questions")
    print(
        f"{len(plain.result[0])} measures without a model: {plain.seconds:.1f} s, "
        f"peak {plain.peak_mb:,.0f} MB"
    )


if __name__ == "__main__":
    main()
