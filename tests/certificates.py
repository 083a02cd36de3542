"""A private authority of a test's own, and what it has signed: files in PEM, gone with their folder."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

HERE = "127.0.0.1"


@dataclass(frozen=True)
class Issued:
    """Files of one certificate.

    Attributes:
        certificate: with it alone.
        key: its private key.
        both: the key, then the certificate.
    """

    certificate: Path
    key: Path
    both: Path


@dataclass(frozen=True)
class TestAuthority:
    """Signs what it is asked to.

    Attributes:
        ca: its certificate.
    """

    __test__ = False

    ca: Path
    _key: rsa.RSAPrivateKey

    def issue(
        self,
        name: str,
        *,
        address: str = HERE,
        begin: datetime | None = None,
        days: float = 2,
        password: str | None = None,
        form: PrivateFormat = PrivateFormat.PKCS8,
    ) -> Issued:
        """Sign a new key; its files are beside the authority's, named like it, and replace those of the same name."""
        key = rsa.generate_private_key(65537, 2048)
        issuer = x509.load_pem_x509_certificate(self.ca.read_bytes()).subject
        certificate = _signed((name, key), (issuer, self._key), begin or _an_hour_ago(), days, address=address)
        folder = self.ca.parent
        kept = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
        files = Issued(*(folder / f"{name}.{ending}" for ending in ("crt", "key", "pem")))
        written = key.private_bytes(Encoding.PEM, form, kept)
        for file, content in (
            (files.certificate, certificate),
            (files.key, written),
            (files.both, written + certificate),
        ):
            replaced(file, content)
        return files


def make_authority(folder: Path, name: str = "ca", *, begin: datetime | None = None, days: float = 2) -> TestAuthority:
    """Make one in a folder that exists."""
    key = rsa.generate_private_key(65537, 2048)
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    ca = folder / f"{name}.pem"
    ca.write_bytes(_signed((name, key), (issuer, key), begin or _an_hour_ago(), days, address=None))
    return TestAuthority(ca, key)


def replaced(file: Path, content: bytes) -> None:
    """Replace a file at once, as one does under processes that read it."""
    draft = file.with_name(f".{file.name}")
    draft.write_bytes(content)
    draft.replace(file)


def _an_hour_ago() -> datetime:
    return datetime.now(UTC) - timedelta(hours=1)


def _signed(
    subject: tuple[str, rsa.RSAPrivateKey],
    issuer: tuple[x509.Name, rsa.RSAPrivateKey],
    begin: datetime,
    days: float,
    *,
    address: str | None,
) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject[0])])
    end = begin + timedelta(days=days)
    builder = x509.CertificateBuilder(
        issuer[0], name, subject[1].public_key(), x509.random_serial_number(), begin, end
    ).add_extension(x509.BasicConstraints(ca=address is None, path_length=None), critical=True)
    if address is not None:
        builder = builder.add_extension(x509.SubjectAlternativeName([_name(address)]), critical=False)
    return builder.sign(issuer[1], SHA256()).public_bytes(Encoding.PEM)


def _name(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(address))
    except ValueError:
        return x509.DNSName(address)
