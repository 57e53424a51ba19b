"""Flaws planted by hand, each found; the estimate, the ratchet, and builds without suspects."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from citeforge.builders.derive import Base
from citeforge.builders.verify import verify
from citeforge.package.manifest import load_intact
from citeforge.plugins.audit.cascade import estimate_share
from citeforge.plugins.audit.questions import CHECK
from citeforge.plugins.audit.run import find_changes, read_accepted
from citeforge.schemas.audit import Audit, Flaw
from conftest import Inline, refused, run_inline, write_beir, write_jsonl

LONG = "The bridge over the river was opened in the year 1937 by the mayor of the old town. "
PASSAGES = {
    "rel": LONG + "It is painted red.",
    "near": LONG + "It is painted blue.",  # nearly the relevant passage
    "other": "A whale is a mammal that lives in the sea and eats krill by the ton every day.",
    "mail": "Write to someone@example.org or call +49 30 1234 5678 for a quote of prices today.",
    "long": "word " * 1001,
    "answer": "Nobody knows when it was opened, some say in 1937, others say much later.",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two equal queries with one relevant passage; all others are negatives."""
    at = tmp_path_factory.mktemp("audit")
    write_beir(at / "x", PASSAGES, {"q1": "When was the bridge opened?",
                                          "q2": "when was  the bridge opened?"},
               [("q1", "rel", 1), ("q2", "rel", 1)])  # fmt: skip
    words = [
        *("build", "rage", "--source", "beir:x", "--embedder", "offline", "--out", "x.r"),
        *("--n-seemingly", "2", "--n-irrelevant", "3", "--licence", "cc0-1.0"),
    ]
    run_inline(words, at, {"HF_HOME": str(at / "hf")}).check_returncode()
    return at


