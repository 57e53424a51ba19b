"""Signatures of packages, made and checked by sigstore's ``model-signing``.

``model.sig`` signs all files of a package: those that the manifest lists, and the manifest. It is a
Sigstore bundle, which the tool ``model_signing`` reads, too. A key works without a network; an
identity needs Sigstore's servers.
"""

import base64
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from citeforge.engines.files import read_json, sha256_file, write_bytes
from citeforge.engines.folders import files_below
from citeforge.engines.keys import one_line
from citeforge.engines.posix import link_or_copy
from citeforge.package.manifest import (
    BESIDE,
    MANIFEST,
    SIGNATURE,
    load_intact,
    load_manifest,
)
from citeforge.publishing.hub_changes import LocalFile
from citeforge.publishing.hub_errors import is_network
from citeforge.schemas.errors import InputError, UsageError, extras_named
from citeforge.schemas.manifest import SECRET

PASSWORD = "CITEFORGE_SIGN_PASSWORD"
"""Environment variable with the password of an encrypted private key."""
_CURVES = "an elliptic-curve key (P-256, P-384 or P-521) in a PEM file"
_SUPPORTED = ("secp256r1", "secp384r1", "secp521r1")
_ISSUER = "1.3.6.1.4.1.57264.1.1"
"""Extension of Sigstore's certificates: the address of the identity's OpenID Connect provider."""
_UNREACHABLE = "signing-failed"
_WAYS_TO_SIGN = "sign in by a browser, or run it in a CI job with an identity, or use --sign-key"
_EXPECTED = "the key or the identity of the package's owner, and a fresh copy"
_SIGN_AGAIN = "a fresh copy of the package; its owner signs it again after each change"


class _Resource(msgspec.Struct):
    """A signed file: its name and digest."""

    name: str
    digest: str


class _Predicate(msgspec.Struct):
    """List of signed files."""

    resources: list[_Resource]


class _Statement(msgspec.Struct):
    """Statement of in-toto that a bundle signs."""

    predicate: _Predicate


class _Envelope(msgspec.Struct):
    """Signed statement, in base64."""

    payload: str


class _Certificate(msgspec.Struct):
    """Certificate in DER and base64."""

    rawBytes: str


class _Material(msgspec.Struct):
    """What a signature is verified by: the certificate that Sigstore made, or a hint to a key."""

    certificate: _Certificate | None = None


class _Bundle(msgspec.Struct):
    """Sigstore bundle, as far as it is read here; the library verifies it."""

    dsseEnvelope: _Envelope
    verificationMaterial: _Material


@dataclass(frozen=True)
class Signer:
    """Signs packages, with a private key or, without one, by Sigstore.

    Attributes:
        key: private key in PEM; None for the identity of an account, which a browser or the
            environment of a CI job confirms.
    """

    key: Path | None = None

    @extras_named()
    def require_usable(self) -> None:
        """Raise an error if this signer's key or library does not work.

        Raises:
            InputError: the key is none.
            MissingExtraError: the extra ``sign`` is not installed.
        """
        import model_signing  # noqa: F401

        if self.key is not None:
            load_private_key(self.key)

    @extras_named()
    def sign(self, files: Mapping[str, LocalFile], earlier: Path | None = None) -> bytes:
        """Sign files of a package: content of ``model.sig``, an ``earlier`` one if it still fits.

        Args:
            files: all files of a package but the signature, by name.
            earlier: signature that stays if it is this signer's of the same files: two of one key
                differ.

        Raises:
            InputError: the key is none, or Sigstore cannot be reached or refuses.
            MissingExtraError: the extra ``sign`` is not installed.
        """
        from model_signing import hashing, signing

        config = signing.Config()
        config.set_hashing_config(hashing.Config().set_ignored_paths(paths=[SIGNATURE]))
        with tempfile.TemporaryDirectory(prefix="citeforge-") as work:
            folder, made = Path(work) / "package", Path(work) / SIGNATURE
            for name, file in files.items():
                _copy_file(file, folder / name)
            if earlier is not None and self.key is not None:
                public = Path(work) / "key.pub"
                public.write_bytes(_public_pem(self.key))
                if _has_signed(folder, SignatureCheck(key=public), earlier):
                    return earlier.read_bytes()
            with _library_errors(SIGNATURE, "cannot be made", _WAYS_TO_SIGN):
                if self.key is None:
                    config.use_sigstore_signer(use_ambient_credentials=True)
                else:
                    load_private_key(self.key)
                    # The library hands the password on to what takes bytes.
                    config.use_elliptic_key_signer(private_key=self.key, password=_password())
                config.sign(folder, made)
            # Who signs is known once Sigstore has asked: only then is an earlier one compared.
            if earlier is not None and self.key is None:
                check = _read_identity(made)
                if check is not None and _has_signed(folder, check, earlier):
                    return earlier.read_bytes()
            return made.read_bytes()


