"""CiteEval-Auto beside our ``reference``, with prompts of our own in both."""

import hashlib
import json
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import MagicMock

import pytest

from citeforge.engines.llm.records import Request
from citeforge.evaluator.measures.values import ByAnswer
from citeforge.plugins.published_measures.citeeval import RatedAnswer, rated
from peers import hard_answers as hard
from peers.frozen import FrozenNumbers, Program
from stand_ins import RuleLlm

PIPELINE = Program(
    "citeeval_auto",
    "amazon-science/CiteEval",
    "get_sentences_and_citations(), the modules ca, ce, cr_itercoe, cr_editdist of CiteEvalRunner "
    "with prompts of ours, and compute_model_sentence_and_response_ratings(); replies by the hash "
    "of a prompt",
    "test_citeeval_peer.py",
)
N_QUESTIONS = 12
NO_ANSWER = "Nothing was said."
ATTRIBUTION = "Where from?\n{x.question}\n{x.passages}\n{x.sentences}\n{{kept}}\n"
RATING = "How good?\n{x.question}\n{x.passages}\n{x.answer}\n{x.citations}\n"
FOLDERS = ("modules", "common_utils", "data", "scripts", "src")


def reply(prompt: str) -> str:
    """Verdicts that a prompt's characters decide; some are missing, or not as asked for."""
    rng = random.Random(hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest())
    numbers = re.findall(r'<(?:sentence|citation) sentence_id="(\d+)"', prompt)
    lines = []
    for number in numbers:
        if rng.random() < 0.1:
            continue
        category = rng.choice(["1", "2", "2", "3", "4", "7", "23", "x"])
        rating = rng.choice(["1", "2", "3", "4", "5", "good"])
        edits = "".join(
            f' <{action} citation="{rng.randint(0, 4)}">'
            f"{action} REASON {rng.randint(1, 3)}</{action}>"
            for action in rng.choices(["DELETE", "ADD"], k=rng.choice([0, 1, 2, 4]))
        )
        lines += [
            f'<category sentence_id="{number}">\n {category} </category>',
            f'<editing sentence_id="{number}">{edits} </editing>',
            f'<rating sentence_id="{number}"> {rating}\n</rating>',
        ]
    return "\n".join(lines)


