"""What a build is told that its tables do not depend on."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.recipes.option import Option, Prices

ALWAYS = ("out", "overwrite", "resume")
DRY = ("dry_run",)
ENDPOINT = ("base_url", "concurrency", "timeout", "rpm", "tpm", "price", "max_cost", "store")
EMBEDDING = ("device", "embeddings", "shard_rows")
SHARDED = ("from_shards",)
LOCAL = ("device", "batch_size")
LOCAL_JUDGE = ("verdicts", *LOCAL)
RUNNER = ("engine", "engine_options")
SECRET = ("secret_from",)
GRAPH = ("kg_store", "kg_batch", "kg_timeout", "kg_seconds")
SETTINGS = (
    *("concurrency", "timeout", "rpm", "tpm", "price", "max_cost"),
    *("kg_batch", "kg_timeout", "kg_seconds", *LOCAL, *RUNNER),
)
"""Fields that a file of settings may hold: none names an endpoint, a file, or what is made."""

IfExists = Literal["refuse", "overwrite", "resume"]


class RunOptions(Part):
    """Where and how a build runs: folders, processors, endpoints, caches.

    The same recipe gives the same tables whatever stands here.
    """

    out: Path | None = None
    """Folder to make."""
    overwrite: bool = False
    """Replace what is at --out."""
    resume: bool = False
    """Continue a build that was cut off."""
    dry_run: bool = False
    """Say what would be asked and what it would cost; needs no --out."""
    device: str = "auto"
    """auto, cpu, cuda, …"""
    embeddings: Path | None = None
    """Keep and reuse shards here."""
    shard_rows: int = Field(8192, ge=1)
    """Passages an embedding shard; a killed build resumes at the next shard."""
    from_shards: Path | None = None
    """Take vectors, and what was mined, from the folder of `shard embed` and `shard mine`."""
    batch_size: int | None = Field(None, ge=1)
    """Pairs a batch of a local model (default: 32 on a GPU, 8 elsewhere)."""
    verdicts: Path | None = None
    """Verdict store (SQLite)."""
    base_url: str | None = None
    """OpenAI-compatible endpoint (default: OPENAI_BASE_URL)."""
    concurrency: int = Field(16, ge=1)
    """Requests in flight."""
    timeout: float = Field(120.0, gt=0)
    """Seconds before a silent connection counts as broken."""
    rpm: float | None = Field(None, gt=0)
    """Most requests a minute; without it as many as the endpoint takes."""
    tpm: float | None = Field(None, gt=0)
    """Tokens a minute."""
    price: Annotated[Prices | None, Option(metavar="IN,OUT", joined=True)] = None
    """Prices per million tokens."""
    max_cost: float | None = Field(None, ge=0)
    """Stop before this is passed."""
    store: Path | None = None
    """Replay store (SQLite)."""
    secret_from: Path | None = None
    """With --hidden: take the secret of this package or gold half, not a new one."""
    engine: str = "local"
    """Where models run and vectors are searched: local (in this process), or a plugin's runner."""
    engine_options: dict[str, dict[str, Any]] = {}
    """Name of that runner to its options by name."""
    kg_store: Path | None = None
    """Keep an endpoint's replies here (SQLite)."""
    kg_batch: int = Field(50, ge=1)
    """Entities a request."""
    kg_timeout: float = Field(60.0, ge=1)
    """Seconds a query may take."""
    kg_seconds: float = Field(60.0, ge=1)
    """Query seconds a minute that the endpoint grants."""

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.overwrite and self.resume:
            raise ValueError("--overwrite and --resume exclude each other")
        if self.from_shards is not None and self.embeddings is not None:
            raise ValueError("--from-shards brings the vectors: leave --embeddings out")
        return self

    @property
    def if_exists(self) -> IfExists:
        """What to do when something is at ``out``."""
        return "overwrite" if self.overwrite else "resume" if self.resume else "refuse"

    @property
    def folder(self) -> Path:
        """``out``, which is there in all but dry runs.

        Raises:
            UsageError: it is missing.
        """
        if self.out is None:
            raise UsageError("--out is missing: name the folder to make, or give --dry-run")
        return self.out
