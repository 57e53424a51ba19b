"""Frozen contexts."""

from collections import Counter

import pytest
from pydantic import ValidationError

from citeforge.builders.rage.mixture import Pools, freeze
from citeforge.schemas.recipes.rage import PRESETS, Mixture


def pools(n_queries: int, sizes: dict[str, int]) -> Pools:
    names = [f"q{i}" for i in range(n_queries)]
    return Pools(
        names,
        {
            label: {q: [f"{label[0]}{q}-{i}" for i in range(size)] for q in names}
            for label, size in sizes.items()
        },
    )


FULL = {"relevant": 5, "irrelevant": 10, "seemingly_relevant": 10}


def test_draws_are_uniform_and_shuffled() -> None:
    mixture = Mixture(name="m", relevant=1, irrelevant=3, seemingly_relevant=0)
    contexts, info = freeze(pools(3000, FULL), mixture, seed=0)
    picked: Counter[str] = Counter()
    places: Counter[int] = Counter()
    for docs in contexts.values():
        picked.update(d["corpus-id"].split("-")[1] for d in docs if d["label"] == "irrelevant")
        places[[d["label"] for d in docs].index("relevant")] += 1
    # 3000 * 3 / 10 = 900 each, sd sqrt(3000 * .3 * .7) = 25; 3000 / 4 = 750, sd 24.
    assert all(abs(count - 900) < 125 for count in picked.values())
    assert len(picked) == 10
    assert all(abs(count - 750) < 120 for count in places.values())
    assert info.short == {}


def test_a_query_keeps_its_context_when_others_come_and_go() -> None:
    mixture = Mixture(name="m", relevant=3, irrelevant=3, seemingly_relevant=3)
    many, _ = freeze(pools(20, FULL), mixture, seed=0)
    few, _ = freeze(pools(5, FULL), mixture, seed=0)
    assert list(many.items())[:5] == list(few.items())


def test_other_names_and_seeds_draw_otherwise() -> None:
    mixture = Mixture(name="m", relevant=3, irrelevant=3, seemingly_relevant=3)
    first, _ = freeze(pools(20, FULL), mixture, seed=0)
    assert first != freeze(pools(20, FULL), mixture, seed=1)[0]
    renamed = mixture.model_copy(update={"name": "n"})
    assert first != freeze(pools(20, FULL), renamed, seed=0)[0]


def test_too_few_is_recorded_and_not_filled_up() -> None:
    mixture = Mixture(name="m", relevant=3, irrelevant=4, seemingly_relevant=3)
    scarce = pools(2, {"relevant": 1, "irrelevant": 2, "seemingly_relevant": 3})
    contexts, info = freeze(scarce, mixture, seed=0)
    assert [len(docs) for docs in contexts.values()] == [1 + 2 + 3] * 2
    assert info.short == {"q0": {"irrelevant": 2}, "q1": {"irrelevant": 2}}


def test_presets_of_appendix_b() -> None:
    sizes = {n: tuple(m.sizes.values()) for n, m in PRESETS.items()}
    assert sizes == {
        "paper_mix": (4, 3, 3),
        "paper_irrelevant": (4, 6, 0),
        "paper_seemingly": (4, 0, 6),
    }
    assert Mixture.model_validate("paper_mix") == PRESETS["paper_mix"]


@pytest.mark.parametrize("text", ["mix", "mix=1,2", "a-b=1,1,1", "m=1,1,-1", "=1,1,1", "m=0,0,0"])
def test_wrong_mixtures(text: str) -> None:
    with pytest.raises(ValidationError, match=r"expected NAME=REL,IRR,SEEM|contains no passages"):
        Mixture.model_validate(text)


def test_right_mixture() -> None:
    assert Mixture.model_validate("hard=1,0,9").sizes == {
        "relevant": 1,
        "irrelevant": 0,
        "seemingly_relevant": 9,
    }