@dataclass(frozen=True)
class SignatureCheck:
    """Signer that users expect.

    Attributes:
        key: public key in PEM.
        identity: e-mail address or workflow that Sigstore has confirmed.
        issuer: address of the OpenID Connect provider that knows the identity.
    """

    key: Path | None = None
    identity: str | None = None
    issuer: str | None = None

    def __post_init__(self) -> None:
        """Raise an error if expectations of a signer contradict each other or are incomplete.

        Raises:
            UsageError: a key and an identity, or one of identity and issuer.
        """
        if self.key is not None and (self.identity or self.issuer):
            raise UsageError("--key: not with --identity and --issuer", code="conflicting-options")
        if bool(self.identity) != bool(self.issuer):
            missing = "--issuer" if self.identity else "--identity"
            raise UsageError(
                f"{missing} is missing: an identity is known to an issuer", code="missing-option"
            )

    @property
    def is_asked(self) -> bool:
        """Whether a signer to check for, by key or identity, is given."""
        return self.key is not None or self.identity is not None


@extras_named()
def sign_package(folder: Path, key: Path | None = None) -> Path:
    """Sign a package in its folder; return the signature's path.

    Args:
        folder: a sound package; an earlier signature is replaced.
        key: private key in PEM; None to sign by Sigstore.

    Returns:
        The signature's file.

    Raises:
        InputError: a file of the package is damaged, the key is none, or Sigstore refuses.
        MissingExtraError: the extra ``sign`` is not installed.
    """
    manifest = load_intact(folder)
    hashes = {**manifest.files, MANIFEST: sha256_file(folder / MANIFEST)}
    files = {name: LocalFile(folder / name, sha256) for name, sha256 in hashes.items()}
    write_bytes(folder / SIGNATURE, Signer(key).sign(files))
    return folder / SIGNATURE


@extras_named()
def check_signature(
    folder: Path, expected_signer: SignatureCheck, signature: Path | None = None
) -> int:
    """Check that the expected signer has signed all files of a package; return their number.

    Args:
        folder: package.
        expected_signer: the signer.
        signature: file of the signature; None for the one in the folder.

    Raises:
        InputError: there is none, a file differs from what was signed or is not signed, or
            somebody else signed.
        MissingExtraError: the extra ``sign`` is not installed.
    """
    from model_signing import hashing, verifying

    path = signature or folder / SIGNATURE
    if not path.is_file():
        raise InputError(
            f"is not signed: it contains no {SIGNATURE}", path=folder, code="not-signed",
            allowed="a signed package, or verify it without a key or an identity",
        )  # fmt: skip
    if difference := _find_difference(folder, path):
        name, problem = difference
        raise InputError(problem, path=folder / name, allowed=_SIGN_AGAIN, code="hash-mismatch")
    signed = _signed_files(path)
    # A file beside the package is none of it: .gitattributes and caches of the Hub, notes.
    others = [name for name in files_below(folder) if name not in signed]
    config = verifying.Config().set_hashing_config(
        hashing.Config().set_ignored_paths(paths=others).set_allow_symlinks(True)
    )
    whose = "this key" if expected_signer.key is not None else "this identity"
    with _library_errors(path, f"is not the signature of {whose}", _EXPECTED):
        if expected_signer.key is not None:
            load_public_key(expected_signer.key)
            config.use_elliptic_key_verifier(public_key=expected_signer.key)
        else:
            config.use_sigstore_verifier(
                identity=expected_signer.identity, oidc_issuer=expected_signer.issuer
            )
        config.verify(folder, path)
    return len(signed)


