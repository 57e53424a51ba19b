"""Publishing against a stand-in for the Hub: cuts, kills, refusals, reading back."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.builders.derive import Base
from citeforge.builders.package import manifest_digest, render_manifest
from citeforge.builders.verify import verify
from citeforge.package.manifest import load_intact, read_stats
from citeforge.publishing.card import write_card
from citeforge.publishing.hidden import join_package, split_package
from citeforge.publishing.hub import Publisher, package_files, parse_hub
from citeforge.publishing.hub_changes import PublishPlan
from citeforge.publishing.hub_errors import hub_errors
from conftest import Inline, content, refused
from servers.hub import Hub, hub_server

REPO = "org/small"


pytestmark = pytest.mark.usefixtures("environment")


def publisher(hub: Hub) -> Publisher:
    return Publisher(hub.url, hub.token)


def test_publishing_from_python(small: Path, hub: Hub) -> None:
    plan = cf.publish(small, REPO, dry_run=True)
    assert isinstance(plan.package, PublishPlan)
    assert {c.state for c in plan.package.changes} == {"new"}
    assert hub.repos == {}
    done = cf.publish(small, REPO, private=True)
    assert (done.package, done.gold) == (publisher(hub).publish(small, REPO), None)
    assert hub.repos[REPO].private


def test_what_is_published_names_no_folder_of_this_machine_and_is_sound(
    small: Path, tmp_path: Path
) -> None:
    here = str(small.parent)
    assert here in (small / "manifest.json").read_text()
    for name, file in package_files(small, REPO).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        data = file.path.read_bytes() if file.content is None else file.content
        assert here.encode() not in data, name
        (tmp_path / name).write_bytes(data)
    assert verify(tmp_path) == []
    card = (tmp_path / "README.md").read_text()
    assert "--benchmark hub:org/small\n" in card and "ORG/NAME" not in card
    assert load_intact(tmp_path).benchmark_hash == load_intact(small).benchmark_hash


def test_publish_and_publish_again(small: Path) -> None:
    with hub_server() as hub:
        plan = publisher(hub).plan(small, REPO)
        assert not plan.exists
        assert {c.state for c in plan.changes} == {"new"}
        assert hub.repos == {}  # a dry run changes nothing
        first = publisher(hub).publish(small, REPO, private=True)
        repo = hub.repos[REPO]
        assert repo.private
        assert repo.history() == ["small 1.0.0", "initial commit"]
        assert repo.tags == {"v1.0.0": first.commit}
        uploads = list(hub.uploads)
        assert len(uploads) == sum(n.endswith(".parquet") for n in load_intact(small).files)
        again = publisher(hub).publish(small, REPO)
        assert again == first
        assert repo.history() == ["small 1.0.0", "initial commit"]
        assert hub.uploads == uploads
        assert {c.state for c in publisher(hub).plan(small, REPO).changes} == {"same"}


def exchanges_of(small: Path) -> list[str]:
    with hub_server() as hub:
        publisher(hub).publish(small, REPO)
        return hub.exchanges


def is_interrupted(small: Path, cut: tuple[int, str]) -> bool:
    """Cut one exchange, and publish again after an error; all is as if nothing had happened."""
    expected, interrupted = load_intact(small), False
    with hub_server(cut=cut) as hub:
        try:
            publisher(hub).publish(small, REPO)
        except cf.InputError as error:
            interrupted = True
            assert error.code == "hub-failed"
            assert "run the same command again" in str(error.allowed)
            hub.cut = None
            publisher(hub).publish(small, REPO)
        repo = hub.repos[REPO]
        assert repo.history() == ["small 1.0.0", "initial commit"], cut
        assert list(repo.tags) == ["v1.0.0"]
        # The client itself sends a file again whose receipt was lost; nothing else goes twice.
        lost = cut[1] == "after" and "lfs-upload" in hub.exchanges[cut[0] - 1]
        assert len(hub.uploads) - len(set(hub.uploads)) <= lost, cut
        files = repo.commits[repo.tags["v1.0.0"]]["files"]
        stored = {n: f["sha256"] for n, f in files.items() if "sha256" in f}
        assert stored == {n: s for n, s in expected.files.items() if n.endswith(".parquet")}
    return interrupted


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_cut_before_or_after_the_commit(small: Path, when: str) -> None:
    (number,) = (n for n, x in enumerate(exchanges_of(small), 1) if "/commit/" in x)
    assert is_interrupted(small, (number, when))


@pytest.mark.slow
def test_a_cut_at_every_exchange_in_turn(small: Path) -> None:
    """The connection is closed at the n-th exchange, once before the Hub acts on it, and for writes
    once after (the reply is lost). Run again, all is as if nothing had happened."""
    exchanges = exchanges_of(small)
    assert len(exchanges) > 25
    cases = [(n, "before") for n in range(1, len(exchanges) + 1)]
    cases += [(n, "after") for n, x in enumerate(exchanges, 1) if x.startswith(("POST", "PUT"))]
    # Some cuts the client rides out by itself, some it cannot.
    assert sum(is_interrupted(small, cut) for cut in cases) >= 5


def environment_of(hub: Hub) -> dict[str, str]:
    return {
        "HF_ENDPOINT": hub.url, "HF_TOKEN": hub.token, "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }  # fmt: skip


@pytest.mark.slow
def test_killed_between_uploads_and_run_again(small: Path) -> None:
    """SIGKILL of the real command while files go up: what is there is not sent again."""
    with hub_server(hold=threading.Event()) as hub:
        words = [sys.executable, "-m", "citeforge", "publish", str(small), "--repo-id", REPO]
        env = {**os.environ, **environment_of(hub)}
        process = subprocess.Popen(words, env=env)
        while not hub.uploads:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert hub.repos[REPO].history() == ["initial commit"]
        assert hub.hold is not None
        hub.hold.set()
        while hub.active:  # uploads that had arrived at the kill end on the server
            time.sleep(0.01)
        before = set(hub.uploads)
        result = subprocess.run(words, env=env, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        assert "read back and compared" in result.stdout
        assert before
        hashes = load_intact(small).files
        assert before <= {s for n, s in hashes.items() if n.endswith(".parquet")}
        assert len(hub.uploads) == len(set(hub.uploads))
        assert hub.repos[REPO].history() == ["small 1.0.0", "initial commit"]


def test_a_dry_run_needs_no_network(
    small: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No program listens on port 9 of this machine."""
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    words = ("publish", small, "--repo-id", REPO)
    result = inline.ok(*words, "--dry-run", HF_TOKEN="t")
    n = len(load_intact(small).files) + 1
    assert f"{REPO} cannot be read because the Hub does not answer" in result.stdout
    assert f"{n} of {n} files would change" in result.stdout
    inline.fails(1, "hub-failed", *words, HF_TOKEN="t")


