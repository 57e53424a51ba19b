"""Unpacking of zip archives from outside, never beyond the target folder."""

import errno
import lzma
import shutil
import stat
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from citeforge.engines.files import storage_error
from citeforge.schemas.errors import InputError

# RuntimeError is what zipfile raises for encrypted entries, and for methods it does not know.
# ValueError and struct.error come from offsets and names that are none.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    EOFError,
    ValueError,
    struct.error,
)


def unpack_zip(archive: Path, folder: Path) -> Path:
    """Unpack a zip file after checks; return the folder, or the only folder inside it.

    Every entry is looked at before the first byte is written.

    Args:
        archive: zip file.
        folder: folder to unpack into; made anew.

    Returns:
        The folder that holds the data: ``folder``, or its only sub-folder.

    Raises:
        InputError: not a zip, damaged, larger unpacked than the disk has room for, or an entry is
            absolute, climbs out with ``..`` or is a symbolic link.
    """
    try:
        with zipfile.ZipFile(archive) as content:
            for entry in content.infolist():
                _check_entry(archive, entry)
            _check_room(archive, sum(e.file_size for e in content.infolist()), folder)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            content.extractall(folder)
    except _DAMAGED as error:
        raise InputError(
            f"is not a readable zip file ({error})", path=archive, code="bad-archive"
        ) from error
    except OSError as error:
        if error.errno == errno.EINVAL:  # a seek to where the archive says that its parts are
            raise InputError(
                f"is not a readable zip file ({error})", path=archive, code="bad-archive"
            ) from error
        raise storage_error(error, folder) from error
    entries = [e for e in folder.iterdir() if e.name != "__MACOSX"]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def _check_room(archive: Path, size: int, folder: Path) -> None:
    """Refuse an archive whose unpacked size exceeds the free space of the disk.

    Args:
        archive: the archive, for the error.
        size: bytes that its entries unpack to.
        folder: folder to unpack into.
    """
    # No entry is unpacked beyond the size that the archive says it has.
    there = next(p for p in folder.absolute().parents if p.exists())
    free = shutil.disk_usage(there).free
    if size > free:
        raise InputError(
            f"unpacks to {size:,} bytes, and {free:,} are free in {there}",
            path=archive,
            allowed="free some space, or unpack it elsewhere and name the folder",
            code="disk-full",
        )


def _check_entry(archive: Path, entry: zipfile.ZipInfo) -> None:
    """Refuse a zip entry that would be written outside the folder, or is a symbolic link."""
    # `filename` is what zipfile makes of the name; the original may hold back slashes or NUL.
    name = entry.orig_filename.replace("\\", "/")
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or (path.parts and ":" in path.parts[0]):
        raise InputError(
            f"the entry {entry.orig_filename!r} would leave the folder",
            path=archive,
            allowed="relative names without '..'",
            code="link-outside",
        )
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise InputError(
            f"the entry {entry.orig_filename!r} is a symbolic link",
            path=archive,
            allowed="files and folders",
            code="link-outside",
        )
