"""Specifications of questions: how many of each form and topic each group of users asks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from citeforge.engines.draws import generator
from citeforge.plugins.documents.design import SEED, Design, DesignedUser, Form
from citeforge.plugins.documents.wishes import Wishes


@dataclass(frozen=True)
class QuestionSpec:
    """Form, group of users and topic of questions; None where the design has no users or topics."""

    form: Form
    user: DesignedUser | None = None
    topic: str | None = None

    def merge_wishes(self, design: Design) -> Wishes:
        """Merge wishes on a question (language, length, …): of its form, its users, ``design``.

        Questions that users have already are as they are.
        """
        if self.form.name == SEED:
            return Wishes()
        users = Wishes() if self.user is None else self.user.own_wishes
        return self.form.wishes.join(users).join(design.own_wishes)


@dataclass(frozen=True)
class Topics:
    """Topics of passages; empty if the design has none.

    Attributes:
        shares: name of a topic to its share of the questions.
        of_passage: id of a passage to its topic; passages of no topic are missing.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    of_passage: Mapping[str, str] = field(default_factory=dict)

    def split(self, passage_ids: Iterable[str]) -> dict[str | None, Iterator[str]]:
        """Group passage ids by topic, keeping their order; without topics, all under None.

        Args:
            passage_ids: ids of passages in the order in which questions are written about them.
        """
        if not self.shares:
            return {None: iter(passage_ids)}
        names: dict[str | None, list[str]] = {topic: [] for topic in self.shares}
        for name in passage_ids:
            if (topic := self.of_passage.get(name)) is not None:
                names[topic].append(name)
        return {topic: iter(some) for topic, some in names.items()}


def apportion(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """Split a number into whole numbers in given proportions (largest remainder method).

    Args:
        total: number to split.
        shares: name to its share, relative to the others; at least one is above 0.
    """
    whole = sum(shares.values())
    exact = {name: total * share / whole for name, share in shares.items()}
    numbers = {name: int(n) for name, n in exact.items()}
    by_remainder = sorted(shares, key=lambda name: numbers[name] - exact[name])
    for name in by_remainder[: total - sum(numbers.values())]:
        numbers[name] += 1
    return numbers


def draw_specs(
    design: Design, total: int, seed: int, topics: Mapping[str, float] | None = None
) -> dict[QuestionSpec, int]:
    """Draw the number of questions per specification (form, group of users, topic).

    The numbers by form, user and topic are the declared shares, rounded; which user asks which form
    about which topic is drawn.

    Args:
        design: forms, and users if it names some.
        total: number of questions.
        seed: seed of the draw.
        topics: topic to its share; none for questions about all passages.
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
    subjects: list[str | None] = [None] * total
    if topics:
        subjects = [name for name, n in apportion(total, topics).items() for _ in range(n)]
        generator(seed, "topics of questions").shuffle(subjects)
    return dict(Counter(map(QuestionSpec, asked, users, subjects)))


def draw_passages(
    specs: Iterable[QuestionSpec], ids_by_topic: Mapping[str | None, Iterator[str]]
) -> list[tuple[QuestionSpec, str]]:
    """Draw a passage of its topic for each question specification, while the topic has any.

    Args:
        specs: specifications, each as often as it needs a passage.
        ids_by_topic: topic to the ids of its passages, from which those drawn are taken.
    """
    drawn = ((spec, next(ids_by_topic[spec.topic], None)) for spec in specs)
    return [(spec, name) for spec, name in drawn if name is not None]


def spread_specs(numbers: Mapping[QuestionSpec, int]) -> list[QuestionSpec]:
    """Repeat each question specification as often as its number, evenly interleaved.

    So each specification gets its share of the passages where these are fewer than the questions.
    """
    places = [
        ((place + 0.5) / number, at, spec)
        for at, (spec, number) in enumerate(numbers.items())
        for place in range(number)
    ]
    return [spec for _, _, spec in sorted(places, key=lambda one: one[:2])]