def test_dry_run_and_score_from_the_hub(
    small: Path, inline: Inline, tmp_path: Path, hub: Hub
) -> None:
    result = inline.ok("publish", small, "--repo-id", REPO, "--dry-run")
    assert "would be created" in result.stdout
    assert hub.repos == {}
    inline.ok("publish", small, "--repo-id", REPO)
    there = ("--benchmark", f"hub:{REPO}@v1.0.0")
    inline.ok("run", "random", *there, "--out", "s.jsonl")
    fetched = sum(x.startswith("GET /cdn/") for x in hub.exchanges)
    result = inline.ok("score", "s.jsonl", *there)
    assert "CiteF1" in result.stdout
    # Downloaded once: the second command takes the tables from the cache.
    assert sum(x.startswith("GET /cdn/") for x in hub.exchanges) == fetched
    local = inline("score", "s.jsonl", "--benchmark", small)
    assert local.stdout == result.stdout
    inline.ok("verify", f"hub:{REPO}")
    inline.fails(1, "hub-refused", "score", "s.jsonl", "--benchmark", "hub:org/none")


@pytest.mark.slow
def test_every_command_reads_benchmarks_from_the_hub(
    small: Path, inline: Inline, tmp_path: Path, hub: Hub
) -> None:
    """Exports, sheets for annotators, held-out questions, recipes and derived builds."""
    inline.ok("publish", small, "--repo-id", REPO)
    inline.ok("run", "random", "--benchmark", small, "--out", "s.jsonl")
    for kind, source in (("here", small), ("there", f"hub:{REPO}@v1.0.0")):
        (tmp_path / kind).mkdir()
        inline.ok("export", "beir", source, "--out", f"{kind}/beir")
        sent = ("--submission", "s.jsonl")
        inline.ok("export", "trec-rag24", source, "--out", f"{kind}/trec", *sent, "--team", "us")
        sheet = ("--benchmark", source, "--task", "audit-negative", "--sample", 9)
        inline.ok("labels", "export", *sheet, "--out", f"{kind}/sheet.csv")
        held_out = inline("export", "sft", source, "--out", f"{kind}/sft", *sent,
                          "--held-out", source, "--min-f1", 0)  # fmt: skip
        assert held_out.code == "too-few", held_out.stderr  # all its questions are held out
        recipe = inline.ok("build", "--print-recipe", "--from", source)
        assert "\nkind: rage\n" in recipe.stdout
        inline.ok("build", "position", "--benchmark", source, "--k", 3, "--out", f"{kind}/position")
    (tmp_path / "here" / "position" / "manifest.json").unlink()
    (tmp_path / "there" / "position" / "manifest.json").unlink()
    assert content(tmp_path / "here") == content(tmp_path / "there")
    # What writes into a package says that a copy is not the place.
    for words in (("audit",), ("export", "card")):
        assert inline(*words, f"hub:{REPO}").code == "wrong-type"


