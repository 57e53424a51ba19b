"""The secret of a package with hidden labels: its file, and digits derived from it."""

import hashlib
import re
from pathlib import Path

from citeforge.engines.files import write_bytes
from citeforge.schemas.errors import InputError
from citeforge.schemas.manifest import SECRET

SECRET_BYTES = 32
_OWNER_ONLY = 0o600


def read_secret(folder: Path) -> bytes:
    """Read the secret key of a package with hidden labels, from the package or its gold half.

    Raises:
        InputError: there is none, or it is damaged.
    """
    path = folder / SECRET
    if not path.is_file():
        raise InputError(
            f"has no {SECRET}",
            path=folder,
            allowed="a package that was built with --hidden, or its gold half",
            code="missing-file",
        )
    text = path.read_bytes()
    if not re.fullmatch(rb"[0-9a-f]{64}\n", text):
        raise InputError(
            "is not a valid secret",
            path=path,
            allowed="64 hexadecimal digits and a line end",
            code="bad-secret",
        )
    return bytes.fromhex(text.decode())


def write_secret(folder: Path, secret: bytes) -> None:
    """Write a package's secret key to a file in its folder that only the owner may read."""
    write_bytes(folder / SECRET, f"{secret.hex()}\n".encode(), _OWNER_ONLY)


def pseudonym(secret: bytes, *parts: str) -> str:
    """Derive an id of 20 hexadecimal digits from texts by a secret key (BLAKE2b)."""
    text = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=secret, digest_size=10).hexdigest()
