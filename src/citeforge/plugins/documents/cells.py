"""Cells of a design: how many questions of each form each group of users asks."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from citeforge.engines.draws import generator
from citeforge.plugins.documents.design import Design, DesignedUser, Form


@dataclass(frozen=True)
class Cell:
    """A form of questions, and the group of users that asks; None where the design names none."""

    form: Form
    user: DesignedUser | None = None


def apportion(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Split a number by shares into whole numbers that add up to it (largest remainders).

    Args:
        total: number to split.
        shares: name to its share, relative to the others; at least one is above 0.
    """
    whole = sum(shares.values())
    exact = {name: total * share / whole for name, share in shares.items()}
    numbers = {name: int(n) for name, n in exact.items()}
    names = list(shares)
    by_remainder = sorted(names, key=lambda k: (numbers[k] - exact[k], names.index(k)))
    for name in by_remainder[: total - sum(numbers.values())]:
        numbers[name] += 1
    return numbers


def draw_cells(design: Design, total: int, seed: int) -> dict[Cell, int]:
    """Draw the number of questions of each cell.

    The numbers by form and by user are the declared shares, rounded; which user asks which form is
    drawn.

    Args:
        design: forms, and users if it names some.
        total: number of questions.
        seed: seed of the draw.
    """
    forms = {form.name: form for form in design.forms}
    per_form = apportion(total, {form.name: form.share for form in forms.values()})
    asked = [forms[name] for name, n in per_form.items() for _ in range(n)]
    users: list[DesignedUser | None] = [None] * total
    if design.users:
        people = {user.name: user for user in design.users}
        per_user = apportion(total, {user.name: user.share for user in design.users})
        users = [people[name] for name, n in per_user.items() for _ in range(n)]
        generator(seed, "users of questions").shuffle(users)
    return dict(Counter(map(Cell, asked, users)))


def spread_cells(numbers: Mapping[Cell, int]) -> list[Cell]:
    """List each cell as often as its number says, spread evenly over the list.

    So each cell gets its share of the passages where these are fewer than the questions.
    """
    places = [
        ((place + 0.5) / number, at, cell)
        for at, (cell, number) in enumerate(numbers.items())
        for place in range(number)
    ]
    return [cell for _, _, cell in sorted(places, key=lambda one: one[:2])]