@pytest.mark.slow
def test_datasets_reads_what_was_published(small: Path, tmp_path: Path) -> None:
    """In an interpreter of its own: `datasets` reads its environment when it is imported."""
    with hub_server() as hub:
        publisher(hub).publish(small, REPO)
        script = (
            "import datasets\n"
            f"c = datasets.load_dataset({REPO!r}, 'corpus', revision='v1.0.0')\n"
            f"m = datasets.load_dataset({REPO!r}, 'contexts')\n"
            "print(c['corpus'].num_rows, m['mix'][0]['docs'][0]['label'])\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True,
            env={**os.environ, **environment_of(hub), "HF_HOME": str(tmp_path / "fresh"),
                 "HF_DATASETS_OFFLINE": "0", "HF_UPDATE_DOWNLOAD_COUNTS": "0"},
        )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[0] == "6"


@pytest.mark.slow
def test_hidden_gold(hidden_package: Path, inline: Inline, tmp_path: Path, hub: Hub) -> None:
    folder = tmp_path / "facts"
    shutil.copytree(hidden_package, folder)
    relicence(folder, "apache-2.0")
    public, gold = split_package(folder, tmp_path / "public", tmp_path / "gold")
    assert verify(tmp_path / "public") == []
    names = {p.parent.name for p in (tmp_path / "public").rglob("*.parquet")}
    assert names == {"corpus", "queries", "contexts"}
    shown = Base(tmp_path / "public").shown_passages("mix")
    assert {d["label"] for docs in shown.values() for d in docs} == {"unjudged"}
    assert Base(tmp_path / "public").relevant == {q: [] for q in shown}
    assert public.benchmark_hash != gold.benchmark_hash
    # What is public is counted there: a statistic that labels enter never comes along.
    stats, whole = read_stats(tmp_path / "public"), read_stats(folder)
    assert set(stats) == {
        "queries",
        "passages",
        "passages_with_a_title",
        "words_per_passage_mean",
        "words_per_passage_longest",
        "context_passages_mean[mix]",
        "words_per_passage",
    }
    assert {k: stats[k] for k in stats if k in whole} == {k: whole[k] for k in stats if k in whole}
    joined = join_package(tmp_path / "public", tmp_path / "gold", tmp_path / "joined")
    assert joined == (gold, public.benchmark_hash)
    assert content(folder) == content(tmp_path / "joined")
    inline.ok("publish", folder, "--repo-id", REPO, "--hide-gold")
    assert not hub.repos[REPO].private
    assert hub.repos[f"{REPO}-gold"].private
    there = ("--benchmark", f"hub:{REPO}")
    inline.ok("run", "random", *there, "--out", "s.jsonl")
    half = ("--gold", f"hub:{REPO}-gold")
    result = inline.ok("score", "s.jsonl", *there, *half, "--out", "scores/s.json")
    site = ("leaderboard", "build", *there, *half, "--scores", "scores", "--out", "site")
    assert "1 control," in inline(*site).stdout
    # The submission names the public half; the scores are those of the whole benchmark.
    lines = (tmp_path / "s.jsonl").read_text().replace(public.benchmark_hash, gold.benchmark_hash)
    (tmp_path / "t.jsonl").write_text(lines)
    whole = inline("score", "t.jsonl", "--benchmark", folder)
    assert whole.stdout.replace("(t)", "") == result.stdout
    # Again: nothing new is committed, in either repository.
    inline.ok("publish", folder, "--repo-id", REPO, "--hide-gold")
    assert len(hub.repos[REPO].history()) == len(hub.repos[f"{REPO}-gold"].history()) == 2
    # A dry run compares both halves; another branch gets both, too.
    planned = inline.ok("publish", folder, "--repo-id", REPO, "--hide-gold", "--dry-run").stdout
    *files, summary = planned.partition(f"{REPO}-gold (private) exists\n")[2].splitlines()
    assert {line.split()[0] for line in files} == {"same"}
    assert summary == f"0 of {len(files)} files would change, 0 B to send"
    draft = ("--hide-gold", "--revision", "draft")
    inline.ok("publish", folder, "--repo-id", REPO, *draft)
    assert "draft" in hub.repos[f"{REPO}-gold"].branches


