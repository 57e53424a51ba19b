"""Find passages that repeat, or nearly repeat, an earlier one."""

import hashlib
from typing import Any

import pyarrow as pa

from citeforge.builders.authorship.facts import numbers_in_text
from citeforge.engines.text.overlap import shingles
from citeforge.schemas.text import normalise_passages

NEAR = 0.9
"""Estimated Jaccard similarity of runs of five words from which passages are near-duplicates."""
_PERMUTATIONS = 128
_SHORT = 12
"""Runs of words below which similarity cannot be estimated well."""


class RepeatFinder:
    """Remembers passages, and finds those that repeat an earlier one.

    Near-duplicates with other numbers are no repetitions: they say something else.

    Attributes:
        n_other_numbers: number of near-duplicates that stay because their numbers differ.
    """

    def __init__(self) -> None:
        """Make an empty index of passages for near-duplicate search."""
        from datasketch import MinHash, MinHashLSH

        self.n_other_numbers = 0
        self._exact: dict[bytes, str] = {}
        self._blank: Any = MinHash(num_perm=_PERMUTATIONS, hashfunc=int)
        self._lsh: Any = MinHashLSH(threshold=NEAR, num_perm=_PERMUTATIONS)
        self._sketches: dict[str, tuple[Any, frozenset[str]]] = {}

    def find(self, passage_id: str, text: str) -> tuple[str, bool] | None:
        """Find an earlier duplicate of a passage: (its id, whether exact); if None, index the text.

        Returns:
            Id of the earlier passage, and whether the texts are equal but for case, white space and
            Unicode forms; None for a new text.
        """
        form: str = normalise_passages(pa.array([text]))[0].as_py()
        digest = hashlib.blake2b(form.encode(), digest_size=16).digest()
        if (first := self._exact.setdefault(digest, passage_id)) != passage_id:
            return first, True
        sketch = self._sketch(text)
        if sketch is None:
            return None
        numbers = numbers_in_text(text).required
        is_like_others = False
        for other in sorted(self._lsh.query(sketch)):
            other_sketch, its_numbers = self._sketches[other]
            if sketch.jaccard(other_sketch) < NEAR:
                continue
            if numbers == its_numbers:
                return other, False
            is_like_others = True
        self.n_other_numbers += is_like_others
        self._lsh.insert(passage_id, sketch)
        self._sketches[passage_id] = sketch, numbers
        return None

    def _sketch(self, text: str) -> Any:
        """Compute the MinHash sketch of a text, to estimate similarity; None if it is too short."""
        from datasketch import LeanMinHash

        runs = shingles(text)
        if len(runs) < _SHORT:
            return None
        sketch = self._blank.copy()
        sketch.update_batch((runs & 0xFFFFFFFF).tolist())
        return LeanMinHash(sketch)
