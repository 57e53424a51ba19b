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
from citeforge.engines.files import sha256_file
from citeforge.package.manifest import (
    MANIFEST,
    SIGNATURE,
    load_manifest,
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
from citeforge.publishing.published_files import (
    package_files,
    require_open_labels,
    require_same_contexts,
    require_same_files,
)
from citeforge.publishing.signing import Signer
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import Manifest

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoFile


class Publisher:
    """Talks to the Hub as the owner of a token.

    Endpoint and token come from the environment (``HF_ENDPOINT``, ``HF_TOKEN``) or from where
    ``hf auth login`` keeps them.
    """

    def __init__(self, endpoint: str | None = None, token: str | None = None) -> None:
        """Make a client of the Hugging Face Hub for an endpoint and a token."""
        from huggingface_hub import HfApi

        self.api = HfApi(endpoint=endpoint, token=token)

    def plan(
        self, folder: Path, repo_id: str, branch: str = "main", signer: Signer | None = None
    ) -> PublishPlan:
        """Plan publishing a package, signed by ``signer`` if any: new and changed Hub files.

        Args:
            folder: a package that :func:`check_sound` let pass.
            repo_id: repository.
            branch: compared with this branch.
            signer: signs the package; one without a key signs when it is published alone.

        Raises:
            InputError: the Hub cannot be reached, or hidden gold would be hidden no more.
            UsageError: labels are to be hidden, and these are not.
        """
        require_open_labels(load_manifest(folder))
        files = package_files(folder, repo_id, signer is not None)
        with hub_errors(repo_id):
            if signer is not None and signer.key is not None:
                self._sign(files, repo_id, branch, signer)
            return self._compare(folder, files, repo_id, branch)

    def _compare(
        self, folder: Path, files: Mapping[str, LocalFile], repo_id: str, branch: str
    ) -> PublishPlan:
        """Compare files to be published with those of a Hub repository.

        Args:
            folder: the package.
            files: its files, by name.
            repo_id: repository.
            branch: compared with this branch.

        Raises:
            InputError: hidden gold would be hidden no more.
        """
        manifest, remote = load_manifest(folder), self._remote_files(repo_id, branch)
        if remote and manifest.config.get("hidden_gold"):
            require_same_contexts(files, remote, repo_id)
        return PublishPlan(repo_id, remote is not None, list_changes(files, remote or {}))

    def _sign(
        self, files: dict[str, LocalFile], repo_id: str, revision: str, signer: Signer
    ) -> None:
        """Add a signature to files to be published; reuse a published one of the same files.

        Args:
            files: files of the package as they are published, by name.
            repo_id: repository.
            revision: branch or tag that may have a signature.
            signer: signs them.

        Raises:
            InputError: they cannot be signed.
        """
        with tempfile.TemporaryDirectory() as work:
            earlier = None
            if SIGNATURE in (self._remote_files(repo_id, revision) or {}):
                earlier = Path(self.api.hf_hub_download(
                    repo_id, SIGNATURE, repo_type="dataset", revision=revision, local_dir=work
                ))  # fmt: skip
            content = signer.sign(files, earlier)
        sha256 = hashlib.sha256(content).hexdigest()
        files[SIGNATURE] = LocalFile(Path(SIGNATURE), sha256, content)

    def dry_run(
        self, folder: Path, repo_id: str, branch: str = "main", signer: Signer | None = None
    ) -> PublishPlan:
        """Plan publishing a package (signed if asked); without a connection, all files are new.

        Raises:
            InputError: hidden gold would be hidden no more.
            UsageError: labels are to be hidden, and these are not.
        """
        try:
            self._require_connection(repo_id)
            return self.plan(folder, repo_id, branch, signer)
        except HubConnectionError:
            require_open_labels(load_manifest(folder))
            files = package_files(folder, repo_id, signer is not None)
            return PublishPlan(repo_id, None, list_changes(files, {}))

    def publish(
        self, folder: Path, repo_id: str, *, private: bool = False, branch: str = "main",
        signer: Signer | None = None,
    ) -> Published:  # fmt: skip
        """Publish a package on the Hub, signed if asked: verify, upload, tag, check the upload.

        May be run again after anything: what is there is not uploaded again, and a version that
        was committed is not committed twice.

        Args:
            folder: folder of the package.
            repo_id: repository; created if it does not exist.
            private: whether it is created private.
            branch: branch to publish to.
            signer: signs the package; None to publish it without a signature.

        Raises:
            InputError: the package is unsound, its licence does not hold, the token may not write,
                the version is there with other content, the contexts of hidden gold have changed,
                or the connection was lost.
            UsageError: labels are to be hidden, and these are not.
        """
        manifest = check_sound(folder)
        require_open_labels(manifest)
        files, tag = package_files(folder, repo_id, signer is not None), f"v{manifest.version}"
        with hub_errors(repo_id):
            self._create_repository(repo_id, private, branch)
            refs = self.api.list_repo_refs(repo_id, repo_type="dataset")
            commit = next((t.target_commit for t in refs.tags if t.name == tag), None)
            if signer is not None:
                self._sign(files, repo_id, tag if commit else branch, signer)
            if commit is not None:
                require_same_files(files, self._remote_files(repo_id, tag) or {}, repo_id, tag)
            else:
                title = f"{manifest.name} {manifest.version}"
                about = f"benchmark hash {manifest.benchmark_hash}"
                plan = self._compare(folder, files, repo_id, branch)
                commit = self._commit(plan, files, branch, title, about)
                self.api.create_tag(
                    repo_id, tag=tag, revision=commit, repo_type="dataset", exist_ok=True
                )
            self._read_back(files, repo_id, tag)
        return Published(repo_id, commit, tag, len(files))

    def publish_folder(
        self, folder: Path, repo_id: str, branch: str, dry_run: bool
    ) -> Published | PublishPlan:
        """Upload any folder to a private Hub repository; a dry run returns the plan.

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
        """Raise an error if the Hub does not answer one quick request for a repository.

        Raises:
            InputError: the Hub does not answer.
        """
        with hub_errors(repo_id):
            self.api.repo_exists(repo_id, repo_type="dataset")

    def _create_repository(self, repo_id: str, private: bool, branch: str) -> None:
        """Create a Hub dataset repository and its branch, unless they exist.

        Raises:
            InputError: the token does not allow it.
        """
        self.require_write_access(repo_id)
        self.api.create_repo(repo_id, repo_type="dataset", private=private, exist_ok=True)
        if branch != "main":
            self.api.create_branch(repo_id, branch=branch, repo_type="dataset", exist_ok=True)

    def get_account(self, repo_id: str) -> dict[str, Any]:
        """Get the Hub account that the token belongs to; raise an error without a token.

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
        """Raise an error if the token may not write to a Hub repository.

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
        """Map names to the files of a Hub repository; None if it or the revision is missing."""
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
        description: str | None = None,
    ) -> str:
        """Commit planned changes to the Hub; return the id of the new or else latest commit.

        Args:
            plan: repository, and changes to it.
            files: the package's files, by name.
            branch: branch to commit to.
            title: title of the commit.
            description: text below the title.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations = [
            CommitOperationDelete(c.path)
            if c.state == "removed"
            else CommitOperationAdd(c.path, files[c.path].content or str(files[c.path].path))
            for c in plan.uploads_and_deletions()
        ]
        if not operations:
            info = self.api.repo_info(plan.repo_id, repo_type="dataset", revision=branch)
            return str(info.sha)
        try:
            done = self.api.create_commit(
                plan.repo_id,
                operations,
                commit_message=title,
                commit_description=description,
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
        """Download a published package; raise an error if it differs from the local files."""
        with tempfile.TemporaryDirectory() as work:
            copy = self.fetch(repo_id, tag, Path(work))
            for name, file in files.items():
                if sha256_file(copy / name) != file.sha256:
                    raise InputError(
                        f"{name} came back changed", path=f"{repo_id}@{tag}", code="hash-mismatch"
                    )

    def fetch(self, repo_id: str, revision: str | None, into: Path | None = None) -> Path:
        """Download a Hub repository to a folder (None: the cache); return the folder."""
        folder = self.api.snapshot_download(
            repo_id, repo_type="dataset", revision=revision, local_dir=into
        )
        return Path(folder)


def check_sound(folder: Path) -> Manifest:
    """Read a package's manifest; raise an error if the package must not be published.

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
    """Get a local folder, or download the one that ``hub:ORG/NAME`` names.

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
    """Get a package's local folder, or download and verify one named ``hub:ORG/NAME``.

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
    """Copy named files of a package to another folder.

    Raises:
        InputError: one is missing, or a link.
        ValueError: not the name of a file of a package.
    """
    for name in names:
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(resolve_package_file(source, name), target)
