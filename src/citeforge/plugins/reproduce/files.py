"""Files of published outputs: below ``--data``, else downloaded by commit, and cached."""

from hashlib import sha256
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request

from citeforge.engines.files import sha256_file, storage_errors, write_bytes
from citeforge.engines.http import send_request
from citeforge.plugins.reproduce.declared import HashedFile, OutputFile, OutputRepository
from citeforge.schemas.errors import InputError

TIMEOUT_S = 600.0
"""Seconds that the download of a file may take."""


class MissingOutputError(InputError):
    """A file of outputs is not below ``--data``; its numbers are left out and counted."""


def find_output(
    checkouts: Path | None, repository: OutputRepository, file: OutputFile
) -> tuple[Path, ...]:
    """Find a file of published outputs in checkouts, or download it: paths of it or its parts.

    Args:
        checkouts: folder with checkouts as OWNER/NAME or NAME; None to download files.
        repository: repository of the file.
        file: declaration of the file.

    Raises:
        MissingOutputError: none of them is below ``--data``.
        InputError: a file's content is not the declared one, or it cannot be downloaded.
    """
    if checkouts is None:
        return (fetch_file(repository, file),)
    for name in (repository.name, repository.name.partition("/")[2]):
        path = checkouts / name / file.path
        if path.is_file():
            return (_require_content(path, file),)
    others = tuple(checkouts / one.path for one in file.also)
    if others and all(other.is_file() for other in others):
        return tuple(map(_require_content, others, file.also))
    path = checkouts / repository.name / file.path
    raise MissingOutputError(
        "does not exist", path=path, allowed=f"a checkout of {repository.name}", code="missing-file"
    )


def _require_content(path: Path, file: HashedFile) -> Path:
    """Return a file's path; raise an error if its hash is not the declared one."""
    _require_hash(sha256_file(path), file, path)
    return path


def _require_hash(sha256: str, file: HashedFile, source: object) -> None:
    """Raise an error if a hash is not that of a declared file.

    Args:
        sha256: hash of the content.
        file: declaration of the file.
        source: path or address of the content, for the error.
    """
    if sha256 != file.sha256:
        raise InputError(
            f"is not the file that the table was made with (sha256 {sha256[:12]}…)",
            path=source,
            allowed=f"sha256 {file.sha256[:12]}…: check out the commit of the declaration",
            code="hash-mismatch",
        )


def fetch_file(repository: OutputRepository, file: OutputFile) -> Path:
    """Get a file of published outputs from Hugging Face's cache, or download it: its path.

    Raises:
        InputError: it cannot be downloaded, or its size or content is not the declared one.
    """
    from huggingface_hub import cached_assets_path, constants

    home = constants.HF_ASSETS_CACHE
    with storage_errors(Path(home)):
        folder = cached_assets_path("citeforge", "reproduce", assets_dir=home)
    path = folder / file.sha256[:16] / file.path.rpartition("/")[2]
    if path.is_file() and sha256_file(path) == file.sha256:
        return path
    remote_path = quote(f"{repository.name}/{repository.commit}/{file.path}")
    address = f"{repository.host}/{remote_path}"
    offline = "a folder with checkouts (--data) needs no network"
    try:
        body = send_request(Request(address), TIMEOUT_S).read()
    except HTTPError as error:
        raise InputError(
            f"cannot be fetched (HTTP {error.code})", path=address, allowed=offline,
            code="endpoint-failed"
        ) from error  # fmt: skip
    except OSError as error:
        raise InputError(
            f"cannot be fetched ({error})", path=address, allowed=offline, code="no-network"
        ) from error
    if len(body) != file.size:
        raise InputError(
            f"has {len(body):,} bytes, and not {file.size:,}", path=address, allowed=offline,
            code="hash-mismatch"
        )  # fmt: skip
    _require_hash(sha256(body).hexdigest(), file, address)
    write_bytes(path, body)
    return path
