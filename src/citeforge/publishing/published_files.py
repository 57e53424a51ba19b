"""Files of a package as they are published, and what may not be published."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citeforge.engines.files import digest, read_json
from citeforge.package.manifest import CARD, MANIFEST, load_manifest, pretty_json
from citeforge.publishing.hub_changes import LocalFile
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import SECRET, Manifest
from citeforge.schemas.sources import without_folders

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile

PLACEHOLDER = "ORG/NAME"
"""The repository's name in a card, until the package is published."""
_SIGNED = """
## Signature

`model.sig` signs all files of this version. Check it by the owner's public key or identity:

```sh
citeforge verify hub:{repository} --key PUBLIC.pem
citeforge verify hub:{repository} --identity NAME --issuer URL
```
"""
"""Section of the card of a signed package."""
_ANY_SIGNED = re.compile(r"\S+".join(map(re.escape, _SIGNED.split("{repository}"))))


def package_files(folder: Path, repo_id: str, is_signed: bool = False) -> dict[str, LocalFile]:
    """List a package's files for the Hub, with card and manifest edited: name to file.

    The card names the repository, and the manifest no folder of this machine.

    Args:
        folder: the package.
        repo_id: repository that it is published to.
        is_signed: whether the card says that the package is signed.

    Returns:
        Files by name.
    """
    path, hashes = folder / MANIFEST, load_manifest(folder).files
    files = {name: LocalFile(folder / name, sha256) for name, sha256 in hashes.items()}
    card = (folder / CARD).read_text(encoding="utf-8").replace(PLACEHOLDER, repo_id)
    card = _ANY_SIGNED.sub("", card)  # of a package that was downloaded
    if is_signed:
        card += _SIGNED.format(repository=repo_id)
    files[CARD] = _edited_file(folder / CARD, card)
    public = _without_paths(read_json(path))
    public["files"][CARD] = files[CARD].sha256
    public["manifest_sha256"] = digest(public | {"manifest_sha256": ""})
    files[MANIFEST] = _edited_file(path, pretty_json(public))
    return dict(sorted(files.items()))


def _edited_file(path: Path, text: str) -> LocalFile:
    """Describe a local file whose published text differs from its own."""
    content = text.encode()
    return LocalFile(path, hashlib.sha256(content).hexdigest(), content)


def _without_paths(value: Any) -> Any:
    """Replace local paths in a JSON value by their file names, at any depth."""
    if isinstance(value, dict):
        return {key: _without_paths(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_paths(inner) for inner in value]
    return without_folders(value) if isinstance(value, str) else value


def require_open_labels(manifest: Manifest) -> None:
    """Raise an error if publishing the whole package would reveal labels to be hidden.

    Raises:
        UsageError: it holds a secret, or is made of a package that does.
    """
    if SECRET in manifest.files:
        raise UsageError(
            f"{manifest.name} was built with --hidden: publish it with --hide-gold, or build it "
            "without --hidden",
            code="hidden-gold",
        )
    if manifest.has_hidden_labels:
        raise UsageError(
            f"{manifest.name} is made of a benchmark that was built with --hidden, and would "
            "publish its labels; build it of one that was built without --hidden",
            code="hidden-gold",
        )


def require_same_files(
    files: Mapping[str, LocalFile], remote: Mapping[str, RepoFile], repo_id: str, tag: str
) -> None:
    """Raise an error if files published under a tag differ from the local files."""
    if (name := next((n for n, f in files.items() if not f.equals(remote.get(n))), None)) is None:
        return
    raise InputError(
        f"{tag} is published already, and {name} differs there",
        path=repo_id,
        allowed="another version (`citeforge export card DIR --version X.Y.Z`), or another "
        "repository",
        code="output-exists",
    )


def require_same_contexts(
    files: Mapping[str, LocalFile], remote: Mapping[str, RepoFile], repo_id: str
) -> None:
    """Raise an error if gold is on the Hub already, or contexts there are not the same.

    Args:
        files: files to publish, by name.
        remote: files of the repository.
        repo_id: repository.

    Raises:
        InputError: contexts of two releases would reveal relevant passages; or the gold is public.
    """
    if any(name.split("/")[0] in ("mapping", "gold") for name in remote):
        raise InputError(
            "contains the gold of an earlier release",
            path=repo_id,
            allowed="another repository, with queries whose gold was never public",
            code="hidden-gold",
        )
    for name in (n for n in remote if n.startswith("contexts/")):
        if name not in files or not files[name].equals(remote[name]):
            raise InputError(
                f"{name} differs from the release that is public, and what two contexts of a query "
                "share tells what is relevant",
                path=repo_id,
                allowed="the same contexts: build … --hidden --secret-from the package published "
                "before, of the same sources; other queries in another repository",
                code="hidden-gold",
            )