def _has_signed(folder: Path, expected_signer: SignatureCheck, signature: Path) -> bool:
    """Whether a signature is by the expected signer and fits the files of a folder.

    Raises:
        InputError: Sigstore cannot be reached.
    """
    try:
        check_signature(folder, expected_signer, signature)
    except InputError as error:
        if error.code == _UNREACHABLE:
            raise
        return False
    return True


def _read_bundle(path: Path) -> _Bundle:
    """Read a signature file, a Sigstore bundle, without verifying it.

    Raises:
        msgspec.MsgspecError: it is no bundle of Sigstore.
    """
    return msgspec.convert(read_json(path), _Bundle)


def _read_identity(path: Path) -> SignatureCheck | None:
    """Read the signer's identity from a Sigstore signature; None if it has none."""
    from cryptography import x509

    certificate = _read_bundle(path).verificationMaterial.certificate
    if certificate is None:
        return None
    extensions = x509.load_der_x509_certificate(base64.b64decode(certificate.rawBytes)).extensions
    subject = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    names: list[str] = subject.get_values_for_type(x509.RFC822Name)
    names += subject.get_values_for_type(x509.UniformResourceIdentifier)
    issuer = extensions.get_extension_for_oid(x509.ObjectIdentifier(_ISSUER)).value.public_bytes()
    return SignatureCheck(identity=names[0], issuer=issuer.decode()) if names else None


def _signed_files(path: Path) -> dict[str, str]:
    """Read the file names and digests in a signature, without verifying it.

    Raises:
        InputError: it is no bundle of model-signing.
    """
    try:
        content = base64.b64decode(_read_bundle(path).dsseEnvelope.payload, validate=True)
        statement = msgspec.json.decode(content, type=_Statement)
    except (msgspec.MsgspecError, ValueError) as error:
        raise InputError(
            f"is no signature of model-signing ({error})", path=path, allowed=_SIGN_AGAIN,
            code="bad-signature",
        ) from error  # fmt: skip
    return {resource.name: resource.digest for resource in statement.predicate.resources}


def _find_difference(folder: Path, signature: Path) -> tuple[str, str] | None:
    """Find the first file that differs from a signature: (name, problem); None if none does."""
    signed = _signed_files(signature)
    names = [*load_manifest(folder).files, MANIFEST]
    changed = [n for n in names if n in signed and signed[n] != sha256_file(folder / n)]
    if len(changed) == len(signed.keys() & set(names)):
        return signature.name, "is the signature of another package: it fits none of the files"
    if changed:
        more = f", and so do {len(changed) - 1} more files" if changed[1:] else ""
        return changed[0], f"differs from what was signed{more}"
    # Readers of packages would take one of these files beside the package, too.
    beside = [name for name in (*BESIDE, SECRET) if os.path.lexists(folder / name)]
    if unsigned := [name for name in (*names, *beside) if name not in signed]:
        return unsigned[0], "is not signed"
    if missing := [name for name in signed if not (folder / name).is_file()]:
        return missing[0], "was signed, and is missing"
    return None


def load_private_key(path: Path) -> Any:
    """Load a private key for signing, with the password in ``CITEFORGE_SIGN_PASSWORD``, if any.

    Raises:
        InputError: it cannot be read, or is no private key.
    """
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    with _key_errors(path, f"{_CURVES}, and its password, if it has one, in {PASSWORD}"):
        return _require_curve(load_pem_private_key(path.read_bytes(), _password()))


