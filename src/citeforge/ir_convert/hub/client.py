"""Reading from the Hugging Face Hub, with errors that say what to do offline."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.engines.io.files import digest_folder
from citeforge.engines.models.files import http_errors
from citeforge.schemas.errors import InputError


def split_revision(argument: str) -> tuple[str, str | None]:
    """``name@revision`` → (name, revision)."""
    name, _, revision = argument.partition("@")
    return name, revision or None


def download(repo: str, filename: str, revision: str | None) -> tuple[Path, str]:
    """Fetch one file of a data set repository, or find it in the Hub cache.

    Returns:
        (local path, commit it belongs to).

    Raises:
        InputError: unknown repository or file, or no network.
    """
    from huggingface_hub import hf_hub_download

    try:
        path = Path(hf_hub_download(repo, filename, repo_type="dataset", revision=revision))
    except (OSError, ValueError, *http_errors()) as error:  # type: ignore[misc]
        raise unreachable(repo, error) from error
    # The cache lays files out as snapshots/<commit>/<filename>.
    return path, path.parents[len(Path(filename).parts) - 1].name


@dataclass(frozen=True)
class Repository:
    """A data set on the Hub, or a local folder of the same layout.

    Attributes:
        name: ``ORG/NAME``, or the folder.
        revision: of the Hub; None for the newest.
        content: sha256 of a local folder's files; None on the Hub, where a commit says it.
    """

    name: str
    revision: str | None = None
    content: str | None = None

    @classmethod
    def named(cls, name: str, revision: str | None = None) -> "Repository":
        """Look whether it is a folder, and read what it holds."""
        folder = Path(name)
        return cls(name, revision, digest_folder(folder) if folder.is_dir() else None)

    def config(self, name: str) -> Any:
        """Load one config as a ``DatasetDict``.

        Returns:
            The splits, or None when the data set has no such config.

        Raises:
            InputError: the repository cannot be read.
        """
        import datasets
        import pyarrow as pa
        import yaml

        cache = None
        if self.content:
            # `datasets` caches a folder by its last name and its card, whatever its files hold.
            cache = str(Path(datasets.config.HF_DATASETS_CACHE) / "citeforge" / self.content)
        try:
            return datasets.load_dataset(self.name, name, revision=self.revision, cache_dir=cache)
        except ValueError as error:
            if "BuilderConfig" in str(error) or "corresponds to no data" in str(error):
                return None
            raise unreachable(self.name, error) from error
        except (
            OSError,
            datasets.exceptions.DatasetsError,
            RuntimeError,
            yaml.YAMLError,
            pa.ArrowException,
            # Of a card whose declarations are of other types, which `datasets` does not check.
            AttributeError,
            KeyError,
            TypeError,
            *http_errors(),
        ) as error:
            raise unreachable(self.name, error) from error

    def commit(self) -> str | None:
        """Commit hash; None for a local folder.

        Raises:
            InputError: the Hub cannot be asked.
        """
        if self.content:
            return None
        from huggingface_hub import HfApi

        try:
            return HfApi().dataset_info(self.name, revision=self.revision).sha
        except (OSError, *http_errors()) as error:  # type: ignore[misc]
            raise unreachable(self.name, error) from error


def unreachable(repo: str, error: Exception) -> InputError:
    """Error for a repository that could not be read."""
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
    if Path(repo).is_dir():
        return InputError(
            f"cannot be read as a data set ({reason[:160]})",
            path=repo,
            allowed="Parquet or JSON Lines files, and a README.md that declares them",
        )
    return InputError(
        f"cannot be read from the Hub ({reason[:160]})",
        path=repo,
        allowed="check the name and the network, or name a local copy (beir:, hagrid:, rage:)",
    )
