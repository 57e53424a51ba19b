"""`calibrate`: a judge's error rates, kept in a package, and scores corrected by them."""

import json
import shutil
from pathlib import Path

import pytest
from scipy import stats

import citeforge as cf
from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.corrections import read_calibration
from citeforge.package.package import Package
from citeforge.plugins.labels.calibration import (
    calibrate,
    write_calibration,
)
from citeforge.plugins.labels.meta_eval import labelled_pairs
from conftest import Inline, refused, write_jsonl

ROCK = "granite rock"


def expertqa(n: int, wrong: int = 1) -> list[dict[str, object]]:
    """Answers of two systems, four claims each. People support the first two; the judge, which
    looks for the words, supports the first and, in every ``wrong``-th answer, the last."""
    rows = []
    for i in range(n):
        claims = [
            {"claim": f"{ROCK} [1].", "support": "Complete", "evidence": [f"[1] {ROCK}"]},
            {"claim": "basalt stone.", "support": "Complete", "evidence": [ROCK]},
            {"claim": "basalt stone.", "support": "Partial", "evidence": [f"{ROCK} {i}"]},
            {"claim": ROCK, "support": "Incomplete", "evidence": [ROCK if i % wrong == 0 else "x"]},
            {"claim": "nobody knows", "support": "N/A", "evidence": [ROCK]},
            {"claim": "nothing is cited", "support": "Missing", "evidence": []},
        ]
        rows.append({"question": f"q{i}", "system": "ab"[i % 2], "answer": "", "claims": claims})
    return rows


def test_rates_by_hand(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "e.jsonl", expertqa(12, wrong=2))
    result = calibrate(labelled_pairs([path]).pairs, JudgeSession(LexicalJudge()))
    # 24 supported, 12 found; 24 not, of which 6 are wrongly called supported: system a's.
    assert (result.n, result.n_answers, result.judge) == (48, 12, "lexical@2")
    assert (result.rates.sensitivity, result.rates.specificity) == (12 / 24, 18 / 24)
    assert result.rates.sensitivity_stderr == 0  # half in every answer
    assert result.accuracy == 30 / 48
    assert result.by_system == {"a": 12 / 24, "b": 18 / 24}
    theirs = stats.chi2_contingency([[12, 12], [18, 6]], correction=False).pvalue
    assert result.drift == pytest.approx(theirs)


def test_a_package_with_a_calibration_corrects(
    tmp_path: Path, package: Path, inline: Inline
) -> None:
    folder = tmp_path / "facts"
    shutil.copytree(package, folder)
    before = Package(folder).hash
    write_jsonl(tmp_path / "e.jsonl", expertqa(60, wrong=4))
    shown = inline.ok("labels", "calibrate", "facts", "--labels", "e.jsonl", "--judge", "lexical")
    assert "sensitivity  0.5000" in shown.stdout
    assert Package(folder).hash == before
    inline.ok("verify", "facts")
    rows = []
    for i, query in enumerate(Package(folder).items("mix")):
        # Every third answer says what its first passage says.
        said = query.passages[0].text.split(". ")[0] if i % 3 == 0 else f"Xylo {i} is so"
        rows.append({"query_id": query.query_id, "output": f"{said.rstrip('.')} [1]."})
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    options = cf.ScoreOptions(judge="lexical", measures=("ALCE.CitRec", "ALCE.CitPrec"))
    file = cf.score_files([path], folder, options).scores[0].file
    recall, precision = file.measures
    assert recall.corrected is not None
    # A third is found supported: (1/3 − 15/120) / (.5 + 105/120 − 1).
    assert recall.value == pytest.approx(100 / 3, abs=0.01)
    assert recall.corrected.value == pytest.approx(100 * (1 / 3 - 0.125) / 0.375, abs=0.01)
    assert recall.corrected.method == "rogan-gladen"
    assert "corr:rogan-gladen,n=60" in recall.corrected.signature
    assert precision.corrected is None
    # The judge is wrong with one system alone.
    assert any("errs more in some systems" in w for w in file.warnings)
    correction, _ = read_calibration(Package(folder), JudgeSession(LexicalJudge()))
    assert correction is not None
    assert correction.rates is not None
    assert correction.rates.specificity == pytest.approx(105 / 120)
    assert read_calibration(Package(package), JudgeSession(LexicalJudge())) == (None, "")
    again = ("labels", "calibrate", "facts", "--labels", "e.jsonl", "--judge", "lexical")
    assert "replaces" not in inline(*again).stderr
    write_jsonl(tmp_path / "e.jsonl", expertqa(60, wrong=1))
    assert "replaces the earlier calibration" in (stderr := inline(*again).stderr)
    assert "sensitivity 0.500, specificity 0.875" in stderr  # as above


def test_labels_that_calibrate_nothing(tmp_path: Path) -> None:
    judge = JudgeSession(LexicalJudge())
    few = labelled_pairs([write_jsonl(tmp_path / "few.jsonl", expertqa(9))]).pairs
    with refused("too-few") as caught:
        calibrate(few, judge)
    assert "9 answers with 36 statements" in str(caught.value)
    rows = expertqa(12)
    text = json.dumps(rows).replace("Partial", "Complete").replace("Incomplete", "Complete")
    alike = labelled_pairs([write_jsonl(tmp_path / "a.jsonl", json.loads(text))]).pairs
    with refused("too-few"):
        calibrate(alike, judge)
    ours = {"system": "a", "query_id": "q", "statement": 0, "label": "full"}
    path = write_jsonl(tmp_path / "ours.jsonl", [ours])
    with refused("missing-option"):
        labelled_pairs([path])
    result = calibrate(
        labelled_pairs([write_jsonl(tmp_path / "e.jsonl", expertqa(12))]).pairs, judge
    )
    with refused("not-a-package"):
        write_calibration(tmp_path, result)
