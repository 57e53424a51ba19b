"""Publishing a package to the Hugging Face Hub, and getting one from there."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citeforge.builders.licences import conflicts
from citeforge.builders.verify import verify
from citeforge.engines.files import digest, read_json, sha256_file
from citeforge.package.manifest import (
    CARD,
    MANIFEST,
    load_manifest,
    pretty_json,
    resolve_package_file,
)
from citeforge.publishing.hub_changes import (
    LocalFile,
    Published,
    PublishPlan,
    list_changes,
)
from citeforge.publishing.hub_errors import (
    HubConnectionError,
    hub_error_words,
    hub_errors,
    is_network,
)
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import SECRET, Manifest
from citeforge.schemas.sources import without_folders

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile

PLACEHOLDER = "ORG/NAME"
"""The repository's name in a card, until the package is published."""


class Publisher:
    """Talks to the Hub as the owner of a token.

    Endpoint and token come from the environment (``HF_ENDPOINT``, ``HF_TOKEN``) or from where
    ``hf auth login`` keeps them.
    """

    def __init__(self, endpoint: str | None = None, token: str | None = None) -> None:
        """Make a client for the Hugging Face Hub, with its endpoint and a token."""
        from huggingface_hub import HfApi

        self.api = HfApi(endpoint=endpoint, token=token)

    def plan(self, folder: Path, repo_id: str, branch: str = "main") -> PublishPlan:
        """Compare a package's files with its Hub repository: new, changed, removed, the same.

        Args:
            folder: a package that :func:`check_sound` let pass.
            repo_id: repository.
            branch: compared with this branch.

        Raises:
            InputError: the Hub cannot be reached, or hidden gold would be hidden no more.
            UsageError: labels are to be hidden, and these are not.
        """
        manifest, files = load_manifest(folder), package_files(folder, repo_id)
        _require_open_labels(manifest)
        with hub_errors(repo_id):
            remote = self._remote_files(repo_id, branch)
        if remote and manifest.config.get("hidden_gold"):
            _require_same_contexts(files, remote, repo_id)
        return PublishPlan(repo_id, remote is not None, list_changes(files, remote or {}))

    def dry_run(self, folder: Path, repo_id: str, branch: str = "main") -> PublishPlan:
        """List what publishing would change; without a connection, every file counts as new.

        Raises:
            InputError: hidden gold would be hidden no more.
            UsageError: labels are to be hidden, and these are not.
        """
        try:
            self._require_connection(repo_id)
            return self.plan(folder, repo_id, branch)
        except HubConnectionError:
            _require_open_labels(load_manifest(folder))
            return PublishPlan(repo_id, None, list_changes(package_files(folder, repo_id), {}))

    def publish(
        self, folder: Path, repo_id: str, *, private: bool = False, branch: str = "main"
    ) -> Published:
        """Publish a package: verify it, upload it as one commit, tag it, and check what arrived.

        May be run again after anything: what is there is not uploaded again, and a version that
        was committed is not committed twice.

        Args:
            folder: folder of the package.
            repo_id: repository; created if it does not exist.
            private: whether it is created private.
            branch: branch to publish to.

        Raises:
            InputError: the package is unsound, its licence does not hold, the token may not write,
                the version is there with other content, the contexts of hidden gold have changed,
                or the connection was lost.
            UsageError: labels are to be hidden, and these are not.
        """
        manifest = check_sound(folder)
        _require_open_labels(manifest)
        files, tag = package_files(folder, repo_id), f"v{manifest.version}"
        with hub_errors(repo_id):
            self._create_repository(repo_id, private, branch)
            refs = self.api.list_repo_refs(repo_id, repo_type="dataset")
            commit = next((t.target_commit for t in refs.tags if t.name == tag), None)
            if commit is not None:
                _require_same_files(files, self._remote_files(repo_id, tag) or {}, repo_id, tag)
            else:
                title = f"{manifest.name} {manifest.version}"
                about = f"benchmark hash {manifest.benchmark_hash}"
                plan = self.plan(folder, repo_id, branch)
                commit = self._commit(plan, files, branch, title, about)
                self.api.create_tag(
                    repo_id, tag=tag, revision=commit, repo_type="dataset", exist_ok=True
                )
            self._read_back(files, repo_id, tag)
        return Published(repo_id, commit, tag, len(files))

    def publish_folder(
        self, folder: Path, repo_id: str, branch: str, dry_run: bool
    ) -> Published | PublishPlan:
        """Upload a folder that is no package to a private repository; a dry run lists changes.

        Args:
            folder: the gold half of a package, or any other folder.
            repo_id: repository; created private if it does not exist.
            branch: branch to publish to.
            dry_run: whether changes are listed in place of being made.

        Raises:
            InputError: the token may not write, or the connection was lost; neither in a dry run.
        """
        paths = sorted(p for p in folder.rglob("*") if p.is_file())
        files = {p.relative_to(folder).as_posix(): LocalFile(p, sha256_file(p)) for p in paths}
        if dry_run:
            try:
                self._require_connection(repo_id)
                with hub_errors(repo_id):
                    remote = self._remote_files(repo_id, branch)
            except HubConnectionError:
                return PublishPlan(repo_id, None, list_changes(files, {}))
            return PublishPlan(repo_id, remote is not None, list_changes(files, remote or {}))
        with hub_errors(repo_id):
            self._create_repository(repo_id, True, branch)
            changes = list_changes(files, self._remote_files(repo_id, branch) or {})
            plan = PublishPlan(repo_id, True, changes)
            commit = self._commit(plan, files, branch, "Labels and gold")
            return Published(repo_id, commit, "", len(files))

    def _require_connection(self, repo_id: str) -> None:
        """Ask the Hub for a repository once; listing its files would try six times.

        Raises:
            InputError: the Hub does not answer.
        """
        with hub_errors(repo_id):
            self.api.repo_exists(repo_id, repo_type="dataset")

    def _create_repository(self, repo_id: str, private: bool, branch: str) -> None:
        """Create the repository of a data set and its branch unless they exist.

        Raises:
            InputError: the token does not allow it.
        """
        self.require_write_access(repo_id)
        self.api.create_repo(repo_id, repo_type="dataset", private=private, exist_ok=True)
        if branch != "main":
            self.api.create_branch(repo_id, branch=branch, repo_type="dataset", exist_ok=True)

    def get_account(self, repo_id: str) -> dict[str, Any]:
        """Get the Hub account of the token; raise an error if there is no token.

        Returns:
            What the Hub says of the account: its name, organisations and the token's rights.
        """
        from huggingface_hub.errors import LocalTokenNotFoundError

        try:
            return dict(self.api.whoami())
        except LocalTokenNotFoundError as error:
            raise InputError(
                "no token",
                path=repo_id,
                allowed="set HF_TOKEN, or run: hf auth login",
                code="missing-key",
            ) from error

    def require_write_access(self, repo_id: str) -> None:
        """Raise an error if the token may not write to a repository.

        Raises:
            InputError: no token, a read-only one, or one for other owners.
        """
        account = self.get_account(repo_id)
        owner = repo_id.split("/")[0]
        token = account.get("auth", {}).get("accessToken", {})
        role = token.get("role")
        owners = {account.get("name"), *(o.get("name") for o in account.get("orgs", []))}
        if owner not in owners:
            raise InputError(
                f"the token belongs to {account.get('name')}, who is not a member of {owner}",
                path=repo_id,
                allowed="name a repository of your own, or of an organisation that you are in",
                code="hub-refused",
            )
        if role == "fineGrained":
            scopes = token.get("fineGrained", {}).get("scoped", [])
            allowed = {
                s.get("entity", {}).get("name")
                for s in scopes
                if "repo.write" in s.get("permissions", [])
            }
            may_write = bool(allowed & {owner, repo_id})
        else:
            may_write = role in ("write", "admin")
        if not may_write:
            raise InputError(
                f"the token has no write access ({role})",
                path=repo_id,
                allowed="a token with the role write, or a fine-grained one for this repository",
                code="hub-refused",
            )

    def _remote_files(self, repo_id: str, revision: str) -> dict[str, RepoFile] | None:
        """List a repository's files by name; None if the repository or revision does not exist."""
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
        from huggingface_hub.hf_api import RepoFile

        try:
            entries = self.api.list_repo_tree(
                repo_id, repo_type="dataset", revision=revision, recursive=True
            )
            return {e.path: e for e in entries if isinstance(e, RepoFile)}
        except (RepositoryNotFoundError, RevisionNotFoundError):
            return None

    def _commit(
        self,
        plan: PublishPlan,
        files: Mapping[str, LocalFile],
        branch: str,
        title: str,
        about: str | None = None,
    ) -> str:
        """Commit a plan's changes; return the commit's id, or the latest one if nothing changes.

        Args:
            plan: repository, and changes to it.
            files: the package's files, by name.
            branch: branch to commit to.
            title: title of the commit.
            about: text below the title.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations = [
            CommitOperationDelete(c.path)
            if c.state == "removed"
            else CommitOperationAdd(c.path, files[c.path].content or str(files[c.path].path))
            for c in plan.moving()
        ]
        if not operations:
            info = self.api.repo_info(plan.repo_id, repo_type="dataset", revision=branch)
            return str(info.sha)
        try:
            done = self.api.create_commit(
                plan.repo_id,
                operations,
                commit_message=title,
                commit_description=about,
                repo_type="dataset",
                revision=branch,
            )
        except ValueError as error:
            if is_network(error):
                raise
            # The Hub looks at the card's metadata before it takes anything.
            raise InputError(
                hub_error_words(error), path=files["README.md"].path, code="hub-failed"
            ) from error
        return str(done.oid)

    def _read_back(self, files: Mapping[str, LocalFile], repo_id: str, tag: str) -> None:
        """Download a published version; raise an error if a file's hash differs."""
        with tempfile.TemporaryDirectory() as work:
            copy = self.fetch(repo_id, tag, Path(work))
            for name, file in files.items():
                if sha256_file(copy / name) != file.sha256:
                    raise InputError(
                        f"{name} came back changed", path=f"{repo_id}@{tag}", code="hash-mismatch"
                    )

    def fetch(self, repo_id: str, revision: str | None, into: Path | None = None) -> Path:
        """Download a repository to a folder, by default into the cache; return the folder."""
        folder = self.api.snapshot_download(
            repo_id, repo_type="dataset", revision=revision, local_dir=into
        )
        return Path(folder)


