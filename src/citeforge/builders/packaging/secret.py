"""The secret of a package whose labels are to stay hidden.

Order, draws and ids of a package depend on a seed that anybody may guess, unless they also depend
on a number that nobody can guess. It lies beside the gold and in no public file.
"""

import hashlib
import re
import secrets
from pathlib import Path

from citeforge.engines.io.files import write_bytes
from citeforge.schemas.benchmarks.manifest import SECRET
from citeforge.schemas.errors import InputError

_BYTES = 32
_OWNER_ONLY = 0o600


def secret_in(folder: Path, source: Path | None) -> bytes:
    """The secret of a build: one that lies in its staging folder, else of ``source``, else a new
    one; it lies in the folder afterwards.

    Args:
        folder: staging folder of the build.
        source: package or gold half whose secret is wanted; it goes before what lies there.

    Raises:
        InputError: ``source`` holds no secret, or the one in the folder is damaged.
    """
    if source is None and (folder / SECRET).is_file():
        return read_secret(folder)
    secret = secrets.token_bytes(_BYTES) if source is None else read_secret(source)
    write_secret(folder, secret)
    return secret


def read_secret(folder: Path) -> bytes:
    """The secret that lies in a package or gold half.

    Raises:
        InputError: there is none, or it is damaged.
    """
    path = folder / SECRET
    if not path.is_file():
        raise InputError(
            f"holds no {SECRET}",
            path=folder,
            allowed="a package that was built with --hidden, or its gold half",
        )
    text = path.read_bytes()
    if not re.fullmatch(rb"[0-9a-f]{64}\n", text):
        raise InputError("is no secret", path=path, allowed="64 hexadecimal digits and a line end")
    return bytes.fromhex(text.decode())


def write_secret(folder: Path, secret: bytes) -> None:
    """Put a secret into a folder, readable by its owner alone."""
    write_bytes(folder / SECRET, f"{secret.hex()}\n".encode(), _OWNER_ONLY)


def pseudonym(secret: bytes, *parts: str) -> str:
    """20 hexadecimal digits that stand for a text and tell nothing of it."""
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=secret, digest_size=10).hexdigest()
