"""Corpora in which form tells what is relevant: matched, levelled, or named by the audit."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.builders.audit_sentences import form_findings
from citeforge.builders.form_audit import EVERYTHING, Shown, compare_features, guess_blindly
from citeforge.builders.rage import hidden_contexts
from citeforge.builders.rage.form import (
    FEATURES,
    LINE_BREAKS,
    TITLES,
    Form,
    Forms,
    Levelling,
    count_differences,
    find_forms,
    find_revealing,
)
from citeforge.builders.surface import SurfacePassage
from citeforge.package.package import Package
from citeforge.publishing.hidden import explain_withheld, split_package
from citeforge.schemas.errors import EXTRAS
from citeforge.schemas.form import FormAudit
from citeforge.schemas.recipes.rage import Mining, Mixture
from citeforge.schemas.tables import CORPUS
from conftest import real_data, refused, write_beir, write_jsonl
from conftest_builders import copy_part

N = 72
ENGLISH = (
    "the river runs through the old town and people often walk along its banks in the evening when",
    "the work of the day is done and there is time for a long talk about what they have seen there",
)
FRENCH = (
    "la rivière traverse la vieille ville et les gens se promènent souvent le long de ses rives le",
    "soir quand le travail de la journée est fini et ils ont le temps de parler de ce qui est vu",
)
Write = Callable[[str, bool], dict[str, object]]
"""(words that a passage has, whether it has the trap's form) to a row of the corpus."""


def titled(words: str, has: bool) -> dict[str, object]:
    return {"title": "A title" if has else "", "text": f"{words} {ENGLISH[0]}"}


def long(words: str, has: bool) -> dict[str, object]:
    return {"title": "", "text": f"{words} {' '.join([*ENGLISH] * (4 if has else 1))}"}


def french(words: str, has: bool) -> dict[str, object]:
    lines = FRENCH if has else ENGLISH
    return {"title": "", "text": f"{words} {' '.join(lines)}"}


def broken(words: str, has: bool) -> dict[str, object]:
    return {"title": "", "text": ("\n" if has else " ").join([words, *ENGLISH])}


TRAPS: dict[str, Write] = {
    "title present": titled, "text length": long, "language": french, "line breaks": broken,
}  # fmt: skip


def write_trap(
    folder: Path, write: Write, share: float, per_theme: int = 6, n_queries: int = N
) -> Path:
    """Write a BEIR folder of queries with two relevant passages each, nine tenths of which have
    a form that only a share of the others has. Queries of a theme are alike in their words."""
    rng = random.Random(7)
    passages: list[dict[str, object]] = []
    queries, qrels = {}, []
    for q in range(n_queries):
        theme = [f"word{q // per_theme}x{k}" for k in range(8)]
        words = rng.sample(theme, 4)
        queries[f"q{q}"] = " ".join(words)
        for i in range(10):
            mine = rng.sample(words, 3) if i < 2 else rng.sample(theme, 3)
            has = rng.random() < (0.9 if i < 2 else share)
            name = f"p{len(passages)}"
            # The number keeps passages apart, the words of the theme come first.
            row = write(f"{' '.join(mine)} number{rng.randrange(10**6)}", has)
            passages.append({"_id": name, **row})
            if i < 2:
                qrels.append((f"q{q}", name, 1))
    write_beir(folder, {}, queries, qrels)
    write_jsonl(folder / "corpus.jsonl", passages)
    return folder


def build(source: Path, out: Path, n_near: int = 30, **more: object) -> Package:
    """Build with hidden labels, from a fixed secret, with so many near passages to choose from."""
    secret = out.with_name(f"{out.name}-secret")
    secret.mkdir()
    (secret / "secret.hex").write_text("5" * 64 + "\n")
    options: dict[str, object] = {
        "candidates": "bm25",
        "hidden": True,
        "mixtures": (Mixture(name="mix", relevant=2, irrelevant=3, seemingly_relevant=3),),
        "mining": Mining(seemingly_relevant=n_near, irrelevant=10),
    }
    recipe = cf.RageRecipe.model_validate({**options, "source": f"beir:{source}", **more})
    cf.build(recipe, out, run=cf.RunOptions(secret_from=secret))
    return Package(out)


def audit_of(package: Package) -> FormAudit:
    return FormAudit.model_validate_json((package.folder / "form.json").read_bytes())


def listed(text: str) -> list[str]:
    """Features that a warning or a card lists."""
    _, sentence = text.split("the form of the passages tells labels: ", 1)
    return sentence.split(". With ")[0].split(", ")


def named(audit: FormAudit) -> set[str]:
    """Features that the audit names."""
    return {test.feature for test in audit.tests if test.tells}


@pytest.mark.slow
@pytest.mark.parametrize("trap", TRAPS)
def test_matching_takes_away_what_the_audit_names_without_it(
    trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_trap(tmp_path / "beir", TRAPS[trap], share=0.3)
    matched = build(source, tmp_path / "matched")
    assert named(audit_of(matched)) == set()
    assert "the form of the passages tells labels" not in capsys.readouterr().err
    monkeypatch.setattr(hidden_contexts, "_choose_forms", lambda *_: Forms())
    careless = build(source, tmp_path / "careless")
    assert trap in named(audit_of(careless))
    assert trap in listed(capsys.readouterr().err)
    assert trap in listed((careless.folder / "README.md").read_text())
    assert matched.hash != careless.hash


@pytest.mark.slow
@pytest.mark.parametrize("trap", TRAPS)
def test_without_the_trap_the_audit_is_silent_whatever_is_chosen(
    trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Relevant passages have the form as often as the others, nine times of ten."""
    monkeypatch.setattr(hidden_contexts, "_choose_forms", lambda *_: Forms())
    source = write_trap(tmp_path / "beir", TRAPS[trap], share=0.9)
    package = build(source, tmp_path / "b")
    assert form_findings(audit_of(package)) == []
    assert "tells labels" not in capsys.readouterr().err
    assert "and no more with any of" in (package.folder / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("trap", ["title present", "line breaks"])
def test_what_cannot_be_matched_is_levelled_and_counted(
    trap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No passage near a query has the form but relevant ones."""
    source = write_trap(tmp_path / "beir", TRAPS[trap], share=0.0, per_theme=1)
    package = build(source, tmp_path / "b", n_near=6)
    what = TITLES if trap == "title present" else LINE_BREAKS
    lines = (source / "corpus.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    number = sum(bool(row["title"]) or "\n" in row["text"] for row in rows)
    name = f"hidden_passages_levelled[{what}]"
    assert package.manifest.counts[name] == number > N  # of 2 N relevant ones
    assert f"all {what} are removed: from {number} passages" in capsys.readouterr().err
    assert not any(
        title or "\n" in text
        for b in package.passages()
        for title, text in zip(b["title"].to_pylist(), b["text"].to_pylist(), strict=True)
    )
    assert named(audit_of(package)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("trap", ["language", "text length"])
def test_what_can_neither_be_matched_nor_levelled_is_named(
    trap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_trap(tmp_path / "beir", TRAPS[trap], share=0.0, per_theme=1)
    package = build(source, tmp_path / "b", n_near=6)
    assert trap in named(audit_of(package))
    assert trap in listed(capsys.readouterr().err)
    assert trap in explain_withheld(package.folder)[0]
    # The figures are outside the hash, in the gold half alone, and the halves still join.
    split_package(package.folder, tmp_path / "public", tmp_path / "gold")
    assert not (tmp_path / "public" / "form.json").exists()
    assert "tells labels" not in (tmp_path / "public" / "README.md").read_text()
    assert (tmp_path / "gold" / "form.json").is_file()
    whole = cf.load(tmp_path / "public", tmp_path / "gold")
    assert whole.hash == package.hash


@pytest.mark.slow
def test_a_field_that_tells_does_not_become_public(tmp_path: Path) -> None:
    def from_two_sources(words: str, has: bool) -> dict[str, object]:
        row = titled(words, False)
        return {**row, "metadata": {"source": "wiki" if has else "web", "page": words}}

    source = write_trap(tmp_path / "beir", from_two_sources, share=0.0, per_theme=1)
    package = build(source, tmp_path / "b", n_near=6)
    assert audit_of(package).telling_fields == {"source"}
    with refused("hidden-gold", cf.UsageError):
        split_package(package.folder, tmp_path / "p", tmp_path / "g", ["source"])
    split_package(package.folder, tmp_path / "p", tmp_path / "g", ["page"])


def shown_passages(rows: list[list[tuple[str, str, bool]]]) -> Shown:
    """(title, text, whether it is relevant) of each passage, by query."""
    flat = [row for of_query in rows for row in of_query]
    return Shown(
        ["a question of words" for _ in rows], np.cumsum([0, *map(len, rows)]),
        [f"{n:04d}" for n in range(len(flat))], np.array([is_relevant for *_, is_relevant in flat]),
        {f"{n:04d}": SurfacePassage(title, text) for n, (title, text, _) in enumerate(flat)},
    )  # fmt: skip


def drawn(telling: bool) -> Shown:
    """30 queries of six passages, two of them relevant; these are titled if titles tell."""
    rng = random.Random(3)

    def passage(is_relevant: bool) -> tuple[str, str, bool]:
        is_titled = is_relevant if telling else rng.random() < 0.5
        words = rng.choices("some words that passages are made of".split(), k=12)
        return "title" * is_titled, " ".join(words), is_relevant

    labels = [True, True, False, False, False, False]
    return shown_passages([[passage(x) for x in rng.sample(labels, 6)] for _ in range(30)])


def test_the_audit_counts_what_is_found() -> None:
    """Two of six, guessed twice: 2 · 2 / 6 of each of 30 queries; the variance of a query is
    2 · 1/3 · 2/3 · 4/5."""
    audit = compare_features("mix", drawn(telling=True))
    assert (audit.queries, audit.passages, audit.relevant) == (30, 180, 60)
    assert audit.chance == 30 * 2 * 2 / 6
    assert guess_blindly(drawn(True))[1] == pytest.approx((30 * 2 / 3 * 2 / 3 * 4 / 5) ** 0.5)
    by_name = {test.feature: test for test in audit.tests if test.attacker != "trees"}
    assert by_name["title present"].alone == by_name["title present"].with_texts == 60
    assert by_name["title present"].tells
    assert not by_name["place"].tells
    assert any("title present" in text for text in form_findings(audit))
    assert not any(EVERYTHING in text for text in form_findings(audit))  # it has a name


@pytest.mark.slow
def test_the_audit_is_silent_where_nothing_tells() -> None:
    audit = compare_features("mix", drawn(telling=False))
    assert form_findings(audit) == []
    assert audit.n_features >= 5


def test_too_few_queries_are_not_audited_and_warning_and_card_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_trap(tmp_path / "beir", titled, share=0.3, n_queries=19)
    package = build(source, tmp_path / "b")
    text = (
        "the form of the passages was not audited: 19 queries show both relevant passages and "
        "others, 20 are needed"
    )
    assert form_findings(audit_of(package)) == [text]
    assert text in capsys.readouterr().err
    assert text in (package.folder / "README.md").read_text()


def test_a_hidden_build_without_the_modules_of_the_audit_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_trap(tmp_path / "beir", titled, share=0.3, n_queries=1)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with refused("missing-extra", cf.MissingExtraError) as caught:
        build(source, tmp_path / "b")
    assert caught.value.extra == EXTRAS["py3langid"][0] == "audit"
    assert not list(tmp_path.glob("b*.partial")) and not (tmp_path / "b").exists()


SHORT, LONG = Form(True, False, "en", (), 10), Form(False, True, "fr", ("web",), 14)


def test_differences_of_forms_are_counted() -> None:
    """Title, breaks, language, source; four bands apart, of which one is none."""
    assert count_differences(SHORT, LONG) == 4 + (4 - 1)
    assert count_differences(SHORT, LONG, frozenset({"length"})) == 4 - 1
    assert count_differences(SHORT, SHORT._replace(band=11)) == 0
    assert count_differences(SHORT, LONG, frozenset({TITLES, "language"})) == 2
    assert SHORT.without([TITLES]) == SHORT._replace(is_titled=False)


def test_candidates_take_turns_by_form() -> None:
    passages = {"a": SHORT, "b": SHORT, "c": LONG, "d": LONG}
    forms = Forms(passages, [[LONG, SHORT], []], frozenset(FEATURES))
    assert forms.order(0, ["a", "b", "c", "d"]) == ["c", "a", "d", "b"]
    assert forms.order(1, ["b", "a"]) == ["b", "a"]
    assert Forms(passages, forms.targets).order(0, ["a", "b", "c", "d"]) == ["a", "b", "c", "d"]
    by_title = Forms(passages, [[LONG, SHORT], []], frozenset({TITLES}))
    assert by_title.count_wanted([3, 5]) == {(False,): 2, (True,): 1}


def test_a_feature_tells_from_three_deviations() -> None:
    """n contexts with one of two relevant and one of two titled: ½ are expected to coincide, with
    a variance of ¼ each; all n do: n/2 above chance, √n deviations."""
    forms = {"r": SHORT, "x": SHORT._replace(is_titled=False)}
    docs = [{"corpus-id": "r", "label": "relevant"}, {"corpus-id": "x", "label": "irrelevant"}]
    assert find_revealing({f"q{i}": docs for i in range(9)}, forms) == set()
    assert find_revealing({f"q{i}": docs for i in range(10)}, forms) == {TITLES}


def test_levelling_removes_and_counts() -> None:
    rows = [
        {"_id": "a", "title": "T", "text": "one \n\n two", "metadata": None},
        {"_id": "b", "title": "", "text": "three", "metadata": "{}"},
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=CORPUS)
    both = Levelling([TITLES, LINE_BREAKS])
    assert both.level(batch).to_pylist() == [
        {**rows[0], "title": "", "text": "one two"}, rows[1]
    ]  # fmt: skip
    assert both.changed == {TITLES: 1, LINE_BREAKS: 1}
    assert Levelling([TITLES]).level(batch).to_pylist() == [{**rows[0], "title": ""}, rows[1]]
    assert find_forms(pa.Table.from_batches([batch]))["a"][:2] == (True, True)


@pytest.mark.slow
def test_titles_of_hagrid_do_not_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its relevant passages have a title less often than the others, and those cannot be matched:
    all titles go."""
    part = copy_part(real_data() / "beir_hagrid", tmp_path / "part", n_queries=150, n_passages=600)
    lines = (part / "corpus.jsonl").read_text().splitlines()
    n_titled = sum(bool(json.loads(line)["title"]) for line in lines)
    package = build(part, tmp_path / "b", split="dev")
    assert f"{TITLES} are removed: from {n_titled} passages" in capsys.readouterr().err
    assert not any("title" in test.feature for test in audit_of(package).tests)  # none is left
