"""Record, in the owner's package, of the public halves that were published of it."""

from pathlib import Path

from citeforge.engines.files import read_json, write_text
from citeforge.engines.textfiles import validated
from citeforge.package.manifest import PUBLIC, pretty_json
from citeforge.schemas.manifest import Sha256
from citeforge.schemas.record import FrozenRecord


class PublicHalves(FrozenRecord):
    """Content of ``public.json``, beside the manifest of a package with hidden gold.

    Attributes:
        hashes: benchmark hashes of its public halves, in the order of their publication.
    """

    hashes: tuple[Sha256, ...] = ()


def read_public_halves(folder: Path) -> tuple[str, ...]:
    """Read the recorded hashes of a package's published public halves, if any.

    Raises:
        InputError: the record is damaged.
    """
    path = folder / PUBLIC
    if not path.is_file():
        return ()
    return validated(PublicHalves, read_json(path), path).hashes


def record_public_half(folder: Path, public_hash: str) -> None:
    """Record the hash of a published public half in its package's folder, once.

    Raises:
        InputError: the record is damaged, or cannot be written.
    """
    hashes = read_public_halves(folder)
    if public_hash not in hashes:
        record = PublicHalves(hashes=(*hashes, public_hash))
        write_text(folder / PUBLIC, pretty_json(record.model_dump(mode="json")))
