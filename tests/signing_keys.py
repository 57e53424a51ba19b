"""Keys of elliptic curves, made for a test."""

from pathlib import Path

from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ec

PLAIN = pem.NoEncryption()


def make_key(
    folder: Path, name: str, curve: type[ec.EllipticCurve] = ec.SECP256R1, password: str = ""
) -> tuple[Path, Path]:
    """Write a new key's two halves; return (private, public)."""
    key = ec.generate_private_key(curve())
    lock = pem.BestAvailableEncryption(password.encode()) if password else PLAIN
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, lock))
    info = pem.PublicFormat.SubjectPublicKeyInfo
    public.write_bytes(key.public_key().public_bytes(pem.Encoding.PEM, info))
    return private, public
