"""Builds with ``--hidden``: a secret decides what a seed decides elsewhere, and stays private."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders import build as stages
from citeforge.builders.authorship.twins import build_twins
from citeforge.builders.hiding import _renumber_marks
from citeforge.builders.verify import verify
from citeforge.engines.draws import generator, mix_secret
from citeforge.package.package import Package
from citeforge.schemas.recipes.rage import Mixture
from conftest import EXAMPLES, Inline, refused
from stand_ins import turning_llm

FACTS = f"beir:{EXAMPLES / 'facts'}"


def facts(out: Path, secret_from: Path | None = None, **more: Any) -> Path:
    """The facts with negatives by bm25."""
    recipe = cf.RageRecipe(source=FACTS, candidates="bm25", hidden=True, **more)
    return cf.build(recipe, out, run=cf.RunOptions(secret_from=secret_from)).folder


def tables(folder: Path) -> dict[str, bytes]:
    """Every table, to the byte."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.parquet")}


def test_the_secret_lies_in_one_file_that_its_owner_alone_reads(hidden_package: Path) -> None:
    path = hidden_package / "secret.hex"
    assert path.stat().st_mode & 0o777 == 0o600
    secret = path.read_text().strip()
    assert len(bytes.fromhex(secret)) * 8 == 256
    others = [p for p in hidden_package.rglob("*") if p.is_file() and p != path]
    assert not any(secret.encode() in p.read_bytes() for p in others)
    assert not any(bytes.fromhex(secret) in p.read_bytes() for p in others)
    assert "--hidden" in (hidden_package / "README.md").read_text()
    assert not list(hidden_package.parent.glob("*.partial"))


@pytest.mark.slow
def test_two_builds_differ_and_a_rebuild_does_not(
    package: Path, hidden_package: Path, tmp_path: Path
) -> None:
    other = facts(tmp_path / "other")
    assert Package(other).hash != Package(hidden_package).hash
    assert cf.rebuild(hidden_package, tmp_path / "facts", trust=True).equal
    assert tables(tmp_path / "facts") == tables(hidden_package)
    taken = facts(tmp_path / "taken", hidden_package)
    assert tables(taken) == tables(hidden_package)
    # Under other names and in another order, the passages and judgements are the source's.
    whole, plain = Package(other), Package(package)
    texts = {i: text for i, (_, text) in whole.texts(_ids(whole)).items()}
    wanted = {i: text for i, (_, text) in plain.texts(_ids(plain)).items()}
    assert sorted(texts.values()) == sorted(wanted.values())
    assert _judged(whole, texts) == _judged(plain, wanted)
    assert _ids(whole) == sorted(_ids(whole)) != _ids(plain)


def _ids(package: Package) -> list[str]:
    return [i for batch in package.passages(["_id"]) for i in batch["_id"].to_pylist()]


def _judged(package: Package, texts: dict[str, str]) -> list[tuple[str, str]]:
    rows = package.mappings["relevant"].to_pylist()
    return sorted((r["query-id"], texts[r["corpus-id"]]) for r in rows)


@pytest.mark.slow
def test_a_build_that_was_cut_off_goes_on_with_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(stages, "hide", cut)
        facts(tmp_path / "a")
    begun = tmp_path / "a.partial"
    assert (begun / "secret.hex").stat().st_mode & 0o777 == 0o600
    shutil.copytree(begun, tmp_path / "copy")
    recipe = cf.RageRecipe(source=FACTS, candidates="bm25", hidden=True)
    cf.build(recipe, tmp_path / "a", resume=True)
    facts(tmp_path / "b", tmp_path / "copy")
    assert tables(tmp_path / "a") == tables(tmp_path / "b")
    assert not begun.exists()


def test_draws_with_a_secret_are_not_those_of_the_seed() -> None:
    assert mix_secret(7, None) == 7
    mine = [mix_secret(7, bytes([n]) * 32) for n in range(2)]
    assert mine[0] != mine[1]
    assert mix_secret(8, bytes(32)) != mine[0]
    drawn = {generator(s, "mixture", "mix", "q", "relevant").random() for s in (7, *mine)}
    assert len(drawn) == 3


