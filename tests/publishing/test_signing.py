"""Signatures of packages by keys that a test makes; by Sigstore without its servers."""

import base64
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from citeforge.publishing import signing
from citeforge.publishing.signing import SignatureCheck, check_signature, sign_package
from conftest import Inline, refused
from signing_keys import make_key

pytest.importorskip("model_signing", reason="the extra sign")
from cryptography.hazmat.primitives.asymmetric import ec


@pytest.fixture(scope="module")
def original(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key of an owner and a package that it has signed."""
    root = tmp_path_factory.mktemp("signed")
    private, _ = make_key(root, "owner")
    shutil.copytree(package, root / "package")
    sign_package(root / "package", private)
    return root


@pytest.fixture
def signed(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_the_tool_itself_reads_the_signature(signed: Path, inline: Inline) -> None:
    from model_signing import verifying

    config = verifying.Config().use_elliptic_key_verifier(public_key=signed / "owner.pub")
    config.verify(signed / "package", signed / "package" / "model.sig")
    bundle = json.loads((signed / "package" / "model.sig").read_text())
    statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
    names = {row["name"] for row in statement["predicate"]["resources"]}
    below = {
        p.relative_to(signed / "package").as_posix() for p in (signed / "package").rglob("*.*")
    }
    assert names == below - {"model.sig"}


def test_verify(signed: Path, inline: Inline) -> None:
    package, key = signed / "package", signed / "owner.pub"
    assert "signature: not checked" in inline.ok("verify", package).stdout
    assert "as this signer signed them" in inline.ok("verify", package, "--key", key).stdout
    shown = json.loads(inline.ok("verify", package, "--key", key, "--json").stdout)
    assert shown["result"]["signature"] == "checked"
    # What is beside a package is none of it, as .gitattributes on the Hub.
    (package / "notes.txt").write_text("mine")
    inline.ok("verify", package, "--key", key)


def test_a_package_without_a_signature(package: Path, signed: Path, inline: Inline) -> None:
    assert "signature" not in inline.ok("verify", package).stdout
    inline.fails(1, "not-signed", "verify", package, "--key", signed / "owner.pub")


def test_another_key(signed: Path, tmp_path: Path, inline: Inline) -> None:
    _, other = make_key(tmp_path, "other")
    ran = inline.fails(1, "bad-signature", "verify", signed / "package", "--key", other)
    assert "is not the signature of this key" in ran.stderr


def test_a_tampered_file(signed: Path, inline: Inline) -> None:
    with (signed / "package" / "README.md").open("a") as file:
        file.write("more\n")
    inline.fails(1, "schema-mismatch", "verify", signed / "package", "--key", signed / "owner.pub")
    with refused("hash-mismatch") as caught:
        check_signature(signed / "package", SignatureCheck(signed / "owner.pub"))
    assert str(caught.value).startswith(
        f"{signed / 'package' / 'README.md'}: differs from what was"
    )


def test_a_file_that_fits_its_manifest_and_not_the_signature(signed: Path, inline: Inline) -> None:
    """Whoever may write can make manifest and files agree; the signature cannot be made anew."""
    inline.ok("export", "card", signed / "package", "--licence", "cc0-1.0")
    inline.ok("verify", signed / "package")
    key = signed / "owner.pub"
    ran = inline.fails(1, "hash-mismatch", "verify", signed / "package", "--key", key)
    assert "differs from what was signed, and so do" in ran.stderr
    inline.ok("export", "signature", signed / "package", "--sign-key", signed / "owner.pem")
    inline.ok("verify", signed / "package", "--key", key)


def change_statement(path: Path, change: Any) -> None:
    """Change the signed statement of a bundle, which its signature then fits no more."""
    bundle = json.loads(path.read_text())
    statement = json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"]))
    change(statement["predicate"]["resources"])
    text = json.dumps(statement).encode()
    bundle["dsseEnvelope"]["payload"] = base64.b64encode(text).decode()
    path.write_text(json.dumps(bundle))


def test_a_statement_that_was_changed_with_the_file(signed: Path) -> None:
    path = signed / "package" / "model.sig"
    change_statement(path, lambda rows: rows.append({**rows[0], "name": "model.sig"}))
    with refused("bad-signature"):
        check_signature(signed / "package", SignatureCheck(signed / "owner.pub"))


def test_a_file_that_nobody_signed(signed: Path) -> None:
    path = signed / "package" / "model.sig"
    change_statement(path, lambda rows: rows.pop(0))
    with refused("hash-mismatch") as caught:
        check_signature(signed / "package", SignatureCheck(signed / "owner.pub"))
    assert "README.md: is not signed" in str(caught.value)


@pytest.mark.parametrize("name", ["audit.json", "card.md", "eval.yaml", "secret.hex"])
def test_an_unsigned_file_that_readers_would_take(signed: Path, inline: Inline, name: str) -> None:
    """Whoever may write to a repository can add files that the manifest does not list."""
    (signed / "package" / name).write_text("{}")
    key = signed / "owner.pub"
    ran = inline.fails(1, "hash-mismatch", "verify", signed / "package", "--key", key)
    assert f"{name}: is not signed" in ran.stderr


def test_the_signature_of_another_package(
    signed: Path, kalma_package: Path, tmp_path: Path
) -> None:
    other = tmp_path / "kalma"
    shutil.copytree(kalma_package, other)
    shutil.copyfile(signed / "package" / "model.sig", other / "model.sig")
    with refused("hash-mismatch") as caught:
        check_signature(other, SignatureCheck(signed / "owner.pub"))
    assert "of another package" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"dsseEnvelope": {"payload": "%%"}}'])
def test_what_is_no_signature(signed: Path, text: str) -> None:
    (signed / "package" / "model.sig").write_text(text)
    with refused("bad-signature" if text else "bad-json"):
        check_signature(signed / "package", SignatureCheck(signed / "owner.pub"))


@pytest.mark.parametrize("value", [None, "x", 3, []])
@pytest.mark.parametrize(
    "place",
    [("verificationMaterial",), ("verificationMaterial", "publicKey"),
     ("dsseEnvelope", "payload"), ("dsseEnvelope", "payloadType"), ("dsseEnvelope", "signatures"),
     ("dsseEnvelope", "signatures", 0), ("dsseEnvelope", "signatures", 0, "sig"), ("mediaType",)],
)  # fmt: skip
def test_damaged_signatures(signed: Path, place: tuple[str | int, ...], value: object) -> None:
    path = signed / "package" / "model.sig"
    bundle = json.loads(path.read_text())
    inner = bundle
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path.write_text(json.dumps(bundle))
    with refused("bad-signature"):
        check_signature(signed / "package", SignatureCheck(signed / "owner.pub"))


@pytest.mark.parametrize("curve", [ec.SECP384R1, ec.SECP521R1])
def test_other_curves(signed: Path, tmp_path: Path, curve: type[ec.EllipticCurve]) -> None:
    private, public = make_key(tmp_path, "other", curve)
    sign_package(signed / "package", private)
    assert check_signature(signed / "package", SignatureCheck(public)) == 10


def test_keys_that_cannot_sign(signed: Path, tmp_path: Path) -> None:
    private, public = make_key(tmp_path, "coin", ec.SECP256K1)
    for key, check in ((private, public), (public, private), (tmp_path / "model.sig",) * 2):
        with refused("missing-file" if key.suffix == ".sig" else "bad-key"):
            sign_package(signed / "package", key)
        with refused("missing-file" if key.suffix == ".sig" else "bad-key"):
            check_signature(signed / "package", SignatureCheck(check))
    check_signature(signed / "package", SignatureCheck(signed / "owner.pub"))


def test_an_encrypted_key(signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = make_key(tmp_path, "locked", password="open sesame")
    with refused("bad-key") as caught:
        sign_package(signed / "package", private)
    assert signing.PASSWORD in str(caught.value)
    monkeypatch.setenv(signing.PASSWORD, "wrong")
    with refused("bad-key"):
        sign_package(signed / "package", private)
    monkeypatch.setenv(signing.PASSWORD, "open sesame")
    sign_package(signed / "package", private)
    check_signature(signed / "package", SignatureCheck(public))


def test_a_damaged_package_is_not_signed(signed: Path) -> None:
    (signed / "package" / "stats.json").write_text("{}")
    with refused("hash-mismatch"):
        sign_package(signed / "package", signed / "owner.pem")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--key", "k.pub", "--identity", "a@b.c"), "conflicting-options"),
        (("--identity", "a@b.c"), "missing-option"),
        (("--issuer", "https://i.example"), "missing-option"),
    ],
)
def test_signers_that_are_half_named(
    package: Path, inline: Inline, words: tuple[str, ...], code: str
) -> None:
    inline.fails(2, code, "verify", package, *words)


def test_the_extra_is_named(package: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "model_signing", None)
    ran = inline("export", "signature", package, "--sign-key", "k.pem")
    assert "citeforge[sign]" in ran.stderr


def stand_in(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let Sigstore's servers answer with an error."""
    from model_signing._signing import sign_sigstore

    def fail() -> None:
        raise error

    client = SimpleNamespace(production=fail)
    monkeypatch.setattr(sign_sigstore.sigstore_models, "ClientTrustConfig", client)


def test_sigstore_is_asked_without_a_key(
    signed: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, ConnectionError("no route"))
    package = signed / "package"
    before = (package / "model.sig").read_bytes()
    ran = inline.fails(1, "signing-failed", "export", "signature", package)
    assert "Sigstore cannot be reached (no route)" in ran.stderr
    assert (package / "model.sig").read_bytes() == before
    who = ("--identity", "a@b.c", "--issuer", "https://i.example")
    inline.fails(1, "signing-failed", "verify", package, *who)


def test_an_identity_that_sigstore_does_not_confirm(
    signed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sigstore.errors import VerificationError

    stand_in(monkeypatch, VerificationError("certificate's SANs do not match"))
    with refused("bad-signature") as caught:
        check_signature(
            signed / "package", SignatureCheck(identity="a@b.c", issuer="https://i.example")
        )
    assert "is not the signature of this identity" in str(caught.value)


def test_a_build_replaces_a_signed_package(signed: Path, inline: Inline) -> None:
    from citeforge.package.manifest import unknown_files

    assert unknown_files(signed / "package") == []
