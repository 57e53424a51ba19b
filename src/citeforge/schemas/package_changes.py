"""Differences between two packages, and the answers that both of them ask for in the same way."""

from collections.abc import Mapping

from citeforge.schemas.record import FrozenRecord


class TableChanges(FrozenRecord):
    """Rows of a table that two packages do not share; queries, for a context set.

    Attributes:
        name: what the rows are, such as ``passages``.
        n_old: rows of the old package.
        n_new: rows of the new package.
        n_same: rows that are the same in both.
        added: names of rows that only the new package has.
        removed: names of rows that only the old package has.
        changed: part that differs, such as ``text``, to the names of the rows; a row of which
            several parts differ is in several lists.
        is_reordered: whether rows of both packages are in another order.
    """

    name: str
    n_old: int
    n_new: int
    n_same: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = {}
    is_reordered: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether both packages have the same rows in the same order."""
        return self.n_old == self.n_new == self.n_same and not self.is_reordered


class StillAnswered(FrozenRecord):
    """Queries of one context set whose answers are to what the new package shows, too.

    Attributes:
        context: context set of the answers.
        n_answered: queries that the submission answers.
        as_shown: those that the new package shows in the same way, byte for byte.
        changed: reason why others are not, to their ids.
    """

    context: str
    n_answered: int
    as_shown: tuple[str, ...]
    changed: Mapping[str, tuple[str, ...]] = {}

    @property
    def share(self) -> float:
        """Share of answered queries that both packages show identically; 0 without answers."""
        return len(self.as_shown) / self.n_answered if self.n_answered else 0.0


class PackageChanges(FrozenRecord):
    """Differences between two packages.

    Attributes:
        old: name of the old package with the beginning of its hash.
        new: name of the new package with the beginning of its hash.
        old_hash: hash of the old package.
        new_hash: hash of the new package.
        tables: changes of passages, queries, judgements, and other tables.
        contexts: changes of what each context set shows for a query.
        settings: ``field: old → new`` of recipes, models and sources.
        system: name of the submission's system; None without a submission.
        answers: answers of the submission that are still to what is shown, by context set.
        kept: files with these answers, as answers to the new package.
    """

    old: str
    new: str
    old_hash: str
    new_hash: str
    tables: tuple[TableChanges, ...]
    contexts: tuple[TableChanges, ...]
    settings: tuple[str, ...] = ()
    system: str | None = None
    answers: tuple[StillAnswered, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether both packages have the same tables and contexts; settings may differ."""
        return all(part.is_equal for part in (*self.tables, *self.contexts))