def test_contexts_are_of_one_size_or_the_build_says_why_not(tmp_path: Path) -> None:
    """One to three relevant passages a query; 9 places are filled with negatives."""
    rows = Package(facts(tmp_path / "a")).context_table("mix")["docs"].to_pylist()
    n_relevant = [sum(d["label"] == "relevant" for d in docs) for docs in rows]
    assert {len(docs) for docs in rows} == {9}
    assert set(n_relevant) == {1, 2, 3}
    n_seeming = [sum(d["label"] == "seemingly_relevant" for d in docs) for docs in rows]
    # 3 + 3 near ones, relevant ones among them, where bm25 finds enough; the others are far.
    assert max(n + m for n, m in zip(n_relevant, n_seeming, strict=True)) == 6
    assert (n_relevant[0], n_seeming[0], len(rows[0]) - n_relevant[0] - n_seeming[0]) == (1, 5, 3)
    large = Mixture(name="large", relevant=3, irrelevant=90, seemingly_relevant=3)
    with refused("too-few") as caught:
        facts(tmp_path / "b", mixtures=(large,))
    assert re.search(r"has \d+ passages, mixture large needs 96", str(caught.value))


def test_marks_of_gold_answers_follow_their_passages(tmp_path: Path) -> None:
    assert (
        _renumber_marks("A [1][3]. B [2] and [7].", {0: 2, 1: 0, 2: 1})
        == "A [3][2]. B [1] and [7]."
    )
    source = f"hagrid:{EXAMPLES / 'answers' / 'hagrid.jsonl'}"
    for hidden in (False, True):
        cf.build(cf.HagridRecipe(source=source, hidden=hidden), tmp_path / f"{hidden}")
    assert verify(tmp_path / "True") == []
    plain, secret = (Package(tmp_path / name) for name in ("False", "True"))
    for before, after in zip(plain.items(), secret.items(), strict=True):
        assert {p.text for p in before.passages} == {p.text for p in after.passages}
        for was, now in zip(before.gold, after.gold, strict=True):
            assert _cited(plain, was.text, before) == _cited(secret, now.text, after)
            places = {p.id: p.text for p in after.passages}
            assert {places[i] for i in now.citations} == _cited(secret, now.text, after)


def _cited(package: Package, text: str | None, item: Any) -> set[str]:
    inside, _, _ = package.grammar.cited(text or "", len(item.passages))
    return {item.passages[i].text for i in inside}


def test_what_does_not_go_together(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    plain = cf.RageRecipe(source=FACTS, candidates="bm25")
    with refused("missing-option"):
        cf.build(plain, out, run=cf.RunOptions(secret_from=package))
    with refused("missing-file", path=package):
        facts(out, package)
    twins = cf.TwinsRecipe(benchmark=package, llm="template", hidden=True)
    writer = turning_llm()
    with refused("wrong-benchmark", cf.UsageError):
        build_twins(twins, cf.RunOptions(out=out), writer)
    assert writer.asked == []
    assert not out.exists()
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "secret.hex").write_text("abc\n")
    with refused("bad-secret", path=damaged / "secret.hex"):
        facts(out, damaged)


def test_on_the_command_line(inline: Inline, hidden_package: Path, tmp_path: Path) -> None:
    args = ("build", "rage", "--source", FACTS, "--candidates", "bm25", "--hidden", "--out")
    inline.ok(*args, "c", "--secret-from", hidden_package)
    assert tables(tmp_path / "c") == tables(hidden_package)
    assert "--secret-from" not in inline.ok(*args, "e", "--secret-from", hidden_package).stderr
    other = ("--mixture", "x=1,1,1", "--secret-from", hidden_package)
    warned = inline.ok(*args, "f", *other).stderr
    assert "has the same secret and other options (mixtures: " in warned
    assert "publish only one" in warned
    result = inline(*args, "d", "--mixture", "x=1,1,1", "--mixture", "y=1,1,1")
    assert result.returncode == 2
    assert "--hidden goes with one --mixture" in result.stderr