def package_files(folder: Path, repo_id: str) -> dict[str, LocalFile]:
    """List a package's files as they are published, with card and manifest edited.

    The card names the repository, and the manifest no folder of this machine.

    Returns:
        Files by name.
    """
    path, hashes = folder / MANIFEST, load_manifest(folder).files
    files = {name: LocalFile(folder / name, sha256) for name, sha256 in hashes.items()}
    card = (folder / CARD).read_text(encoding="utf-8").replace(PLACEHOLDER, repo_id)
    files[CARD] = _edited_file(folder / CARD, card)
    public = _without_paths(read_json(path))
    public["files"][CARD] = files[CARD].sha256
    public["manifest_sha256"] = digest(public | {"manifest_sha256": ""})
    files[MANIFEST] = _edited_file(path, pretty_json(public))
    return dict(sorted(files.items()))


def _edited_file(path: Path, text: str) -> LocalFile:
    """Describe a file that is published with another text than the local one."""
    content = text.encode()
    return LocalFile(path, hashlib.sha256(content).hexdigest(), content)


def _without_paths(value: Any) -> Any:
    """Replace paths of this machine in the values of JSON by the names of their files."""
    if isinstance(value, dict):
        return {key: _without_paths(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_paths(inner) for inner in value]
    return without_folders(value) if isinstance(value, str) else value


def check_sound(folder: Path) -> Manifest:
    """Read a package's manifest; raise an error if the package may not be published.

    Raises:
        InputError: names the first problem of the package, or of its licence.
    """
    problems = verify(folder)
    if problems:
        raise InputError(
            f"does not verify ({problems[0]}{'; …' if problems[1:] else ''})",
            path=folder,
            allowed="a package without problems; see: citeforge verify",
            code=problems[0].code,
        )
    manifest = load_manifest(folder)
    if clashes := conflicts(manifest):
        raise InputError("; ".join(clashes), path=folder, field="licence", code="bad-licence")
    return manifest


def _require_open_labels(manifest: Manifest) -> None:
    """Raise an error if a package that would be published whole has labels to hide.

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


def _require_same_files(
    files: Mapping[str, LocalFile], remote: Mapping[str, RepoFile], repo_id: str, tag: str
) -> None:
    """Raise an error if a version is already published with other content."""
    if (name := next((n for n, f in files.items() if not f.equals(remote.get(n))), None)) is None:
        return
    raise InputError(
        f"{tag} is published already, and {name} differs there",
        path=repo_id,
        allowed="build with another --version, or publish to another repository",
        code="output-exists",
    )


def _require_same_contexts(
    files: Mapping[str, LocalFile], remote: Mapping[str, RepoFile], repo_id: str
) -> None:
    """Raise an error if gold is already public, or contexts differ from those already public.

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


def parse_hub(name: str) -> tuple[str, str | None] | None:
    """Parse ``hub:ORG/NAME[@REVISION]``: (repository, revision); None for other texts.

    Raises:
        UsageError: begins with ``hub:`` and is not that.
    """
    if not name.startswith("hub:"):
        return None
    repo, _, revision = name.removeprefix("hub:").partition("@")
    if len([p for p in repo.split("/") if p]) != 2:
        raise UsageError(
            f"{name!r}: expected hub:ORG/NAME or hub:ORG/NAME@REVISION", code="bad-option"
        )
    return repo, revision or None


def fetch_folder(name: Path) -> Path:
    """Return a local folder, or download the one that ``hub:ORG/NAME`` names.

    Raises:
        InputError: it cannot be downloaded.
    """
    # click's Path keeps one slash of hub:ORG/NAME; nothing else begins with hub:.
    repository = parse_hub(name.as_posix())
    if repository is None:
        return name
    with hub_errors(repository[0]):
        return Publisher().fetch(*repository)


def local_folder(name: Path) -> Path:
    """Return a package's local folder, or download and verify the one that ``hub:ORG/NAME`` names.

    Raises:
        InputError: it cannot be downloaded, or does not verify.
    """
    folder = fetch_folder(name)
    if folder == name:
        return name
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"contains no {MANIFEST}: not a benchmark, or not yet published whole",
            path=name,
            allowed="a data set that citeforge publish has finished",
            code="not-a-package",
        )
    problems = verify(folder)
    if problems:
        raise InputError(f"does not verify ({problems[0]})", path=name, code=problems[0].code)
    return folder


def copy_files(source: Path, names: Sequence[str], out: Path) -> None:
    """Copy the named files of a package to another folder.

    Raises:
        InputError: one is missing, or a link.
        ValueError: not the name of a file of a package.
    """
    for name in names:
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(resolve_package_file(source, name), target)
