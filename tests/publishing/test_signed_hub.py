"""Signed packages on a stand-in for the Hub."""

import shutil
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.package.manifest import SIGNATURE
from citeforge.publishing.hub_changes import Published, PublishPlan
from citeforge.publishing.signing import Signer
from conftest import Inline, refused
from servers.hub import Hub
from signing_keys import make_key

pytest.importorskip("model_signing", reason="the extra sign")
pytestmark = pytest.mark.usefixtures("environment")
REPO = "org/small"


def states(plan: Published | PublishPlan) -> dict[str, str]:
    assert isinstance(plan, PublishPlan)
    return {change.path: change.state for change in plan.changes}


def test_a_signed_package(small: Path, hub: Hub, tmp_path: Path, inline: Inline) -> None:
    private, public = make_key(tmp_path, "owner")
    _, other = make_key(tmp_path, "other")
    ask = ("publish", small, "--repo-id", REPO, "--sign-key", private)
    files = (*cf.load(small).manifest.files, "manifest.json", SIGNATURE)
    plan = cf.publish(small, REPO, sign_key=private, dry_run=True).package
    assert states(plan) == dict.fromkeys(files, "new")
    assert hub.repos == {}
    first = inline.ok(*ask).stdout
    history, uploads = hub.repos[REPO].history(), list(hub.uploads)
    verify = ("verify", f"hub:{REPO}@v1.0.0")
    assert "as this signer signed them" in inline.ok(*verify, "--key", public).stdout
    inline.fails(1, "bad-signature", *verify, "--key", other)
    assert "signature: not checked" in inline.ok(*verify).stdout
    # Two signatures of one key differ: the first one stays, so that nothing is sent again.
    assert inline.ok(*ask).stdout == first
    assert (hub.repos[REPO].history(), hub.uploads) == (history, uploads)
    plan = cf.publish(small, REPO, sign_key=private, dry_run=True).package
    assert set(states(plan).values()) == {"same"}
    # The package itself is as before.
    assert not (small / SIGNATURE).exists()
    inline.ok("verify", small)


def test_the_card_says_how_to_check(small: Path, hub: Hub, tmp_path: Path) -> None:
    private, _ = make_key(tmp_path, "owner")
    cf.publish(small, REPO, sign_key=private)
    folder = cf.load(f"hub:{REPO}").folder
    assert f"citeforge verify hub:{REPO} --key PUBLIC.pem" in (folder / "README.md").read_text()
    assert "## Signature" not in (small / "README.md").read_text()


def test_a_copy_of_a_signed_package_names_its_own_repository(
    small: Path, hub: Hub, tmp_path: Path
) -> None:
    private, _ = make_key(tmp_path, "owner")
    cf.publish(small, REPO, sign_key=private)
    copy = cf.load(f"hub:{REPO}").folder
    cf.publish(copy, "org/unsigned")
    assert "model.sig" not in (cf.load("hub:org/unsigned").folder / "README.md").read_text()
    cf.publish(copy, "org/signed", sign_key=private)
    card = (cf.load("hub:org/signed").folder / "README.md").read_text()
    assert card.count("## Signature") == 1
    assert "citeforge verify hub:org/signed --key PUBLIC.pem" in card


def test_a_key_without_a_name_is_no_request_to_publish_unsigned(
    small: Path, hub: Hub, tmp_path: Path
) -> None:
    with refused("missing-file"):
        cf.publish(small, REPO, sign_key="")
    with refused("conflicting-options"):
        cf.publish(small, REPO, sign=True, sign_key=make_key(tmp_path, "owner")[0])
    assert hub.repos == {}


def test_a_signature_that_is_left_out_is_told_of(
    small: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    (small / SIGNATURE).write_text("{}")
    assert SIGNATURE not in states(cf.publish(small, REPO, dry_run=True).package)
    assert "model.sig is left out; --sign-key FILE or --sign signs" in capsys.readouterr().err


def test_another_key_cannot_sign_a_published_version(small: Path, hub: Hub, tmp_path: Path) -> None:
    for name in ("owner", "other"):
        make_key(tmp_path, name)
    cf.publish(small, REPO, sign_key=tmp_path / "owner.pem")
    with refused("output-exists") as caught:
        cf.publish(small, REPO, sign_key=tmp_path / "other.pem")
    assert "model.sig differs there" in str(caught.value)


def test_the_next_version_without_a_signature_takes_the_old_one_away(
    small: Path, hub: Hub, tmp_path: Path, inline: Inline
) -> None:
    private, public = make_key(tmp_path, "owner")
    cf.publish(small, REPO, sign_key=private)
    later = tmp_path / "small"
    shutil.copytree(small, later)
    cf.card(later, version="1.1.0")
    assert states(cf.publish(later, REPO, dry_run=True).package)[SIGNATURE] == "removed"
    cf.publish(later, REPO)
    inline.fails(1, "not-signed", "verify", f"hub:{REPO}@v1.1.0", "--key", public)
    inline.ok("verify", f"hub:{REPO}@v1.0.0", "--key", public)


def test_nothing_is_made_where_a_key_cannot_sign(
    small: Path, hub: Hub, tmp_path: Path, inline: Inline
) -> None:
    _, public = make_key(tmp_path, "owner")
    for dry in ((), ("--dry-run",)):
        ask = ("publish", small, "--repo-id", REPO, "--sign-key", public, *dry)
        inline.fails(1, "bad-key", *ask)
    assert hub.repos == {}


def test_sigstore_signs_when_it_is_published_and_not_before(
    small: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = cf.publish(small, REPO, sign=True, dry_run=True)
    assert SIGNATURE not in states(plan.package)
    asked = []
    monkeypatch.setattr(
        Signer, "sign", lambda signer, files, earlier=None: asked.append(signer) or b"{}"
    )
    cf.publish(small, REPO, sign=True)
    assert asked == [Signer(None)]
    repo = hub.repos[REPO]
    assert SIGNATURE in repo.commits[repo.branches["main"]]["files"]


def test_a_public_half_is_signed(
    hidden_package: Path, hub: Hub, tmp_path: Path, inline: Inline
) -> None:
    private, public = make_key(tmp_path, "owner")
    whole = tmp_path / "hidden"
    shutil.copytree(hidden_package, whole)
    cf.card(whole, licence="cc0-1.0")
    cf.publish(whole, REPO, hide_gold=True, sign_key=private)
    inline.ok("verify", f"hub:{REPO}", "--key", public)
