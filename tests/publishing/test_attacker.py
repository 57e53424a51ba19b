"""Attacks on hidden gold: each works on a package that only lost its labels, and does no better
than chance on the public half of one that was built with ``--hidden``.

Sources, seeds and secrets are fixed, so that every figure here is the same in every run.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import attacks
import citeforge as cf
from attacks import (
    Ranking,
    View,
    by_chance,
    guess_numbers,
    hits,
    naive_half,
    probability,
    tried_out,
    view,
)
from citeforge.builders.verify import verify
from citeforge.package import kinds
from citeforge.package.package import Package
from citeforge.package.secret import write_secret
from citeforge.publishing.hidden import join_package, split_package
from citeforge.publishing.hub import Publisher
from citeforge.schemas.manifest import benchmark_hash
from citeforge.schemas.recipes.answers import Retrieving
from citeforge.schemas.recipes.base import Hideable, Recipe
from citeforge.schemas.recipes.rage import Mining, Mixture
from conftest import EXAMPLES, Inline, content, refused
from leaky_sources import N, write_asqa, write_hagrid, write_many, write_rage, write_source
from servers.hub import hub_server

SURE, BLIND = 1e-6, 0.001
"""An attack works when chance would do as well with less than SURE; a figure that chance reaches
with more than BLIND is no better than chance."""
KINDS = ("rage", "alce", "hagrid")
EACH_KIND = pytest.mark.parametrize(
    "kind", ["rage", *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS[1:])]
)
MINING = Mining(seemingly_relevant=5, irrelevant=8)
TWO_SETS = (Mixture(name="a", relevant=3, irrelevant=6, seemingly_relevant=0),
            Mixture(name="b", relevant=3, irrelevant=0, seemingly_relevant=5))  # fmt: skip


def secret_in(folder: Path, number: int) -> Path:
    """A folder with a secret that the test knows."""
    folder.mkdir(parents=True, exist_ok=True)
    write_secret(folder, hashlib.sha256(f"secret {number}".encode()).digest())
    return folder


def made(recipe: Recipe, out: Path, secret: int = 1) -> Path:
    """Build; a hidden one with a secret of its number."""
    is_hidden = isinstance(recipe, Hideable) and recipe.hidden
    there = secret_in(out.with_name(f"secret{secret}"), secret) if is_hidden else None
    cf.build(recipe, out, run=cf.RunOptions(secret_from=there))
    return out


@dataclass
class Target:
    """A benchmark as an attacker sees it, with what is hidden from him.

    Attributes:
        package: whole.
        half: what is public.
        truth: query to the passages that are relevant, or cited by the gold answer.
    """

    package: Path
    half: View
    truth: dict[str, set[str]]

    @staticmethod
    def from_packages(package: Path, public: Path) -> "Target":
        """Of a package and its public half."""
        half, whole = view(public), Package(package)
        items = whole.items(next(iter(half.contexts)))
        cited = whole.kind.name == "hagrid"
        truth = {
            i.query_id: {c for a in i.gold.answers for c in a.citations} if cited
            else {p.id for p in i.passages if p.is_relevant}
            for i in items
        }  # fmt: skip
        return Target(package, half, truth)

    def hits(self, attack: Callable[[View], Ranking]) -> tuple[int, float]:
        """(hits, probability that blind guesses hit as often)."""
        result = hits(attack(self.half), self.truth)
        return result, probability(result, self.half.shown, self.truth)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacker")
    write_source(folder / "beir")
    write_hagrid(folder / "hagrid.jsonl")
    return folder


def recipe_of(kind: str, root: Path, **more: Any) -> Recipe:
    """A recipe whose packages leak in every way that the kind has."""
    source = f"beir:{root / 'beir'}"
    if kind == "rage":
        mixtures = {} if more.get("hidden") else {"mixtures": TWO_SETS}
        return cf.RageRecipe(
            source=source, candidates="bm25", mining=MINING, **{**mixtures, **more}
        )
    if kind == "alce":
        retrieving = Retrieving(depth=8)
        return cf.AlceRecipe(source=source, corpus=source, k=6, retrieving=retrieving, **more)
    return cf.HagridRecipe(source=f"hagrid:{root / 'hagrid.jsonl'}", **more)


Targets = Callable[[str], Target]


@pytest.fixture(scope="module")
def careless(root: Path) -> Targets:
    """Kind to a package that lost its labels and nothing else."""

    @cache
    def target(kind: str) -> Target:
        package = made(recipe_of(kind, root), root / f"plain-{kind}")
        return Target.from_packages(package, naive_half(package, root / f"naive-{kind}"))

    return target


@pytest.fixture(scope="module")
def hidden(root: Path) -> Targets:
    """The same sources, built with ``--hidden`` and published with ``--hide-gold``."""

    @cache
    def target(kind: str) -> Target:
        package = made(recipe_of(kind, root, hidden=True), root / f"hidden-{kind}")
        split_package(package, root / f"public-{kind}", root / f"gold-{kind}")
        assert verify(package) == verify(root / f"public-{kind}") == []
        return Target.from_packages(package, root / f"public-{kind}")

    return target


def source_texts(root: Path) -> list[str]:
    """The public corpus, in its order."""
    lines = (root / "beir" / "corpus.jsonl").read_text().splitlines()
    return [json.loads(line)["text"] for line in lines]


def attacks_of(root: Path) -> Iterator[tuple[str, Callable[[View], Ranking], tuple[str, ...]]]:
    """(name, attack, kinds whose careless packages it opens)."""
    for seed in range(5):
        yield f"seed {seed}", attacks.by_seed(seed), ("rage",) if seed == 0 else ()
    for seed in range(2):
        redraw = attacks.by_redraw(seed, source_texts(root))
        yield f"draws of seed {seed}", redraw, ("rage",) if seed == 0 else ()
    yield "place", attacks.by_place, ("alce", "hagrid")
    yield "id", attacks.by_id, KINDS
    yield "row", attacks.by_row, KINDS
    yield "rank", attacks.by_rank, ("alce",)
    yield "sharing", attacks.by_sharing, ("rage",)
    yield "oracle", attacks.by_oracle, ("alce",)
    yield "answers", attacks.by_answers, ("rage", "alce")
    yield "marks", attacks.by_marks, ("rage", "alce")


def test_chance_is_what_arithmetic_says() -> None:
    """Two of six, guessed twice: 2 · 2 / 6 hits; both right in 1 of C(6, 2) = 15 cases, at least
    one in 1 − C(4, 2) / 15 = 9 / 15."""
    shown, truth = {"q": list("abcdef")}, {"q": {"a", "b"}}
    assert by_chance(shown, truth) == 2 * 2 / 6
    assert probability(2, shown, truth) == pytest.approx(1 / 15)
    assert probability(1, shown, truth) == pytest.approx(9 / 15)
    twice = probability(4, {"q": shown["q"], "r": shown["q"]}, {"q": {"a", "b"}, "r": {"c", "d"}})
    assert twice == pytest.approx(1 / 15 * 1 / 15)


@EACH_KIND
def test_every_attack_opens_a_careless_package(careless: Targets, root: Path, kind: str) -> None:
    for name, attack, opened in attacks_of(root):
        if kind in opened:
            result, by_luck = careless(kind).hits(attack)
            assert by_luck < SURE, (name, result)
    if kind == "rage":
        # 10 queries with 1, 2 and 3 relevant passages each; undone by its seed, all are known.
        assert careless("rage").hits(attacks.by_seed(0))[0] == 10 * 1 + 10 * 2 + 10 * 3


@EACH_KIND
def test_no_attack_beats_chance(hidden: Targets, root: Path, kind: str) -> None:
    target = hidden(kind)
    size = {"rage": 9, "alce": 6, "hagrid": 6}[kind]
    chance = (10 * 1 * 1 + 10 * 2 * 2 + 10 * 3 * 3) / size
    assert by_chance(target.half.shown, target.truth) == pytest.approx(chance)
    for name, attack, _ in attacks_of(root):
        result, by_luck = target.hits(attack)
        assert by_luck > BLIND, (name, result, chance)


@pytest.mark.slow
def test_sizes_tell_how_many_are_relevant_unless_they_are_equal(
    careless: Targets, hidden: Targets
) -> None:
    sizes = {q: len(ids) for q, ids in careless("rage").half.shown.items()}
    assert all(sizes[q] - 6 == len(careless("rage").truth[q]) for q in sizes)
    for kind in KINDS:
        assert len({len(ids) for ids in hidden(kind).half.shown.values()}) == 1


@pytest.mark.slow
def test_two_releases_tell_what_they_share(root: Path, careless: Targets, hidden: Targets) -> None:
    """With another seed or secret they do; with the same secret they are the same."""
    again = made(recipe_of("rage", root, seed=1), root / "plain-again")
    other = view(naive_half(again, root / "naive-again"))
    assert careless("rage").hits(attacks.by_another_release(other))[1] < SURE
    for secret, name in ((1, "same"), (2, "new")):
        package = made(recipe_of("rage", root, hidden=True), root / f"{name}-rage", secret)
        split_package(package, root / f"public-{name}", root / f"gold-{name}")
        attack = attacks.by_another_release(view(root / f"public-{name}"))
        by_luck = hidden("rage").hits(attack)[1]
        assert (by_luck > BLIND) == (name == "same")
    first, same = root / "hidden-rage", root / "same-rage"
    assert Package(first).hash == Package(same).hash != Package(root / "new-rage").hash


def test_a_release_with_other_contexts_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    package = made(recipe_of("rage", root, hidden=True, licence="cc0-1.0"), root / "x" / "b")
    other = made(recipe_of("rage", root, hidden=True, licence="cc0-1.0"), root / "y" / "b", 2)
    for folder in (package, other):
        split_package(folder, folder.with_name("public"), folder.with_name("gold"))
    with hub_server() as hub:
        publisher = Publisher(hub.url, "hf_test")
        with refused("hidden-gold", cf.UsageError):
            publisher.publish(package, "org/b")
        publisher.publish(package.with_name("public"), "org/b")
        with refused("hidden-gold", cf.InputError, path="org/b"):
            publisher.plan(other.with_name("public"), "org/b")
        assert not publisher.plan(package.with_name("public"), "org/b").uploads_and_deletions()


@pytest.mark.slow
def test_twins_of_a_hidden_benchmark(inline: Inline, tmp_path: Path) -> None:
    """From the sources to a score, on the command line; each of the two has a secret of its own."""
    (tmp_path / "beir").symlink_to(EXAMPLES / "facts")
    replay = EXAMPLES / "twins" / "replay.jsonl"
    hide = [("--hidden", "--secret-from", secret_in(tmp_path / f"s{n}", n)) for n in (1, 2)]
    for args in (
        ("llm", "import", "t.db", replay),
        ("build", "rage", "--source", "beir:beir", "--candidates", "bm25", *hide[0], "--out", "r"),
        ("build", "twins", "--benchmark", "r", "--llm", "replay:t.db", *hide[1], "--out", "twins"),
    ):
        assert inline(*args).returncode == 0, args
    split_package(tmp_path / "twins", tmp_path / "public", tmp_path / "gold")
    assert verify(tmp_path / "twins") == verify(tmp_path / "public") == []
    target = Target.from_packages(tmp_path / "twins", tmp_path / "public")
    assert set(target.half.passages) == {i for ids in target.half.shown.values() for i in ids}
    for name, attack, _ in attacks_of(tmp_path):
        assert target.hits(attack)[1] > BLIND, name
    # The same contexts in another order and under other names: the twins' secret is not the base's.
    (base, mine) = (Package(tmp_path / n) for n in ("r", "twins"))
    assert base.context_table("mix") != mine.context_table("mix")
    whole = cf.load(tmp_path / "public", tmp_path / "gold")
    assert content(whole.folder) == content(tmp_path / "twins")
    inline.ok("run", "random", "--benchmark", "public", "--out", "s.jsonl")
    half = ("--benchmark", "public", "--gold", "gold")
    inline.ok("score", "s.jsonl", *half, "--out", "s.json")
    assert json.loads((tmp_path / "s.json").read_text())["gold"] == "withheld"


@EACH_KIND
def test_the_public_half_depends_on_what_is_shown_alone(kind: str, tmp_path: Path) -> None:
    """Other labels, same public half, to the byte, but for the hash of the whole: no size,
    statistic, null or row group of any file can tell one from the other."""
    source = tmp_path / "source"
    mining = Mining(seemingly_relevant=3, irrelevant=9)
    halves: dict[bool, list[dict[str, bytes]]] = {True: [], False: []}
    for number in range(2):
        if kind == "rage":
            labels = ({"q1": ["p0", "p1"], "q2": ["p7"]}, {"q1": ["p5"], "q2": ["p2", "p3", "p8"]})
            write_rage(source, labels[number])
            recipe: Any = cf.RageRecipe(
                source=f"beir:{source}", name="b", candidates="bm25", mining=mining
            )
        elif kind == "alce":
            write_asqa(source, ("1900", "1902")[number])
            recipe = cf.AlceRecipe(source=f"alce:{source}", name="b")
        else:
            write_hagrid(source, number)
            recipe = cf.HagridRecipe(source=f"hagrid:{source}", name="b")
        for is_hidden in halves:
            out = tmp_path / f"{is_hidden}{number}" / "b"
            package = made(recipe.model_copy(update={"hidden": is_hidden}), out)
            half = out.with_name("half")
            if is_hidden:
                split_package(package, half, out.with_name("gold"))
                assert join_package(half, out.with_name("gold"), out.with_name("whole"))
                assert content(out.with_name("whole")) == content(package)
            else:
                naive_half(package, half)
            halves[is_hidden].append(content(half))
    assert [_but_the_hash(half) for half in halves[True]] == 2 * [_but_the_hash(halves[True][0])]
    assert halves[False][0] != halves[False][1]


@pytest.mark.parametrize("most_relevant", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_what_contexts_show_tells_no_more_than_texts_do(tmp_path: Path, most_relevant: int) -> None:
    """700 queries over 2,449 passages, of which 1,399 are relevant to one: blind guesses find
    (234 · 1 + 233 · 2 · 2 + 233 · 3 · 3) / 9 of them. Or 3,150 passages and 2,100 relevant ones:
    two queries of five have more than the three that a context shows."""
    source = write_many(tmp_path / "beir", most_relevant=most_relevant)
    recipe = cf.RageRecipe(source=f"beir:{source}", candidates=f"run:{source / 'run.trec'}")
    plain = made(recipe, tmp_path / "plain")
    package = made(recipe.model_copy(update={"hidden": True}), tmp_path / "hidden")
    split_package(package, tmp_path / "public", tmp_path / "gold")
    assert verify(package) == verify(tmp_path / "public") == []
    naive = Target.from_packages(plain, naive_half(plain, tmp_path / "naive"))
    target = Target.from_packages(package, tmp_path / "public")
    for attacked, is_open in ((naive, True), (target, False)):
        half, truth = attacked.half, attacked.truth
        chance, error = by_chance(half.shown, truth), attacks.standard_error(half.shown, truth)
        best = max(hits(attacks.by_frequency(sign)(half), truth) for sign in (1, -1))
        assert (best > chance + 2 * error) == is_open, (best, chance, error)
        alike = attacks.likeness(half)
        right, usual = guess_numbers(attacks.ranks_shown(half, alike), truth)
        n = len(half.shown) / 2
        bound = n * usual + 2 * (n * usual * (1 - usual)) ** 0.5
        # The gaps between cosines tell the number, too, whatever is shown.
        texts_tell, _ = guess_numbers(attacks.gaps(half, alike), truth)
        assert (right > max(bound, texts_tell)) == is_open, (right, bound, texts_tell)
        alone = hits(attacks.by_likeness(alike)(half), truth)
        assert alone > chance + 2 * error  # the texts themselves, which the task shows
        clues = attacks.clues(half)
        for name in ("frequency",) if is_open else clues:
            both = max(
                hits(attacks.by_likeness(alike, weight, clues[name])(half), truth)
                for weight in (-0.1, -0.03, -0.01, 0.01, 0.03, 0.1)
            )
            tolerance = 0 if name == "frequency" else error  # six weights are tried
            assert (both > alone + tolerance) == is_open, (name, both, alone)
        shown, anywhere = (
            hits(attacks.by_elsewhere(half, alike, is_shown), truth) for is_shown in (True, False)
        )
        assert shown <= anywhere + 2 * error, (shown, anywhere)


def _but_the_hash(half: dict[str, bytes]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """A public half without the hash of the whole, which depends on labels and on the secret."""
    manifest = json.loads(half["manifest.json"])
    assert manifest["config"].pop("joined_hash") != manifest.pop("manifest_sha256")
    return {k: v for k, v in half.items() if k != "manifest.json"}, manifest


def test_a_hash_of_few_labels_is_tried_out(tmp_path: Path) -> None:
    """Two queries with one of nine passages each: 9 · 9 = 81 files of judgements, one of which has
    the sha256 that a manifest states of its source."""
    write_rage(tmp_path / "beir", {"q1": ["p4"], "q2": ["p6"]})
    recipe = cf.RageRecipe(source=f"beir:{tmp_path / 'beir'}", candidates="bm25", mining=MINING)
    qrels = (tmp_path / "beir" / "qrels" / "test.tsv").read_text()
    pairs = itertools.product(range(9), range(9))
    guesses = {f"{a}{b}": qrels.replace("p4", f"p{a}").replace("p6", f"p{b}") for a, b in pairs
               if a != 6}  # fmt: skip
    plain = made(recipe, tmp_path / "plain")
    assert tried_out(view(plain), guesses.items()) == ["46"]
    package = made(recipe.model_copy(update={"hidden": True}), tmp_path / "hidden")
    split_package(package, tmp_path / "public", tmp_path / "gold")
    assert tried_out(view(tmp_path / "public"), guesses.items()) == []
    # The hash of the whole, which scores and the public half name, depends on the secret.
    files = Package(package).manifest.files
    assert Package(tmp_path / "public").manifest.config["joined_hash"] == benchmark_hash(files)
    assert benchmark_hash({**files, "secret.hex": "0" * 64}) != Package(package).hash
    assert (
        benchmark_hash({k: v for k, v in files.items() if k != "secret.hex"})
        != Package(package).hash
    )


@EACH_KIND
def test_what_is_public_speaks_of_public_files_alone(
    hidden: Targets, root: Path, kind: str
) -> None:
    target = hidden(kind)
    public, package = root / f"public-{kind}", target.package
    secret = (package / "secret.hex").read_text().strip()
    files = content(public)
    assert {n.split("/")[0] for n in files} <= {
        "corpus", "queries", "contexts", "README.md", "manifest.json", "stats.json", "eval.yaml",
        "croissant.json",
    }  # fmt: skip
    manifest = json.loads(files["manifest.json"])
    public_hashes = {hashlib.sha256(content).hexdigest() for content in files.values()}
    public_hashes |= {manifest["benchmark_hash"], manifest["manifest_sha256"]}
    public_hashes |= {manifest["config"]["joined_hash"]}
    assert set(re.findall(r"\b[0-9a-f]{64}\b", target.half.texts)) <= public_hashes
    assert not any(secret.encode() in content for content in files.values())
    for field in ("computed", "counts", "models", "short_mappings"):
        assert manifest[field] == {}, field
    assert set(manifest["config"]) == {"hidden_gold", "joined_hash", "contexts", "metadata"}
    assert not any("relevant" in name for name in json.loads(files["stats.json"]))
    assert not any(target.half.queries.values())
    assert not any(metadata for _, _, metadata in target.half.passages.values())
    assert (root / f"gold-{kind}" / "secret.hex").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_judged_passages_that_no_context_shows_stay_hidden(
    careless: Targets, hidden: Targets
) -> None:
    """Of ALCE's eight candidates six are shown; the whole corpus of a RAGE benchmark is public."""
    for targets, alone in ((careless, False), (hidden, True)):
        half = targets("alce").half
        shown = {i for ids in half.contexts[next(iter(half.contexts))].values() for i in ids}
        assert (set(half.passages) == shown) == alone
    assert len(hidden("rage").half.passages) == 8 * N


def test_fields_of_metadata_are_named_to_stay(root: Path, tmp_path: Path) -> None:
    package = made(recipe_of("rage", root, hidden=True), tmp_path / "b")
    split_package(package, tmp_path / "public", tmp_path / "gold", ["answers", "year"])
    half = view(tmp_path / "public")
    assert half.queries["q00"] == '{"answers": ["answer00x0"]}'
    assert not any(metadata for _, _, metadata in half.passages.values())


def test_what_cannot_be_hidden_says_why(root: Path, careless: Targets) -> None:
    with refused("hidden-gold", cf.UsageError) as caught:
        split_package(careless("rage").package, root / "no", root / "no")
    # The command that would have been right.
    assert re.search("citeforge build rage .*--hidden", str(caught.value))
    for name in ("kalma", "authorship", "deflection", "faithfulness", "position"):
        kind = kinds.KINDS.find(name)
        assert kind is not None
        assert kind.facts.explain_refusal("hide-gold")
    with pytest.raises(ValueError, match="--hidden goes with one --mixture"):
        recipe_of("rage", root, hidden=True, mixtures=TWO_SETS)
