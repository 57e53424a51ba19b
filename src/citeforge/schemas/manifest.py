"""The manifest: provenance of a benchmark and the sha256 of every file in it."""

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from citeforge.schemas.counts import NOT_MADE, count_line, count_name, counts_failures
from citeforge.schemas.record import FrozenRecord, Record
from citeforge.schemas.sources import MaybeOfPlugin, SourceInfo
from citeforge.schemas.tables import SCHEMA_VERSION

_FILE = re.compile(r"\w+/[\w-]+-\d{5}-of-\d{5}\.parquet|\w[\w.-]*\.(?:json|md|yaml)|secret\.hex")


def file_name(name: str) -> str:
    """Raise an error if a benchmark package cannot contain a file of this name; return the name.

    Raises:
        ValueError: it is something else.
    """
    if not _FILE.fullmatch(name):
        raise ValueError(
            f"{ascii(name)[:80]} is no file of a package; expected "
            "CONFIG/SPLIT-00000-of-00001.parquet, or a text beside the manifest"
        )
    return name


FileName = Annotated[str, AfterValidator(file_name)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
SetName = Annotated[str, Field(pattern=r"^[\w-]{1,100}$")]
_UNSEEN = r"\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
Line = Annotated[str, Field(pattern=rf"^[^{_UNSEEN}]*$", max_length=200)]
"""Text that may stand on a line of a terminal: no control characters, none without width."""


SECRET = "secret.hex"
"""Key of the draws and ids of a package built with ``--hidden``. It is never public."""


MEASURED = "cosines/"
"""Tables that say what a processor computed on the way; two may differ in the last digits."""


def is_hashed(name: str) -> bool:
    """Whether a file of a package is a table that the benchmark hash depends on."""
    return name.endswith(".parquet") and not name.startswith(MEASURED)


def benchmark_hash(files: Mapping[str, str]) -> str:
    """Compute a benchmark's hash from those of its tables (except ``cosines/``) and its secret."""
    lines = sorted(
        f"{sha}  {name}\n" for name, sha in files.items() if is_hashed(name) or name == SECRET
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


class GrammarInfo(FrozenRecord):
    """The citation grammar that prompts of this benchmark ask for.

    Attributes:
        base: number of the first passage.
        name: rules that ``strict`` read marks by when the package was built; scores say which they
            were read by.
        form: a citation as the prompt shows it; ``(n)`` makes round brackets citations.
    """

    base: Literal[0, 1] = 1
    name: str = "strict3"
    form: str = "[n]"


class ContextSet(Record):
    """One frozen context set.

    Attributes:
        description: what it holds, in words.
        sizes: label to the number asked for.
        short: query id to labels with fewer than asked (label to number found).
    """

    description: str
    sizes: dict[str, int] = {}
    short: dict[str, dict[str, int]] = {}


COMPARED = "mined_negatives_compared"
"""Count of mined passages with a known distance to their query."""
FAR = "mined_negatives_too_easy"
"""Count of those whose cosine is at most the midpoint of random and relevant passages."""


POOL_JUDGE = "pool judge"
"""Role of the model that decided relevance in place of people."""


class Manifest(MaybeOfPlugin):
    """``manifest.json`` of a package.

    Attributes:
        schema_version: version of the table schemas.
        kind: builder that made it, e.g. ``rage``.
        name: name of the benchmark, part of every signature.
        version: version of the benchmark.
        citeforge: version of citeforge that built it.
        licence: SPDX identifier or words; None where none is stated.
        sources: where the data come from.
        config: every choice of the build.
        models: fingerprints of models that decided something.
        grammar: citation grammar and index base.
        contexts: frozen context sets by name.
        counts: numbers of what was kept, merged, skipped or excluded, by key.
        short_mappings: query id to labels with fewer mapped passages than asked.
        empty_tables: tables that have no rows and were not written.
        computed: what vectors were computed in and by, and how many passages had to be decided in
            finer numbers; when the replies of a graph's endpoint were retrieved. The tables do not
            depend on it.
        libraries: versions that the tables depend on.
        files: relative file name to sha256, all files but this one.
        benchmark_hash: see :func:`benchmark_hash`.
        manifest_sha256: sha256 of this manifest with this field empty.
    """

    schema_version: int = Field(SCHEMA_VERSION, ge=1)
    kind: Line
    name: str = Field(pattern=r"^\w[\w.-]*$", max_length=100)
    version: Line = "1.0.0"
    citeforge: Line
    licence: Line | None = None
    sources: list[SourceInfo]
    config: dict[str, Any]
    models: dict[str, dict[str, Any]] = {}
    grammar: GrammarInfo = GrammarInfo()
    contexts: dict[SetName, ContextSet]
    counts: dict[str, int] = {}
    short_mappings: dict[str, dict[str, int]] = {}
    empty_tables: list[str] = []
    computed: dict[str, Any] = {}
    libraries: dict[str, str] = {}
    files: dict[FileName, Sha256] = {}
    benchmark_hash: str = ""
    manifest_sha256: str = ""

    @property
    def warnings(self) -> list[str]:
        """Warnings on a built benchmark: easy negatives, missing questions, labels by a model."""
        texts = []
        far, compared = self.counts.get(FAR, 0), self.counts.get(COMPARED, 0)
        if 2 * far > compared:
            texts.append(
                f"{far:,} of {compared:,} mined negatives are nearer to random passages than to "
                "the relevant ones of their query: they are hardly seemingly relevant. The corpus "
                "may be too small, or too mixed, for negatives that are hard to tell"
            )
        not_made = [(key, n) for key, n in self.counts.items() if count_name(key) == NOT_MADE]
        texts += [count_line(key, n) for key, n in not_made]
        if (judge := self.models.get(POOL_JUDGE)) is not None:
            texts.append(
                f"relevance was judged by the model {judge.get('name')}, not by people: such "
                "labels favour systems of the same model or model family, so do not compare these "
                "with others by this benchmark alone"
            )
        return texts

    @property
    def failures(self) -> list[str]:
        """Texts with counts of items that writers or judges failed on, and of missing questions."""
        texts = [
            count_line(key, n)
            for counts in (self.counts, *(source.counts for source in self.sources))
            for key, n in counts.items()
            if n and counts_failures(key)
        ]
        if any(count_name(key) == NOT_MADE for key in self.counts):
            texts.append("fewer questions than were asked for; the package has the others")
        return texts

    @property
    def answer_hash(self) -> str:
        """Hash that submissions name: this benchmark's, or of a public half the full one's."""
        return str(self.config.get("joined_hash") or self.benchmark_hash)

    @property
    def has_hidden_labels(self) -> bool:
        """Whether labels of this benchmark, or of one that it is derived from, are hidden."""
        config: Any = self.config
        while isinstance(config, dict):
            if config.get("hidden"):
                return True
            origin = config.get("made_of")
            config = origin.get("config") if isinstance(origin, dict) else None
        return False
