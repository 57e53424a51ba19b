"""Files of models: in a folder on this disk, or in a Hub repository."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from citeforge.engines.files import digest, sha256_file
from citeforge.engines.keys import shorten_message
from citeforge.schemas.errors import InputError

_WEIGHTS = (".safetensors", ".bin", ".ckpt")
_OTHERS = (".json", ".txt", ".model")
_UNLOADABLE = OSError, ValueError, TypeError, KeyError, RuntimeError, ImportError, AttributeError
_MOST_SAID = 160
"""Characters of what an error of a library says."""


@dataclass(frozen=True)
class Located:
    """A model on this disk: its folder, and the hash or revision that identifies its content."""

    folder: Path
    identity: dict[str, str]


def model_title(name: str) -> str:
    """Get the name of a model for reports: a folder's own name, or the Hub id."""
    return Path(name).name if Path(name).is_dir() else name


@lru_cache
def sign_model(name: str) -> str:
    """Name a model for signatures: its Hub id, or its folder's name and the start of its hash."""
    if not Path(name).is_dir():
        return name
    located = find_model(name, None, "another model", weights_file="")
    return f"{model_title(name)}@{located.identity['folder_sha256'][:12]}"


def find_model(
    name: str, revision: str | None, alternative: str, weights_file: str | None = None
) -> Located:
    """Find a model's folder and identity (hash, or Hub commit); errors suggest ``alternative``.

    Args:
        name: folder or repository, which is fetched or found in the Hub cache.
        revision: commit, tag or branch of a repository.
        alternative: alternative without such a model, for errors.
        weights_file: file with the weights; None for all of the usual endings, empty for none.

    Raises:
        InputError: a folder without weights, an unknown repository, or no network.
    """
    folder = Path(name)
    if folder.is_dir():
        files = sorted(f for f in folder.rglob("*") if f.suffix in (*_WEIGHTS, *_OTHERS))
        if weights_file != "" and not any(f.suffix in _WEIGHTS for f in files):
            raise InputError(
                "contains no model weights",
                path=folder,
                allowed="model.safetensors",
                code="bad-model",
            )
        content = {f.relative_to(folder).as_posix(): sha256_file(f) for f in files}
        return Located(folder, {"folder_sha256": digest(content)})
    from huggingface_hub import snapshot_download

    patterns = ["*.json", "*.txt", "*.model", "*/config.json"]
    patterns += (
        ["*.safetensors", "*.bin"] if weights_file is None else [weights_file] * bool(weights_file)
    )
    try:
        folder = Path(snapshot_download(name, revision=revision, allow_patterns=patterns))
    except (OSError, ValueError, *http_errors()) as error:  # type: ignore[misc]
        raise InputError(
            f"cannot be loaded from the Hub ({error_reason(error)})",
            path=name,
            allowed=f"check the name and the network, or use {alternative}",
            code="missing-model",
        ) from error
    return Located(folder, {"revision": folder.name})


def error_reason(error: Exception) -> str:
    """Get an error's first line without keys, cut at a sentence or word (≤ 160 characters)."""
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return shorten_message(line, _MOST_SAID).removesuffix(".")  # it is put into brackets


def quiet_transformers() -> Any:
    """Import ``transformers`` and turn off its progress bars."""
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return transformers


@contextmanager
def loading_errors(
    problem: str, path: str | Path, allowed: str | None = None, field: str | None = None
) -> Iterator[None]:
    """Turn a library's errors of loading a model into an InputError made of the arguments.

    Args:
        problem: what is wrong, such as ``is not a model``.
        path: model that was asked for.
        allowed: what would be right.
        field: option that names the model.

    Raises:
        InputError: a library could not load them.
    """
    try:
        yield
    except (*_UNLOADABLE, *_import_error_classes(safetensors="SafetensorError")) as error:  # type: ignore[misc]
        reason = error_reason(error)
        raise InputError(
            f"{problem} ({reason})", path=path, field=field, allowed=allowed, code="bad-model"
        ) from error


def http_errors() -> tuple[type[Exception], ...]:
    """List the error classes of the HTTP libraries that huggingface_hub may use."""
    return _import_error_classes(httpx="HTTPError", httpx2="HTTPError", requests="RequestException")


def _import_error_classes(**class_names: str) -> tuple[type[Exception], ...]:
    """Import the error classes named by library (``requests="HTTPError"``), if it is installed."""
    errors: list[type[Exception]] = []
    for library, name in class_names.items():
        with suppress(ImportError):
            errors.append(getattr(import_module(library), name))
    return tuple(errors)
