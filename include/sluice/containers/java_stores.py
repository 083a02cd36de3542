"""Writes key and certificates in the only form that some of Java's servers read: PKCS #12, with a password.

java_stores.py PEM AUTHORITY FOLDER

The folder gets `key.p12` (alias `own`), `trust.p12` (alias `authority`) and `password`, which is drawn here: the format
wants one, though who reads the PEM file needs none.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
    serialize_key_and_certificates,
)
from cryptography.x509 import load_pem_x509_certificates

_OWNER_ONLY = 0o700


def write_stores(pem: Path, authority: Path, folder: Path) -> None:
    """Write the three files, readable by this user alone as far as the folder is.

    Args:
        pem: a private key with its certificate.
        authority: the certificate by which others are known.
        folder: made if it is not there.

    Raises:
        TypeError: the key is of another kind than stores take.
        ValueError: a file holds something else.
        OSError: a file cannot be read, or the folder cannot be written.
    """
    folder.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
    password = secrets.token_urlsafe(24)
    encryption = BestAvailableEncryption(password.encode())
    key = load_pem_private_key(pem.read_bytes(), None)
    if not isinstance(key, EllipticCurvePrivateKey | RSAPrivateKey):
        raise TypeError(f"{pem} holds a key that is neither of an elliptic curve nor RSA")
    certificate, *others = load_pem_x509_certificates(pem.read_bytes())
    (trusted,) = load_pem_x509_certificates(authority.read_bytes())
    own = serialize_key_and_certificates(b"own", key, certificate, others or None, encryption)
    trust = serialize_java_truststore([PKCS12Certificate(trusted, b"authority")], encryption)
    for name, content in (("key.p12", own), ("trust.p12", trust), ("password", password.encode())):
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    write_stores(*map(Path, sys.argv[1:]))