def load_public_key(path: Path) -> Any:
    """Load a public key that verifies signatures.

    Raises:
        InputError: it cannot be read, or is no public key.
    """
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    with _key_errors(path, f"{_CURVES}: openssl pkey -in PRIVATE.pem -pubout -out PUBLIC.pem"):
        return _require_curve(load_pem_public_key(path.read_bytes()))


def _require_curve(key: Any) -> Any:
    """Return a key unchanged; raise an error if its elliptic curve is not supported.

    Raises:
        ValueError: it is another key.
    """
    curve = getattr(key, "curve", None)
    if curve is None or curve.name not in _SUPPORTED:
        raise ValueError(f"it is {'no elliptic-curve key' if curve is None else curve.name}")
    return key


def _public_pem(private: Path) -> bytes:
    """Compute the public key of a private key file, in PEM."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = load_private_key(private).public_key()
    return bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))


def _password() -> bytes | None:
    """Get the password of the private key from the environment; None if there is none."""
    return os.environ[PASSWORD].encode() if os.environ.get(PASSWORD) else None


@contextmanager
def _key_errors(path: Path, allowed: str) -> Iterator[None]:
    """Turn errors of reading a key file in the ``with`` block into InputErrors.

    Raises:
        InputError: it cannot be read, or is no key.
    """
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror or error}", path=path, allowed=allowed,
            code="missing-file",
        ) from error  # fmt: skip
    except (TypeError, ValueError) as error:
        # Nothing of the key's content is in these texts.
        raise InputError(
            f"cannot be used as a key ({_shorten(error)})", path=path, allowed=allowed,
            code="bad-key",
        ) from error  # fmt: skip


@contextmanager
def _library_errors(path: Path | str, fault: str, allowed: str) -> Iterator[None]:
    """Turn errors of model-signing and Sigstore into InputErrors that state ``fault``.

    Args:
        path: the signature.
        fault: what is wrong if an error is raised that is no server's.
        allowed: what would be right then.

    Raises:
        InputError: the fault, or a server cannot be reached.
    """
    from cryptography.exceptions import InvalidSignature
    from sigstore.errors import Error
    from sigstore.oidc import ExpiredIdentity, IssuerError

    try:
        with redirect_stdout(sys.stderr):
            yield
    except InputError:
        raise
    # The library takes the parts of a bundle for granted: damaged ones raise errors of all sorts.
    except (
        InvalidSignature, Error, ExpiredIdentity, IssuerError, EOFError, OSError, ValueError,
        LookupError, TypeError, AttributeError,
    ) as error:  # fmt: skip
        if _is_unreachable(error):
            raise InputError(
                f"Sigstore cannot be reached ({_shorten(error)})", path=path, code=_UNREACHABLE,
                allowed="run the same command again, or use a key, which needs no network: "
                "--sign-key signs by one, verify --key checks with one",
            ) from error  # fmt: skip
        raise InputError(
            f"{fault} ({_shorten(error)})", path=path, code="bad-signature",
            allowed=allowed,
        ) from error  # fmt: skip


def _is_unreachable(error: BaseException | None) -> bool:
    """Whether an error means that Sigstore, or the source of its trusted keys, is offline."""
    from sigstore.errors import NetworkError
    from tuf.api.exceptions import DownloadError

    while error is not None:
        if isinstance(error, NetworkError | DownloadError) or is_network(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _shorten(error: Exception) -> str:
    """Shorten an error's text to one line, with secret keys masked."""
    return one_line(str(error)).rstrip(" .") or type(error).__name__


def _copy_file(file: LocalFile, target: Path) -> None:
    """Copy a file's published content to a path; link the local file if that is the same."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.content is None:
        link_or_copy(Path(os.path.realpath(file.path)), target)
    else:
        target.write_bytes(file.content)