def run_pipeline(checkout: Path, items: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Ratings over statements and over answers, of all statements and of cited ones."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        hard.install_punkt(Path(folder), patch)
        patch.setitem(sys.modules, "openai", MagicMock())
        for path in (checkout, checkout / "src"):
            patch.syspath_prepend(str(path))
        from data.data_loader import load_response_output  # type: ignore[import-not-found]
        from data.split_response_into_sentences_and_citations import (  # type: ignore[import-not-found]
            get_sentences_and_citations,
        )
        from modules import (  # type: ignore[import-not-found]
            CitationEditor,
            ContextAttributor,
            DistanceBasedCitationRater,
            LightCitationRater,
            citation_editor,
            context_attributor,
        )
        from modules.citeeval_loader import load_citeeval_config  # type: ignore[import-not-found]
        from modules.citeeval_runner import CiteEvalRunner  # type: ignore[import-not-found]
        from scripts import evaluate_system  # type: ignore[import-not-found]

        split = sys.modules["data.split_response_into_sentences_and_citations"]
        model = MagicMock(generate=lambda prompt, **how: reply(prompt) or " ")
        for module in (context_attributor, citation_editor):
            patch.setattr(module, "load_model", lambda *names, **how: model)
        formatted = []
        for number, item in enumerate(items):
            text = item["output"].strip()
            if split.is_no_answer_prediction(text.rpartition("</thinking>")[2].strip()):
                text = NO_ANSWER  # theirs would put their own sentence in its place
            _, sentences = get_sentences_and_citations(text)
            rows = [
                {"id": str(n), "sentence": s, "citations": cited, "concat": joined}
                for n, (s, cited, joined) in enumerate(sentences, 1)
            ]
            formatted.append(
                {"sample_idx": number, "query": item["question"], "passages": item["docs"],
                 "prediction": text, "prediction_sentences_and_citations": rows}
            )  # fmt: skip
        system = Path(folder) / "system.json"
        system.write_text(json.dumps(formatted))
        version = "citeeval-auto-12272024"
        config = load_citeeval_config(version)
        for name, prompt in (("ca", ATTRIBUTION), ("ce", RATING)):
            path = Path(folder) / config["prompt_templates"][name]
            path.write_text(f'final_prompt = """{prompt}"""\n')
        data = load_response_output(file_path=system)
        runner = CiteEvalRunner(data, version, False, 1, "gpt")
        llm = {"model": "gpt", "max_len": 9, "max_request": 1, "template_config_dir": folder}
        files = [Path(folder) / f"{name}.out" for name in ("ca", "ce", "cr", "edits")]
        attributor = ContextAttributor(citeeval_config=config, **llm)
        files[0].write_text(json.dumps(runner.run_citeeval_ca(attributor)[0]))
        editor = CitationEditor(citeeval_config=config, **llm)
        files[1].write_text(json.dumps(runner.run_citeeval_ce(editor)[0]))
        rater = LightCitationRater(config, files[0], files[1], False)
        files[2].write_text(json.dumps(runner.run_citeeval_cr(rater)[0]))
        rater = DistanceBasedCitationRater(config, files[0], files[1], "estimated", False)
        files[3].write_text(json.dumps(runner.run_citeeval_cr(rater)[0]))
        compute = evaluate_system.compute_model_sentence_and_response_ratings
        pairs = {
            f"{name}.{part}": compute(system, file, part == "Cited")[:2]
            for name, file in (("CiteEval", files[2]), ("CiteEval.Edits", files[3]))
            for part in ("Full", "Cited")
        }
        for part in ("Full", "Cited"):
            both = zip(pairs[f"CiteEval.{part}"], pairs[f"CiteEval.Edits.{part}"], strict=True)
            pairs[f"CiteEval.Both.{part}"] = [(a + b) / 2 for a, b in both]
        for name in [n for n in sys.modules if n.partition(".")[0] in FOLDERS]:
            patch.delitem(sys.modules, name)
    return {name: list(values) for name, values in pairs.items()}


KINDS = [kind for kind in hard.KINDS if kind not in ("empty", "spaces", "marks alone")]
"""Of answers without a sentence theirs divides by zero."""


@pytest.mark.parametrize("kind", KINDS)
def test_ratings_over_statements_and_over_answers(
    printed: FrozenNumbers, tmp_path: Path, kind: str
) -> None:
    rows = hard.make_items(kind, N_QUESTIONS, seed=9)
    rows[0] = (rows[0][0], "There is no such information [1]. It is gone.", rows[0][2])
    rows[1] = (rows[1][0], f"<thinking>Hm [2].</thinking> {rows[1][1]}", rows[1][2])
    items = [
        {
            "question": question,
            "output": output,
            "docs": [{"title": p.title, "text": p.text} for p in shown],
        }
        for question, output, shown in rows
    ]
    theirs = printed(PIPELINE, kind, run_pipeline, items)
    wordings = tmp_path / "wordings.yaml"
    texts = {
        "citeeval_attribution": ATTRIBUTION,
        "citeeval_rating": RATING,
        "citeeval_no_answer": NO_ANSWER,
    }
    wordings.write_text(json.dumps(texts))
    inputs = hard.make_inputs(rows, wordings=wordings)
    llm = RuleLlm(answer)
    inputs.tools = replace(inputs.tools, llm=llm)
    ours = hard.totals(inputs, list(theirs))
    results: ByAnswer[RatedAnswer] = rated.results(inputs)
    raters = {"CiteEval": "marks", "CiteEval.Edits": "edits", "CiteEval.Both": "both"}
    own = {
        f"{name}.{part}": [getattr(getattr(r, rater), part.lower()) for r in results.values()]
        for name, rater in raters.items()
        for part in ("Full", "Cited")
    }
    for name, (over_statements, over_answers) in theirs.items():
        assert ours[name] == pytest.approx(over_statements, abs=1e-9)
        values = [value.low for value in own[name] if value is not None]
        assert sum(values) / len(values) == pytest.approx(over_answers, abs=1e-9)


def answer(request: Request) -> str:
    """The reply to a request."""
    ((_, prompt),) = request.messages
    return reply(prompt)