def relicence(folder: Path, licence: str | None, source: str | None = "apache-2.0") -> None:
    """Set licences in a manifest, hashes included, as a build with --licence would."""
    manifest = load_intact(folder)
    sources = [s.model_copy(update={"licence": source}) for s in manifest.sources]
    manifest = manifest.model_copy(
        update={"licence": licence, "sources": sources, "manifest_sha256": ""}
    )
    manifest.manifest_sha256 = manifest_digest(manifest)
    (folder / "manifest.json").write_text(render_manifest(manifest))


@pytest.mark.parametrize(
    ("state", "detail"),
    [
        ({"role": "read"}, "(read)"),
        ({"user": "bob", "orgs": ("other",)}, "not a member of org"),
        ({"role": "fineGrained"}, "(fineGrained)"),
        ({"token": "hf_other"}, "401"),
    ],
)
def test_tokens_that_may_not_write(small: Path, state: dict[str, object], detail: str) -> None:
    with hub_server(**state) as hub:
        with refused("hub-refused", path=REPO) as caught:
            Publisher(hub.url, "hf_test").publish(small, REPO)
        assert detail in str(caught.value)
        assert hub.repos == {}


def test_a_fine_grained_token_for_the_repository(small: Path) -> None:
    scoped = [{"entity": {"name": REPO}, "permissions": ["repo.write"]}]
    with hub_server(role="fineGrained", scoped=scoped) as hub:
        assert publisher(hub).publish(small, REPO).tag == "v1.0.0"


LICENCES = [
    (None, "apache-2.0", "has no licence"),
    ("mit", None, "no stated licence"),
    ("mit", "cc-by-sa-4.0", "build with --licence cc-by-sa-4.0"),
    ("cc-by-nd-4.0", "cc-by-nd-4.0", "no derived works"),
]