@pytest.fixture
def folder(tmp_path: Path, built: Path) -> Path:
    """The package, for one test; its source lies beside it."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    return tmp_path / "x.r"


def audited(inline: Inline, folder: Path, *more: object) -> Audit:
    inline.ok("audit", folder, *more)
    assert verify(folder) == []  # audit.json and the new card belong to the package
    return Audit.model_validate_json((folder / "audit.json").read_text())


def keys(found: Audit, kind: str) -> set[tuple[str, str]]:
    return {(f.query, f.passage) for f in found.flaws.get(kind, [])}


def test_planted_flaws_are_found(folder: Path, inline: Inline) -> None:
    before = load_intact(folder).benchmark_hash
    result = audited(inline, folder)
    assert keys(result, "near-duplicate") == {("q1", "near"), ("q2", "near")}
    assert keys(result, "long-passage") == {("", "long")}
    assert keys(result, "repeated-query") == {("q1", ""), ("q2", "")}
    assert result.personal_data == {"e-mail addresses": 1, "phone numbers": 1}
    assert result.languages["en"] >= 4
    assert result.checks["answers in negatives"] == "not made: no gold short answers"
    assert result.benchmark_hash == before == load_intact(folder).benchmark_hash
    card = (folder / "README.md").read_text()
    assert "| near-duplicate | 2 |" in card
    assert "not estimated" in card


def test_answers_in_negatives(tmp_path: Path, inline: Inline) -> None:
    rows: list[dict[str, object]] = [
        {
            "question": "When was the bridge opened?",
            "docs": [{"id": n, "title": "", "text": t} for n, t in PASSAGES.items()],
            "answer": "In 1937.",
            "qa_pairs": [{"question": "When?", "short_answers": ["1937"], "context": ""}],
        }
    ]
    (tmp_path / "alce.json").write_text(json.dumps(rows))
    inline.ok("build", "alce", "--source", "alce:alce.json", "--k", "6", "--out", "a",
                 "--licence", "mit")  # fmt: skip
    found = audited(inline, tmp_path / "a")
    # ALCE's carriers of the answer are relevant; it has no mapped negatives to look at.
    assert found.negatives == 0
    assert found.checks["answers in negatives"] == "gold short answers, normalised"


def test_leaks_between_splits(folder: Path, tmp_path: Path, inline: Inline) -> None:
    write_beir(tmp_path / "y", {"z": PASSAGES["rel"].upper(), "o": "Other text."},
               {"other": "WHEN was the bridge opened?", "new": "What else?"},
               [("other", "z", 1), ("new", "o", 1)])  # fmt: skip
    inline.ok(
        *("build", "rage", "--source", "beir:y", "--embedder", "offline", "--out", "y.r"),
        *("--n-seemingly", "0", "--mixture", "m=1,1,0"),
    )
    found = audited(inline, folder, "--against", tmp_path / "y.r")
    assert keys(found, "leaked-query") == {("q1", ""), ("q2", "")}
    assert keys(found, "leaked-passage") == {("", "rel")}


def test_a_judge_and_a_cross_encoder(folder: Path, tmp_path: Path, inline: Inline) -> None:
    from servers.tiny_nli import make_tokenizer

    result = audited(inline, folder, "--judge", "lexical")
    assert result.checks["judge"] == "lexical@2"
    assert "judged-relevant" not in result.flaws  # nothing to entail: no gold answers
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    words = sorted({w for t in PASSAGES.values() for w in t.split()})
    tokenizer = make_tokenizer(tmp_path / "ce", pair=True, words=words)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8, max_position_embeddings=64, num_labels=1, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    BertForSequenceClassification(config).save_pretrained(tmp_path / "ce")
    negatives = sum(len(d) for d in Base(folder).negatives.values())
    for least, expected in ((0.0, negatives), (1.1, 0)):
        result = audited(inline, folder, "--cross-encoder", tmp_path / "ce", "--least-score", least)
        assert len(keys(result, "cross-encoder-relevant")) == expected


def test_the_share_of_false_negatives_from_labels(
    folder: Path, tmp_path: Path, inline: Inline
) -> None:
    inline.ok(
        *("labels", "export", "--task", "audit-negative", "--benchmark", folder),
        *("--sample", "8", "--out", "sample.csv"),
    )
    with (tmp_path / "sample.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    with (tmp_path / "ann.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["item", "label"])
        writer.writeheader()
        for row in rows:
            label = "relevant" if "painted blue" in row["passage"] else "not relevant"
            writer.writerow({"item": row["item"], "label": label})
    inline.ok("labels", "import", "ann.csv", "--key", "sample.csv.key.json", "--out", "l.jsonl")
    found = audited(inline, folder, "--labels", "l.jsonl").false_negatives
    assert found is not None
    hits = sum("painted blue" in r["passage"] for r in rows)
    assert (found.share, found.n) == (hits / 8, 8)
    assert found.low <= found.share <= found.high
    assert "Estimated share of negatives" in (folder / "README.md").read_text()


def test_the_interval_is_exact(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "l.jsonl", [{"label": "not relevant"}] * 10)
    result = estimate_share(path)
    # Clopper and Pearson with no hit of 10: the upper end solves (1 - p)^10 = 0.025.
    assert result.low == 0
    assert result.high == pytest.approx(1 - 0.025 ** (1 / 10))
    none = write_jsonl(tmp_path / "none.jsonl", [{"label": None}])
    with refused("no-labels", path=none):
        estimate_share(none)


def test_the_ratchet(folder: Path, tmp_path: Path, inline: Inline) -> None:
    known = tmp_path / "known.jsonl"
    words = ("audit", folder, "--known-flaws", known)
    inline.ok(*words, "--accept")
    inline.ok(*words, "--strict")
    lines = known.read_text().splitlines()
    known.write_text("\n".join(lines[1:]) + "\n")
    result = inline.fails(1, "new-flaws", *words, "--strict")
    first = json.loads(lines[0])
    assert f"new flaw: {first['kind']}" in result.stderr
    stale = json.dumps({"kind": "empty-passage", "passage": "gone", "why": "was there"})
    known.write_text("\n".join([*lines, stale]) + "\n")
    result = inline.fails(1, "new-flaws", *words, "--strict")
    assert "stale entry: empty-passage gone" in result.stderr
    assert inline("audit", folder, "--strict").returncode == 2
    flaw = Flaw("a", "q", "p", "seen")
    assert find_changes([flaw], []) == ([flaw], [])
    assert find_changes([flaw], [("a", "q", "p")]) == ([], [])
    assert find_changes([flaw], [("a", "q", "p"), ("b", "", "")]) == ([], [("b", "", "")])
    assert read_accepted(known)


@pytest.mark.slow
def test_building_without_suspects(folder: Path, tmp_path: Path, inline: Inline) -> None:
    result = inline.ok(
        *("build", "rage", "--source", "beir:x", "--embedder", "offline", "--out", "clean"),
        *("--n-seemingly", "2", "--n-irrelevant", "3", "--drop-suspects"),
    )
    assert verify(tmp_path / "clean") == []
    manifest = load_intact(tmp_path / "clean")
    assert manifest.counts["suspect_negatives_dropped[near-duplicate]"] == 2
    dropped = sum(
        n for what, n in manifest.counts.items() if what.startswith("suspect_negatives_dropped")
    )
    assert f"\n{dropped} suspect negatives dropped (--drop-suspects)\n" in result.stdout
    shown = {d["corpus-id"] for ds in Base(tmp_path / "clean").negatives.values() for d in ds}
    assert "near" not in shown
    assert "near-duplicate" not in audited(inline, tmp_path / "clean").flaws


def test_an_audit_says_which_checks_were_made(
    package: Path, tmp_path: Path, inline: Inline
) -> None:
    """Without short answers and without another split, two of five checks are not made."""
    package = shutil.copytree(package, tmp_path / "p")
    said = inline("audit", package).stdout
    assert "found    no flaw" not in said  # 84 passages have no hard negatives: that is told
    assert "mined negatives are nearer to random passages" in said
    assert "audited  3 of 5 checks made\n" in said
    assert "not made answers in negatives: no gold short answers\n" in said
    assert "not made leaks: no other split given\n" in said
    assert "3 of 5 checks made:" in (package / "README.md").read_text()
    limits = json.loads((package / "croissant.json").read_text())["rai:dataLimitations"]
    assert "mined negatives are nearer to random passages" in limits


def test_no_flaw_is_said_of_the_checks_that_were_made(
    small_beir: Path, tmp_path: Path, inline: Inline
) -> None:
    words = ("--n-seemingly", "0", "--licence", "mit", "--out", "out")
    inline.ok("build", "rage", "--source", f"beir:{small_beir}", *words)
    said = inline("audit", "out").stdout
    assert "found    no flaw (3 of 5 checks made)\n" in said


def test_questions_of_published_files_are_held_against_their_gold(
    tmp_path: Path, inline: Inline
) -> None:
    ada = {"date_of_birth": "1815-12-10", "father": "Lord Byron", "name": "Ada Byron", "qid": "Q1"}
    lord = {"place of death": "Missolonghi", "occupation": "poet", "name": "Lord Byron",
            "qid": "Q2"}  # fmt: skip
    facts = [["Q1", "father", "Lord Byron"], ["Q1", "date_of_birth", "1815-12-10"],
             ["Q2", "place of death", "Missolonghi"]]  # fmt: skip
    questions = [
        "When was Ada Byron born, and where did her father Lord Byron die?",
        "Who was Ada Byron?",
        "When was Ada Byron born, where did Lord Byron die, and what was his occupation?",
    ]
    for name, rest in (("specific", [ada, lord]), ("gold", facts)):
        (tmp_path / f"{name}.json").write_text(json.dumps([[q, rest] for q in questions]))
    inline.ok(
        *("build", "kalma", "--source", "kalma:specific.json", "--gold", "gold.json"),
        *("--out", "k"),
    )
    found = audited(inline, tmp_path / "k")
    # Of three facts each, the first and the last ask for two: that Lord Byron was the father is
    # gold, and they say it.
    assert found.checks[CHECK].split("; ")[1:] == [
        "gold facts that specific questions ask for: 4 of 9 (44.4 %)",
        "specific questions that ask for what is no gold: 1 of 3 (33.3 %)",
    ]
    assert [(f.query, f.detail) for f in found.flaws["specific-question"]] == [
        ("e0001", "does not ask for its facts: father of Ada Byron"),
        ("e0002", "does not name 'Lord Byron'"),
        ("e0003", "asks for what is no gold: occupation of Lord Byron"),
    ]
    inline.ok("build", "kalma", "--source", "kalma:specific.json", "--out", "bare")
    assert audited(inline, tmp_path / "bare").checks[CHECK].startswith("not made: ")


@pytest.mark.parametrize(("option", "name"), [("--nearest", "nosuch/x"), ("--checker", "opnai:x")])
def test_models_for_questions_about_a_graph_are_refused_elsewhere(
    inline: Inline, folder: Path, option: str, name: str
) -> None:
    stderr = inline.fails(2, "option-without-effect", "audit", folder, option, name).stderr
    assert f"{option}: is for questions about a graph (kalma)" in stderr
    assert not (folder / "audit.json").exists()


@pytest.mark.parametrize("option", ["--judge", "--strong-judge"])
def test_an_unknown_judge_is_named_by_its_option(inline: Inline, folder: Path, option: str) -> None:
    stderr = inline.fails(2, "unknown-name", "audit", folder, option, "opnai:x").stderr
    assert f"{option} 'opnai:x' (did you mean 'openai'?)" in stderr
