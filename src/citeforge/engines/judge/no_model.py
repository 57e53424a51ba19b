"""Judges without a model: by shared words and numbers, or by a table of verdicts."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from citeforge.engines.files import sha256_file
from citeforge.engines.jsonlines import read_rows
from citeforge.engines.judge.profiles import built_in_profiles
from citeforge.engines.judge.records import JudgeFailure, Keep, Pair, Verdict
from citeforge.schemas.errors import InputError
from citeforge.schemas.judge_profile import LEVELS
from citeforge.schemas.matching.answers import AnswerText, has_digits

_STOP = frozenset(
    """a an and are as at be been but by for from had has have he her his in is it its of on or
    she that the their they this to was were which who will with""".split()
)


class LexicalJudge:
    """Judge by words: a premise entails what shares its numbers and most of its words.

    The share of the hypothesis' distinct content words found in the premise must reach the
    threshold. A hypothesis without content words is not entailed. Words and numbers are compared as
    short answers are (docs/definitions.md#short_answers).
    """

    signature = "lexical@2"
    changes = ("numbers and dates are compared as values (docs/definitions.md#short_answers)",)
    """What changed, one sentence for each later version."""
    comparable = False
    threshold = 0.75

    def identity(self) -> dict[str, Any]:
        """Describe the judge: name, version and threshold."""
        return {"name": "lexical", "version": 2, "threshold": self.threshold}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Return None: the judge counts no tokens."""
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Judge pairs by shared words and numbers; pass the verdicts to ``keep``."""
        read = cache(AnswerText)
        verdicts = [self._verdict(read(pair.premise), read(pair.hypothesis)) for pair in pairs]
        keep(list(enumerate(verdicts)))

    def _verdict(self, premise: AnswerText, hypothesis: AnswerText) -> Verdict:
        """Decide whether a premise has most content words and all numbers of the hypothesis.

        Args:
            premise: words of the premise.
            hypothesis: words of the hypothesis; words such as "the" do not count.

        Returns:
            Verdict whose margin is the share of content words found less the threshold; −1 if a
            number is missing.
        """
        content = set(hypothesis.main) - _STOP
        if not content:
            return Verdict(False, -1.0)
        lacking = [token for token in content if not premise.has(token)]
        if any(map(has_digits, lacking)):
            return Verdict(False, -1.0)
        share = 1 - len(lacking) / len(content)
        return Verdict(share >= self.threshold, share - self.threshold)


class TableRow(msgspec.Struct, forbid_unknown_fields=True):
    """Row of a table of verdicts: the texts or their sha256, the question, and the verdict."""

    verdict: bool | Literal["undecided"]
    premise: str | None = None
    hypothesis: str | None = None
    premise_sha256: str | None = None
    hypothesis_sha256: str | None = None
    margin: float | None = None
    support: Literal["full", "partial", "no", "contradicts"] | None = None
    question: str = ""


def text_hash(text: str) -> str:
    """Compute the sha256 (64 hex digits) of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class TableJudge:
    """Judge that looks verdicts up in a file; pairs that are not in it are failures."""

    comparable = True

    def __init__(self, path: Path) -> None:
        """Read the verdicts on pairs from a file.

        Raises:
            InputError: a line is wrong, or one pair has two verdicts.
        """
        self.path = path
        self._sha256 = sha256_file(path)
        self._verdicts: dict[tuple[str, str, str], Verdict] = {}
        for line, row in read_rows(path, TableRow):
            key = self._key(row, line)
            entailed, undecided = row.verdict is True, row.verdict == "undecided"
            full = None if row.support is None else row.support == "full"
            if full is not None and (undecided or full != entailed):
                raise InputError(
                    f"has verdict {str(row.verdict).lower()} and support {row.support!r}",
                    path=path,
                    line=line,
                    allowed="verdict true with full support only, and no support with undecided",
                    code="wrong-value",
                )
            support = None if row.support is None else LEVELS[row.support]
            verdict = Verdict(entailed, row.margin, support=support, undecided=undecided)
            before = self._verdicts.setdefault(key, verdict)
            if replace(before, margin=None) != replace(verdict, margin=None):
                raise InputError(
                    "contradicts an earlier verdict on the same pair",
                    path=path,
                    line=line,
                    code="duplicate-id",
                )

    @property
    def answers_questions(self) -> bool:
        """Whether some verdict in the table answers another question than entailment."""
        return any(question for _, _, question in self._verdicts)

    def _key(self, row: TableRow, line: int) -> tuple[str, str, str]:
        """Get a row's key in the table of verdicts: (premise sha256, hypothesis sha256, question).

        Raises:
            InputError: a text is missing or given twice, or there is no such question.
        """
        if row.question and row.question not in built_in_profiles():
            raise InputError(
                f"{row.question!r} is no profile",
                path=self.path,
                line=line,
                field="question",
                allowed="a question of docs/models.md#questions, or none for entailment",
                code="wrong-value",
            )
        hashes = []
        for text, sha, name in (
            (row.premise, row.premise_sha256, "premise"),
            (row.hypothesis, row.hypothesis_sha256, "hypothesis"),
        ):
            if (text is None) == (sha is None):
                raise InputError(
                    "is missing, or given both as text and as sha256",
                    path=self.path,
                    line=line,
                    field=name,
                    allowed=f"{name} or {name}_sha256",
                    code="wrong-value",
                )
            hashes.append(sha.lower() if sha is not None else text_hash(text or ""))
        return hashes[0], hashes[1], row.question

    @property
    def tells_contradictions(self) -> bool:
        """Whether the table has verdicts of contradiction, apart from those of missing support."""
        return any(v.support == LEVELS["contradicts"] for v in self._verdicts.values())

    @property
    def signature(self) -> str:
        """Name and digest of the file of verdicts, by which score signatures name this judge."""
        return f"table:{self.path.name}@{self._sha256[:8]}"

    def identity(self) -> dict[str, Any]:
        """Describe the judge: the digest of its table."""
        return {"name": "table", "sha256": self._sha256}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Return None: the judge counts no tokens."""
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Look up verdicts on pairs, and pass them to ``keep``; a missing one is a failure.

        Args:
            pairs: premises and hypotheses.
            keep: takes all decisions, each with the index of its pair.
        """
        missing = JudgeFailure(f"the pair is not in {self.path.name}")
        keys = ((text_hash(p.premise), text_hash(p.hypothesis), p.question) for p in pairs)
        keep([(i, self._verdicts.get(key, missing)) for i, key in enumerate(keys)])