@pytest.mark.parametrize(("licence", "source", "detail"), LICENCES)
def test_licences_that_do_not_hold(
    small: Path, tmp_path: Path, licence: str | None, source: str | None, detail: str
) -> None:
    shutil.copytree(small, tmp_path / "x")
    relicence(tmp_path / "x", licence, source)
    with hub_server() as hub:
        with refused("bad-licence", path=tmp_path / "x", field="licence") as caught:
            publisher(hub).publish(tmp_path / "x", REPO)
        assert detail in str(caught.value)
        assert "licence: licence" not in str(caught.value)
        assert hub.exchanges == []


def test_an_unsound_package_is_refused(small: Path, tmp_path: Path) -> None:
    shutil.copytree(small, tmp_path / "x")
    next((tmp_path / "x" / "corpus").glob("*.parquet")).write_bytes(b"x")
    with hub_server() as hub, refused("hash-mismatch", path=tmp_path / "x"):
        publisher(hub).publish(tmp_path / "x", REPO)


def test_a_version_is_never_changed_and_a_new_one_is_one_commit_more(
    small: Path, tmp_path: Path
) -> None:
    shutil.copytree(small, tmp_path / "x")
    with hub_server() as hub:
        publisher(hub).publish(small, REPO)
        (tmp_path / "x" / "card.md").write_text("Another text.\n")
        write_card(tmp_path / "x")
        with refused("output-exists", path=REPO):
            publisher(hub).publish(tmp_path / "x", REPO)
        write_card(tmp_path / "x", version="1.1.0")
        plan = publisher(hub).plan(tmp_path / "x", REPO)
        assert {c.path for c in plan.uploads_and_deletions()} == {
            "README.md", "card.md", "croissant.json", "manifest.json",
        }  # fmt: skip
        publisher(hub).publish(tmp_path / "x", REPO)
        assert hub.repos[REPO].history() == ["small 1.1.0", "small 1.0.0", "initial commit"]
        assert sorted(hub.repos[REPO].tags) == ["v1.0.0", "v1.1.0"]
        publisher(hub).publish(tmp_path / "x", REPO, branch="next")


def test_names() -> None:
    assert parse_hub("hub:a/b") == ("a/b", None)
    assert parse_hub("hub:a/b@v1") == ("a/b", "v1")
    assert parse_hub("out/facts") is None
    with refused("bad-option", cf.UsageError):
        parse_hub("hub:alone")


def test_errors_of_the_hub_are_one_short_line_without_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = "hf_" + "aBcDeFgHiJkLmNoPq" * 2
    monkeypatch.setenv("HF_TOKEN", token)
    said = f"no access\nwith {token}; " + "word " * 500
    with refused("hub-failed", path="org/x") as error, hub_errors("org/x"):
        raise ConnectionError(said)
    assert "(no access with [key]; word word" in str(error.value)
    assert "word …)" in str(error.value)
    assert len(str(error.value)) < 800


def test_errors_of_the_hub_end_where_a_sentence_ends() -> None:
    first = "The first sentence says what is wrong" + " and why" * 40 + "."
    rest = "The second one says what to do" + " next" * 70 + "."
    for said, shown in [
        (f"{first} Short end.", f"({first} Short end.)"),
        (f"{first} {rest}", f"({first})"),
        ("word " * 500, "word …)"),
    ]:
        with refused("hub-failed", path="org/x") as error, hub_errors("org/x"):
            raise ConnectionError(said)
        assert shown in str(error.value)
        assert len(str(error.value)) < 800


def test_a_hub_that_is_switched_off_is_not_tried_again() -> None:
    from huggingface_hub.errors import OfflineModeIsEnabled

    with refused("hub-failed", path="org/x") as error, hub_errors("org/x"):
        raise OfflineModeIsEnabled("Cannot reach it: offline mode is enabled.")
    assert "unset HF_HUB_OFFLINE" in str(error.value)
    assert "again" not in str(error.value)
