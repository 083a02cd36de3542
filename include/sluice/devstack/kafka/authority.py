"""The private authority of an embedded cluster: it signs the one certificate that its brokers, and Airflow, show.

Both are made where the brokers' folders are, by the library `cryptography`, and are replaced before they expire. Their
keys are readable by this user alone; a client needs the authority's certificate, which is no secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID, NameOID

from sluice.devstack.kafka.admin import authority_file, brokers_file
from sluice.errors import CorruptionError
from sluice.launch.private import write_private

_AUTHORITY_DAYS, _BROKER_DAYS, _SPARE_DAYS = 3650, 730, 180
_SKEW = timedelta(hours=1)
_KEY = "ca.key"
_IDENTIFIERS = {ExtensionOID.SUBJECT_KEY_IDENTIFIER, ExtensionOID.AUTHORITY_KEY_IDENTIFIER}


@dataclass(frozen=True)
class _Signed:
    """A certificate with its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def ensure_certificates(folder: Path, now: datetime) -> None:
    """Make what brokers and clients need to encrypt, unless it is there and will not expire soon.

    Args:
        folder: of the first broker.
        now: an instant with a time zone.

    Raises:
        CorruptionError: a file that is there cannot be understood.
        OSError: the folder cannot be written.
    """
    ca, broker = authority_file(folder), brokers_file(folder)
    ca.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        kept = _read(ca, ca.parent / _KEY)
        if kept is None or not _is_current(kept.certificate, now):
            kept = _authority(now)
            write_private(ca.parent / _KEY, _pem(kept.key))
            write_private(ca, _public(kept.certificate))
        shown = x509.load_pem_x509_certificate(broker.read_bytes()) if broker.exists() else None
        if shown is None or not _is_current(shown, now) or not _signed_by(shown, kept.certificate):
            made = _broker(kept, now)
            write_private(broker, _pem(made.key) + _public(made.certificate))
    except (ValueError, TypeError) as error:
        raise CorruptionError(
            f"{ca.parent} holds no certificates of the embedded Kafka ({error}).",
            fix="run `sluice down`, remove the folder, then run `sluice up`: it makes new ones.",
        ) from error


def _read(certificate: Path, key: Path) -> _Signed | None:
    if not (certificate.exists() and key.exists()):
        return None
    private = load_pem_private_key(key.read_bytes(), None)
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{key.name} is a key of another kind")
    return _Signed(x509.load_pem_x509_certificate(certificate.read_bytes()), private)


def _authority(now: datetime) -> _Signed:
    extensions = (x509.BasicConstraints(ca=True, path_length=0), True), (_usage(key_cert_sign=True), True)
    return _certified("Sluice, the Kafka of this state folder", None, (now, _AUTHORITY_DAYS), extensions)


def _broker(authority: _Signed, now: datetime) -> _Signed:
    names = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
    # A broker is a client, too: of the others, and of the controller.
    both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    extensions = (
        (x509.SubjectAlternativeName(names), False),
        (x509.ExtendedKeyUsage(both), False),
        (_usage(digital_signature=True), True),
    )
    return _certified("broker", authority, (now, _BROKER_DAYS), extensions)


def _certified(
    name: str,
    signer: _Signed | None,
    life: tuple[datetime, int],
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
) -> _Signed:
    """Return a new key with its certificate; without a signer it signs itself. A life is a beginning and days."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), _named(name)
    issuer = subject if signer is None else signer.certificate.subject
    begin, end = life[0] - _SKEW, life[0] + timedelta(days=life[1])
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number(), begin, end)
    signing = key if signer is None else signer.key
    # Without these two Python 3.13 refuses a certificate.
    identified = (
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), False),
    )
    for extension, critical in (*extensions, *identified):
        builder = builder.add_extension(extension, critical=critical)
    return _Signed(builder.sign(signing, SHA256()), key)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _is_current(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether it lasts, and is one that every client takes."""
    identified = {extension.oid for extension in certificate.extensions} >= _IDENTIFIERS
    return identified and certificate.not_valid_after_utc - now > timedelta(days=_SPARE_DAYS)


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # noqa: BLE001 - of several kinds, all of which mean no
        return False
    return True


def _public(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
