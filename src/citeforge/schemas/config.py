"""Configuration of a build, as it is typed, checked and written into the manifest."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from citeforge.schemas.errors import UsageError
from citeforge.schemas.tables import IRRELEVANT, RELEVANT, SEEMINGLY_RELEVANT

_MIXTURE = re.compile(r"(?P<name>[^=]+)=(?P<rel>\d+),(?P<irr>\d+),(?P<seem>\d+)")


class Mixture(BaseModel):
    """How many passages of each label a context holds (RAGE, section 3.2).

    Attributes:
        name: name of the context set; letters, digits and underscores.
        relevant: at most this many.
        irrelevant: this many, fewer only when the query has fewer.
        seemingly_relevant: likewise.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^\w+$")
    relevant: int = Field(ge=0)
    irrelevant: int = Field(ge=0)
    seemingly_relevant: int = Field(ge=0)

    @property
    def sizes(self) -> dict[str, int]:
        """Label to count."""
        return {
            RELEVANT: self.relevant,
            IRRELEVANT: self.irrelevant,
            SEEMINGLY_RELEVANT: self.seemingly_relevant,
        }

    @property
    def total(self) -> int:
        """Passages a full context holds."""
        return sum(self.sizes.values())


PRESETS = {
    # RAGE, appendix B: the relevant ones constant, the rest varied.
    "paper_mix": Mixture(name="paper_mix", relevant=4, irrelevant=3, seemingly_relevant=3),
    "paper_irrelevant": Mixture(
        name="paper_irrelevant", relevant=4, irrelevant=6, seemingly_relevant=0
    ),
    "paper_seemingly": Mixture(
        name="paper_seemingly", relevant=4, irrelevant=0, seemingly_relevant=6
    ),
}
DEFAULT_MIXTURE = Mixture(name="mix", relevant=3, irrelevant=3, seemingly_relevant=3)


def parse_mixture(text: str) -> Mixture:
    """Read ``NAME=REL,IRR,SEEM`` or the name of a preset.

    Raises:
        UsageError: neither, or a mixture without passages.
    """
    if text in PRESETS:
        return PRESETS[text]
    match = _MIXTURE.fullmatch(text)
    if not match or not re.fullmatch(r"\w+", match["name"]):
        raise UsageError(
            f"--mixture {text!r}: expected NAME=REL,IRR,SEEM with NAME of letters, digits and "
            f"underscores (mix=3,3,3), or a preset: {', '.join(PRESETS)}"
        )
    mixture = Mixture(
        name=match["name"],
        relevant=int(match["rel"]),
        irrelevant=int(match["irr"]),
        seemingly_relevant=int(match["seem"]),
    )
    if mixture.total == 0:
        raise UsageError(f"--mixture {text!r} holds no passages")
    return mixture


class Mining(BaseModel):
    """How negatives are found (RAGE, section 3.1).

    Attributes:
        seemingly_relevant: nearest non-relevant passages a query.
        irrelevant: uniformly drawn passages a query.
        skip_top: nearest candidates passed over.
        max_score: highest cosine of a seemingly relevant passage.
        margin: its cosine is at most that of the best relevant passage minus this.
        exclude_answers: negatives that contain a gold short answer are dropped.
        drop_self: passages that are the query's own text are dropped.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seemingly_relevant: int = Field(10, ge=0)
    irrelevant: int = Field(10, ge=0)
    skip_top: int = Field(0, ge=0)
    max_score: float | None = Field(None, ge=-1, le=1)
    margin: float | None = None
    exclude_answers: bool = False
    drop_self: bool = False


class RageConfig(BaseModel):
    """All choices of ``build rage`` that its tables depend on.

    Attributes:
        source: ``kind:argument``.
        split: split of the source; None for its default.
        extra_corpus: a further source of passages to mine negatives from.
        limit: number of queries sampled; None for all.
        seed: seed of every draw.
        embedder: name given to ``--embedder``.
        embedder_revision: commit, tag or branch of a Hub model.
        mining: how negatives are found.
        remine: whether mappings that the source brings are replaced.
        mixtures: context sets.
        corpus: ``all`` passages, or the ``pool`` that some mapping names.
        base: number that prompts give to the first passage.
        allow_no_relevant: queries without relevant passages are kept.
        skip_empty: rows without text are skipped and counted.
        skip_dangling: judgements of missing rows are skipped and counted.
        skip_contradictions: of two judgements of one pair, the higher is kept, the other counted.
        drop_suspects: mined negatives that an audit suspects to be relevant are dropped.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    split: str | None = None
    extra_corpus: str | None = None
    limit: int | None = Field(None, ge=1)
    seed: int = 0
    embedder: str
    embedder_revision: str | None = None
    mining: Mining = Mining()
    remine: bool = False
    mixtures: tuple[Mixture, ...] = (DEFAULT_MIXTURE,)
    corpus: Literal["all", "pool"] = "all"
    base: Literal[0, 1] = 1
    allow_no_relevant: bool = False
    skip_empty: bool = False
    skip_dangling: bool = False
    skip_contradictions: bool = False
    drop_suspects: bool = False
