"""Signatures by Sigstore, with a certificate authority of the test in place of its servers."""

import base64
import datetime
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from citeforge.engines.files import sha256_file
from citeforge.package.manifest import MANIFEST, SIGNATURE, load_manifest
from citeforge.publishing.hub_changes import LocalFile
from citeforge.publishing.signing import SignatureCheck, Signer, check_signature, sign_package
from conftest import Inline
from signing_keys import make_key

pytest.importorskip("model_signing", reason="the extra sign")
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

ISSUER = "https://issuer.example"
ANN, BOB = (
    "ann@example.org",
    "https://github.com/bob/repo/.github/workflows/sign.yml@refs/heads/main",
)
_PAYLOAD = "application/vnd.in-toto+json"
_ALGORITHM = ec.ECDSA(SHA256())


@dataclass
class Authority:
    """Stand-in for Sigstore: certifies whoever signs in, and verifies by Sigstore's own policy."""

    identity: str = ANN
    issuer: str = ISSUER
    n_signed: int = 0
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def certify(self, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        kind = x509.RFC822Name if "//" not in self.identity else x509.UniformResourceIdentifier
        start = datetime.datetime(2026, 1, 1)
        issuer = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
        return (
            x509.CertificateBuilder()
            .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
            .not_valid_before(start).not_valid_after(start + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([kind(self.identity)]), critical=True)
            .add_extension(x509.UnrecognizedExtension(issuer, self.issuer.encode()), critical=False)
            .sign(self.key, SHA256())
        )  # fmt: skip

    def sign(self, payload: Any) -> Any:
        """Sign as the identity; in place of ``Signer.sign`` of model-signing."""
        from google.protobuf import json_format

        self.n_signed += 1
        key = ec.generate_private_key(ec.SECP256R1())
        statement = json_format.MessageToJson(payload.statement.pb).encode()
        bundle = {
            "verificationMaterial": {"certificate": {"rawBytes": base64.b64encode(
                self.certify(key).public_bytes(Encoding.DER)).decode()}},
            "dsseEnvelope": {
                "payload": base64.b64encode(statement).decode(), "payloadType": _PAYLOAD,
                "signatures": [
                    {"sig": base64.b64encode(key.sign(statement, _ALGORITHM)).decode()}],
            },
        }  # fmt: skip
        return SimpleNamespace(write=lambda path: path.write_text(json.dumps(bundle)))

    def verify_dsse(self, bundle: dict[str, Any], policy: Any) -> tuple[str, bytes]:
        """Verify as ``Verifier.verify_dsse`` of sigstore, without its public log."""
        from cryptography.exceptions import InvalidSignature
        from sigstore.errors import VerificationError

        found = bundle["verificationMaterial"].get("certificate")
        if found is None:
            raise VerificationError("no certificate")
        certificate = x509.load_der_x509_certificate(base64.b64decode(found["rawBytes"]))
        envelope = bundle["dsseEnvelope"]
        statement = base64.b64decode(envelope["payload"])
        signature = base64.b64decode(envelope["signatures"][0]["sig"])
        try:
            self.key.public_key().verify(
                certificate.signature, certificate.tbs_certificate_bytes, _ALGORITHM
            )
            certificate.public_key().verify(signature, statement, _ALGORITHM)  # type: ignore
        except InvalidSignature as error:
            raise VerificationError("invalid signature") from error
        policy.verify(certificate)
        return envelope["payloadType"], statement


@pytest.fixture
def authority(monkeypatch: pytest.MonkeyPatch) -> Authority:
    from model_signing._signing import sign_sigstore

    authority = Authority()
    trust = SimpleNamespace(production=lambda: SimpleNamespace(trusted_root=None))
    monkeypatch.setattr(sign_sigstore.sigstore_models, "ClientTrustConfig", trust)
    monkeypatch.setattr(sign_sigstore.sigstore_verifier, "Verifier", lambda trusted_root: authority)
    monkeypatch.setattr(sign_sigstore, "Signer", lambda **words: authority)
    monkeypatch.setattr(
        sign_sigstore.Signature, "read",
        lambda path: sign_sigstore.Signature(json.loads(path.read_text())),
    )  # fmt: skip
    return authority


@pytest.fixture
def folder(package: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(package, tmp_path / "package"))


def package_files(folder: Path) -> dict[str, LocalFile]:
    hashes = {**load_manifest(folder).files, MANIFEST: sha256_file(folder / MANIFEST)}
    return {name: LocalFile(folder / name, sha256) for name, sha256 in hashes.items()}


@pytest.mark.parametrize(("identity", "other"), [(ANN, BOB), (BOB, ANN)])
def test_identity_and_issuer_are_both_checked(
    authority: Authority, folder: Path, inline: Inline, identity: str, other: str
) -> None:
    authority.identity = identity
    inline.ok("export", "signature", folder)
    right = ("verify", folder, "--identity", identity, "--issuer", ISSUER)
    assert "as this signer signed them" in inline.ok(*right).stdout
    for name, issuer in ((other, ISSUER), (identity, "https://other.example")):
        ran = inline.fails(
            1, "bad-signature", "verify", folder, "--identity", name, "--issuer", issuer
        )
        assert "is not the signature of this identity" in ran.stderr


def test_an_earlier_signature_of_the_same_identity_stays(
    authority: Authority, folder: Path
) -> None:
    sign_package(folder)
    earlier = folder / SIGNATURE
    assert Signer().sign(package_files(folder), earlier) == earlier.read_bytes()


def forge(path: Path) -> None:
    """Change the signature itself, and leave names and digests."""
    bundle = json.loads(path.read_text())
    bundle["dsseEnvelope"]["signatures"][0]["sig"] = base64.b64encode(b"forged").decode()
    path.write_text(json.dumps(bundle))


@pytest.mark.parametrize("case", ["key", "another identity", "another issuer", "forged"])
def test_no_other_signature_stays(
    authority: Authority, folder: Path, tmp_path: Path, case: str
) -> None:
    """All list the package's files and digests, and none is of the identity that signs now."""
    if case == "another identity":
        authority.identity = BOB
    if case == "another issuer":
        authority.issuer = "https://other.example"
    sign_package(folder, make_key(tmp_path, "owner")[0] if case == "key" else None)
    if case == "forged":
        forge(folder / SIGNATURE)
    authority.identity, authority.issuer = ANN, ISSUER
    made = Signer().sign(package_files(folder), folder / SIGNATURE)
    assert made != (folder / SIGNATURE).read_bytes()
    (folder / SIGNATURE).write_bytes(made)
    check_signature(folder, SignatureCheck(identity=ANN, issuer=ISSUER))


def closed_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_without_a_network_no_signature_is_called_wrong(
    folder: Path, tmp_path: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Sigstore trusts is downloaded first; here from a port that nobody listens to."""
    from sigstore import models
    from sigstore._internal import tuf

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tuf.read_embedded("root.json", models.DEFAULT_TUF_URL)
    monkeypatch.setattr(tuf, "read_embedded", lambda name, url: root)
    monkeypatch.setattr(models, "DEFAULT_TUF_URL", f"http://127.0.0.1:{closed_port()}")
    sign_package(folder, make_key(tmp_path, "owner")[0])
    who = ("--identity", ANN, "--issuer", ISSUER)
    for words in (("export", "signature", folder), ("verify", folder, *who)):
        ran = inline.fails(1, "signing-failed", *words)
        assert "Sigstore cannot be reached" in ran.stderr


def test_a_browser_that_cannot_be_asked(
    authority: Authority, folder: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a browser Sigstore asks for a code, and finds no terminal."""

    def ask(payload: Any) -> None:
        raise EOFError("EOF when reading a line")

    monkeypatch.setattr(authority, "sign", ask)
    ran = inline.fails(1, "bad-signature", "export", "signature", folder)
    assert "model.sig: cannot be made (EOF when reading a line)" in ran.stderr
    assert "--sign-key" in ran.stderr
