"""A stand-in for the Hugging Face Hub, written from the Hub's documented HTTP API.

Repositories are git-like: commits of path to blob, branches, tags, and an LFS store of its own.
`cut` closes the connection at the n-th exchange, before it is processed or after.
"""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

import yaml

MODELS = "models/"
"""Before the names of model repositories in `Hub.repos`."""
LFS = (".parquet", ".bin", ".safetensors", ".gz")
Reply = tuple[int, dict[str, str], Any]
"""Status, headers, and what is sent as JSON, or as it is where it is bytes."""


@dataclass
class Repo:
    private: bool = False
    commits: dict[str, dict[str, Any]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    pulls: list[dict[str, Any]] = field(default_factory=list)

    def commit(self, branch: str, files: dict[str, dict[str, Any]], title: str) -> str:
        parent = self.branches.get(branch)
        oid = hashlib.sha1(f"{parent}{len(self.commits)}{title}".encode()).hexdigest()
        self.commits[oid] = {"files": files, "parent": parent, "title": title}
        self.branches[branch] = oid
        return oid

    def resolve(self, revision: str) -> str | None:
        if revision in self.commits:
            return revision
        return self.branches.get(revision) or self.tags.get(revision)

    def history(self, branch: str = "main") -> list[str]:
        """Titles of a branch's commits, newest first."""
        result, at = [], self.branches.get(branch)
        while at is not None:
            result.append(self.commits[at]["title"])
            at = self.commits[at]["parent"]
        return result


@dataclass
class Hub:
    """State of the stand-in, and what happened to it."""

    repos: dict[str, Repo] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)  # git blob id to content
    lfs: dict[str, bytes] = field(default_factory=dict)  # sha256 to content
    uploads: list[str] = field(default_factory=list)  # sha256 of every LFS upload
    exchanges: list[str] = field(default_factory=list)
    cut: tuple[int, str] | None = None
    hold: threading.Event | None = None  # uploads after the first wait for it
    active: int = 0  # exchanges under way
    role: str = "write"
    user: str = "ann"
    orgs: tuple[str, ...] = ("org",)
    token: str = "hf_test"
    scoped: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Or a body waits 40 ms until the receipt of its headers is acknowledged.
    disable_nagle_algorithm = True
    hub: Hub

    def log_message(self, *args: Any) -> None:
        pass

    def exchange(self) -> None:
        with self.hub.lock:
            self.hub.active += 1
        try:
            self.answer()
        except ConnectionError:
            self.close_connection = True  # the client is gone
        finally:
            with self.hub.lock:
                self.hub.active -= 1

    do_GET = do_HEAD = do_POST = do_PUT = exchange

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = unquote(urlparse(self.path).path)
        with self.hub.lock:
            later = any(x.startswith("PUT ") for x in self.hub.exchanges)
            self.hub.exchanges.append(f"{self.command} {path}")
            number = len(self.hub.exchanges)
            cut = self.hub.cut
            hit = cut is not None and cut[0] == number
        if hit and cut is not None and cut[1] == "before":
            return self.drop()
        if self.command == "PUT" and later and self.hub.hold is not None:
            self.hub.hold.wait()
        with self.hub.lock:
            status, headers, content = self.route(path, body)
        if hit:
            return self.drop()
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        if not isinstance(content, bytes):
            self.send_header("Content-Type", "application/json")
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        return None

    def drop(self) -> None:
        self.close_connection = True
        self.connection.close()

    def error(self, status: int, code: str, message: str) -> Reply:
        headers = {"X-Error-Code": code, "X-Error-Message": message}
        return status, headers, {"error": message}

    def authorised(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {self.hub.token}"

    def route(self, path: str, body: bytes) -> Reply:
        hub = self.hub
        if path == "/api/whoami-v2":
            if not self.authorised():
                return self.error(401, "", "Invalid username or password.")
            access: dict[str, Any] = {"displayName": "test", "role": hub.role}
            if hub.role == "fineGrained":
                access["fineGrained"] = {"scoped": hub.scoped}
            return 200, {}, {
                "type": "user", "name": hub.user, "orgs": [{"name": o} for o in hub.orgs],
                "auth": {"type": "access_token", "accessToken": access},
            }  # fmt: skip
        if path == "/api/validate-yaml":
            return self.validate(json.loads(body))
        if path == "/api/repos/create":
            return self.create(json.loads(body))
        match = re.fullmatch(r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/batch", path)
        if match:
            return self.batch(match[1], json.loads(body))
        if path.startswith("/lfs-upload/"):
            oid = path.rsplit("/", 1)[1]
            if hashlib.sha256(body).hexdigest() != oid:
                return self.error(400, "", "wrong content")
            hub.lfs[oid] = body
            hub.uploads.append(oid)
            return 200, {}, b""
        if path.startswith("/lfs-verify/"):
            result = json.loads(body)
            stored = hub.lfs.get(result["oid"], b"")
            return (200, {}, {}) if len(stored) == result["size"] else self.error(404, "", "absent")
        if path.startswith("/cdn/"):
            return 200, {"Accept-Ranges": "bytes"}, hub.lfs[path.rsplit("/", 1)[1]]
        match = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if match:
            return self.resolve(*match.groups())
        match = re.fullmatch(r"/api/(datasets|models)/([^/]+/[^/]+)(?:/(.*))?", path)
        if match:
            name = match[2] if match[1] == "datasets" else f"{MODELS}{match[2]}"
            return self.api(name, match[3] or "", body)
        return self.error(404, "", f"no such page: {path}")

    def validate(self, given: dict[str, Any]) -> Reply:
        match = re.match(r"---\n(.*?)\n---", given["content"], re.DOTALL)
        try:
            content = yaml.safe_load(match[1]) if match else {}
        except yaml.YAMLError as error:
            return 400, {}, {"errors": [{"message": str(error)}], "warnings": []}
        errors = []
        if "license" in content and not re.fullmatch(r"[a-z0-9.-]+", str(content["license"])):
            errors.append({"message": '"license" must be one of the known ids'})
        for config in content.get("configs", []):
            if not config.get("config_name") or not config.get("data_files"):
                errors.append({"message": '"configs" need config_name and data_files'})
        return (400 if errors else 200), {}, {"errors": errors, "warnings": []}

    def create(self, given: dict[str, Any]) -> Reply:
        if not self.authorised() or self.hub.role == "read":
            return self.error(403, "", "You don't have the rights to create a dataset")
        name = f"{given.get('organization') or self.hub.user}/{given['name']}"
        url = f"{self.hub.url}/datasets/{name}"
        if name in self.hub.repos:
            status, headers, content = self.error(409, "", "You already created this dataset repo")
            return status, headers, {**content, "url": url}
        private = given.get("private") or given.get("visibility") == "private"
        repo = self.hub.repos[name] = Repo(bool(private))
        content = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
        self.hub.blobs[blob_id(content)] = content
        files = {".gitattributes": {"oid": blob_id(content), "size": len(content)}}
        repo.commit("main", files, "initial commit")
        return 200, {}, {"url": url, "name": name, "id": name}

    def batch(self, name: str, given: dict[str, Any]) -> Reply:
        objects = []
        for item in given["objects"]:
            oid, size = item["oid"], item["size"]
            entry: dict[str, Any] = {"oid": oid, "size": size}
            if oid not in self.hub.lfs:
                entry["actions"] = {
                    "upload": {"href": f"{self.hub.url}/lfs-upload/{name}/{oid}"},
                    "verify": {"href": f"{self.hub.url}/lfs-verify/{name}"},
                }
            objects.append(entry)
        return 200, {}, {"transfer": "basic", "objects": objects}

    def visible(self, name: str) -> Repo | None:
        repo = self.hub.repos.get(name)
        return None if repo is None or (repo.private and not self.authorised()) else repo

    def api(self, name: str, rest: str, body: bytes) -> Reply:
        repo = self.visible(name)
        if repo is None:
            return self.error(404 if self.authorised() else 401, "RepoNotFound", "not found")
        verb, _, tail = rest.partition("/")
        if verb in ("", "revision"):
            oid = repo.resolve(tail or "main")
            return self.info(name, repo, oid) if oid else self.no_revision(tail)
        if verb == "refs":

            def refs(found: dict[str, str], kind: str) -> list[dict[str, str]]:
                return [{"name": n, "ref": f"refs/{kind}/{n}", "targetCommit": c}
                        for n, c in found.items()]  # fmt: skip

            return 200, {}, {
                "branches": refs(repo.branches, "heads"), "tags": refs(repo.tags, "tags"),
                "converts": [],
            }  # fmt: skip
        if verb == "tree":
            revision, _, folder = tail.partition("/")
            oid = repo.resolve(revision)
            return self.tree(repo, oid, folder) if oid else self.no_revision(revision)
        if verb == "discussions":
            return self.discussions(repo)
        if verb == "paths-info":
            oid = repo.resolve(tail)
            given = parse_qs(body.decode()) if body[:1] not in (b"{",) else json.loads(body)
            files = repo.commits[oid]["files"] if oid else {}
            return 200, {}, [self.entry(p, files[p]) for p in given.get("paths", []) if p in files]
        proposed = parse_qs(urlparse(self.path).query).get("create_pr", ["0"])[0] == "1"
        # Whoever has a token may open a pull request, and add to it.
        proposed |= tail.startswith("refs/pr/")
        if not self.authorised() or (self.hub.role == "read" and not proposed):
            return self.error(403, "", "no write access")
        if verb == "commit" and proposed:
            return self.propose(name, repo, tail, body)
        if verb == "preupload":
            return self.preupload(repo, tail, json.loads(body))
        if verb == "commit":
            return self.commit(name, repo, tail, body)
        given = json.loads(body or b"{}")
        if verb == "tag":
            if given["tag"] in repo.tags:
                return self.error(409, "", "Tag already exists")
            repo.tags[given["tag"]] = repo.resolve(tail) or ""
            return 200, {}, b""
        if verb == "branch":
            if tail in repo.branches:
                return self.error(409, "", "Branch already exists")
            repo.branches[tail] = repo.resolve(given.get("startingPoint") or "main") or ""
            return 200, {}, b""
        return self.error(404, "", rest)

    def discussions(self, repo: Repo) -> Reply:
        asked = {k: v[0] for k, v in parse_qs(urlparse(self.path).query).items()}
        result = [
            pull for pull in repo.pulls
            if asked.get("author") in (None, pull["author"]["name"])
            and asked.get("status") in (None, "all", pull["status"])
        ]  # fmt: skip
        at = 10 * int(asked.get("p", 0))
        page = {"count": len(result), "start": at, "discussions": result[at : at + 10]}
        return 200, {}, page

    def propose(self, name: str, repo: Repo, revision: str, body: bytes) -> Reply:
        """A commit to a pull request: a new one, or `refs/pr/N`."""
        number = len(repo.pulls) + 1
        branch = revision if revision.startswith("refs/pr/") else f"refs/pr/{number}"
        if branch not in repo.branches:
            repo.branches[branch] = repo.branches["main"]
            title = json.loads(body.splitlines()[0])["value"]["summary"]
            repo.pulls.append({
                "num": number, "title": title, "status": "open", "isPullRequest": True,
                "author": {"name": self.hub.user}, "createdAt": "2024-01-01T00:00:00.000Z",
                "repo": {"name": name.removeprefix(MODELS), "type": "model"},
            })  # fmt: skip
        status, headers, content = self.commit(name, repo, branch, body)
        number = int(branch.rsplit("/", 1)[1])
        model = name.removeprefix(MODELS)
        url = f"{self.hub.url}/{model}/discussions/{number}"
        commit = f"{self.hub.url}/{model}/commit/{branch}"
        return status, headers, {**content, "pullRequestUrl": url, "commitUrl": commit}

    def no_revision(self, revision: str) -> Reply:
        return self.error(404, "RevisionNotFound", f"Invalid rev id: {revision}")

    def info(self, name: str, repo: Repo, oid: str) -> Reply:
        files = repo.commits[oid]["files"]
        return 200, {}, {
            "id": name, "_id": "1", "sha": oid, "private": repo.private, "gated": False,
            "disabled": False, "downloads": 0, "likes": 0, "tags": [], "author": name.split("/")[0],
            "lastModified": "2024-01-01T00:00:00.000Z", "createdAt": "2024-01-01T00:00:00.000Z",
            "siblings": [{"rfilename": p} for p in files],
        }  # fmt: skip

    def entry(self, path: str, file: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {
            "type": "file", "path": path, "size": file["size"], "oid": file["oid"],
        }  # fmt: skip
        if "sha256" in file:
            lfs = {"oid": file["sha256"], "size": file["size"], "pointerSize": 134}
            result["lfs"] = lfs
        return result

    def tree(self, repo: Repo, oid: str, folder: str) -> Reply:
        query = parse_qs(urlparse(self.path).query)
        recursive = query.get("recursive", ["false"])[0].lower() == "true"
        prefix = f"{folder}/" if folder else ""
        result: dict[str, dict[str, Any]] = {}
        for path, file in repo.commits[oid]["files"].items():
            if not path.startswith(prefix):
                continue
            parts = path[len(prefix) :].split("/")
            for depth in range(1, len(parts)):
                name = prefix + "/".join(parts[:depth])
                if recursive or depth == 1:
                    result[name] = {"type": "directory", "path": name, "size": 0,
                                   "oid": hashlib.sha1(name.encode()).hexdigest()}  # fmt: skip
            if recursive or len(parts) == 1:
                result[path] = self.entry(path, file)
        if folder and not result:
            return self.error(404, "EntryNotFound", folder)
        return 200, {}, list(result.values())

    def preupload(self, repo: Repo, revision: str, given: dict[str, Any]) -> Reply:
        if revision not in repo.branches:
            return self.error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        files = repo.commits[repo.branches[revision]]["files"]
        result = []
        for item in given["files"]:
            mode = "lfs" if item["path"].endswith(LFS) or item["size"] > 10e6 else "regular"
            there = files.get(item["path"], {})
            oid = there.get("sha256" if mode == "lfs" else "oid")
            result.append({"path": item["path"], "uploadMode": mode, "shouldIgnore": False,
                          **({"oid": oid} if oid else {})})  # fmt: skip
        return 200, {}, {"files": result}

    def commit(self, name: str, repo: Repo, branch: str, body: bytes) -> Reply:
        files = dict(repo.commits[repo.branches[branch]]["files"])
        title = ""
        for line in body.splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "header":
                title = value["summary"]
                if value.get("parentCommit") not in (None, repo.branches[branch]):
                    return self.error(412, "", "A commit has happened since. Please refresh.")
            elif item["key"] == "file":
                content = base64.b64decode(value["content"])
                self.hub.blobs[blob_id(content)] = content
                files[value["path"]] = {"oid": blob_id(content), "size": len(content)}
            elif item["key"] == "lfsFile":
                if value["oid"] not in self.hub.lfs:
                    return self.error(400, "", f"LFS object {value['oid']} was not uploaded")
                size = len(self.hub.lfs[value["oid"]])
                pointer = hashlib.sha1(value["oid"].encode()).hexdigest()
                files[value["path"]] = {"oid": pointer, "size": size, "sha256": value["oid"]}
            elif item["key"] == "deletedFile" and files.pop(value["path"], None) is None:
                return self.error(404, "EntryNotFound", "A file with this name doesn't exist")
        oid = repo.commit(branch, files, title)
        url = f"{self.hub.url}/datasets/{name}/commit/{oid}"
        return 200, {}, {"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""}

    def resolve(self, name: str, revision: str, path: str) -> Reply:
        repo = self.visible(name)
        if repo is None:
            return self.error(401, "RepoNotFound", "Repository not found")
        oid = repo.resolve(revision)
        if oid is None:
            return self.no_revision(revision)
        file = repo.commits[oid]["files"].get(path)
        if file is None:
            return self.error(404, "EntryNotFound", "Entry not found")
        headers = {"X-Repo-Commit": oid, "Accept-Ranges": "bytes"}
        if "sha256" in file:
            elsewhere = self.hub.url.replace("127.0.0.1", "localhost")
            headers |= {
                "ETag": f'"{file["oid"]}"',
                "X-Linked-ETag": f'"{file["sha256"]}"',
                "X-Linked-Size": str(file["size"]),
                "Location": f"{elsewhere}/cdn/{file['sha256']}",
            }
            return 302, headers, b""
        headers["ETag"] = f'"{file["oid"]}"'
        return 200, headers, self.hub.blobs[file["oid"]]


@contextmanager
def hub_server(**state: Any) -> Iterator[Hub]:
    """A running stand-in."""
    hub = Hub(**state)
    handler = type("Bound", (Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main() -> None:
    """Run a stand-in until Ctrl-C, and print what a shell needs to talk to it."""
    with hub_server() as hub:
        print(f"export HF_ENDPOINT={hub.url} HF_TOKEN={hub.token} HF_HUB_DISABLE_XET=1", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
