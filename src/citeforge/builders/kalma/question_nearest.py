"""Nearest wordings of clauses in words that no rule knows, by the cosines of an embedder."""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from citeforge.builders.kalma.question_clauses import AskedClause
from citeforge.builders.kalma.question_words import DECISIVE, QuestionWords
from citeforge.builders.kalma.words import fold
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.retrieval.records import Retriever
from citeforge.engines.retrieval.settings import RetrieverSettings, make_dense
from citeforge.engines.running.names import EMBEDDERS, OFFLINE
from citeforge.engines.running.setup import is_served
from citeforge.engines.tables import table_of, write_table
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.kalma import AUTO, NONE
from citeforge.schemas.tables import CORPUS

LEAST_COSINE = 0.9
"""Smallest cosine at which a clause asks what its nearest wording asks."""
_ENTITY = "X"


def resolve_embedder(name: str) -> str | None:
    """Resolve ``--nearest`` to the name of an embedder; None for none."""
    if name == AUTO:
        needed = EMBEDDERS.get(OFFLINE).needs
        return OFFLINE if find_spec(needed) is not None else None
    return None if name == NONE else name


def find_embedder_of(config: Mapping[str, Any], wanted: str = AUTO) -> tuple[str | None, str]:
    """Choose an embedder (``wanted`` or recorded) to check questions: (name or None, recorded).

    Args:
        config: of its manifest.
        wanted: name of an embedder; ``auto`` for the one that the manifest records, if it need
            not be downloaded, ``none`` for no comparison.

    Returns:
        (its name; None for no comparison; the recorded name, empty where none read them).

    Raises:
        UsageError: a served embedder is wanted.
    """
    recorded = config.get("nearest", NONE)
    recorded = "" if recorded in (AUTO, NONE) else recorded
    if wanted != AUTO:
        if is_served(wanted):
            raise UsageError(
                f"--nearest {wanted}: questions are compared again by embedders that run here",
                code="conflicting-options",
            )
        return resolve_embedder(wanted), recorded
    # A name in somebody else's manifest is no reason to download a model.
    return resolve_embedder(AUTO) if recorded == OFFLINE else None, recorded


class NearestWordings:
    """Wordings of relations as vectors, and the clauses that were compared with them.

    Attributes:
        embedder: makes the vectors.
    """

    def __init__(self, words: QuestionWords, embedder: Embedder, folder: Path) -> None:
        """Set the known wordings of relations and their embedder; nothing is embedded yet.

        Args:
            words: wordings of relations.
            embedder: makes vectors.
            folder: folder for the vectors of the wordings.
        """
        self.embedder, self._words, self._folder = embedder, words, folder
        self._known: dict[str, frozenset[str]] = {}
        self._texts = list(words.plain_wordings)

    def find_nearest(self, clauses: Iterable[AskedClause], kin: Collection[str]) -> None:
        """Find and store each new clause's nearest known wording; ``kin``: nouns such as "father".

        Args:
            clauses: in words that no rule knows.
            kin: nouns of kin: a clause on somebody's father is not about the one that it names.
        """
        texts = {clause.masked(_ENTITY): clause for clause in clauses}
        fresh = {text: text for text in texts if text not in self._known}
        if not fresh:
            return
        ranked = self._retriever.rank(fresh, depth=1)
        for text, (nearest,) in ranked.items():
            wording = self._texts[int(nearest.docid)]
            found = self._words.plain_wordings[wording]
            own = self._words.own_words(found) - {*kin}
            fits = nearest.score >= LEAST_COSINE and _agree(texts[text], wording, own)
            self._known[text] = found if fits else frozenset()

    def relations(self, clause: AskedClause) -> frozenset[str]:
        """Get the keys of the relations that a clause's near wording asks for; empty if none."""
        return self._known.get(clause.masked(_ENTITY), frozenset())

    @property
    def n_near(self) -> int:
        """Number of different clauses with a near enough known wording."""
        return sum(map(bool, self._known.values()))

    @cached_property
    def _retriever(self) -> Retriever:
        """Retriever over the known wordings, whose vectors are kept in the folder."""
        rows = [(f"{n:05}", "", text, None) for n, text in enumerate(self._texts)]
        self._folder.mkdir(parents=True, exist_ok=True)
        files = write_table(self._folder, "wordings", table_of(rows, CORPUS))
        corpus = [self._folder / file for file in files]
        return make_dense(RetrieverSettings(corpus, lambda: self.embedder, self._folder))


def _agree(clause: AskedClause, wording: str, relation_words: Collection[str]) -> bool:
    """Whether a clause and its nearest wording ask for the same kind of answer on one entity.

    Args:
        clause: in words that no rule knows.
        wording: the nearest one.
        relation_words: words of the relation that may follow a possessive: not of its friend or its
            father.
    """
    said = {token.text for token in clause.tokens if not token.qids}
    known = {word.lower() for word in wording.split()}
    owned = [b.text for a, b in pairwise(clause.tokens) if a.is_owner or a.text.endswith("'s")]
    if not any(token.qids for token in clause.tokens) or not {*owned} <= {*relation_words, *known}:
        return False
    return {*map(fold, said)} & DECISIVE == {*map(fold, known)} & DECISIVE
