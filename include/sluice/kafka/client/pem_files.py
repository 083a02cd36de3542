"""Whether the files of TLS can be used: asked before a client gets them, which would only say that nobody answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from sluice.kafka.client.credentials import TOKEN_AUTHORITIES

_AUTHORITIES = ("ssl.ca.location", "ssl.truststore.location", TOKEN_AUTHORITIES)
_CERTIFICATES = ("ssl.certificate.location", "ssl.keystore.location")
_KEY, _KEY_PASSWORD = "ssl.key.location", "ssl.key.password"
_KEY_BLOCK = re.compile(rb"-----BEGIN ([A-Z ]*)PRIVATE KEY-----.+?-----END \1PRIVATE KEY-----", re.DOTALL)
_PKCS8 = (b"", b"ENCRYPTED ")
_SPKI = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
_REPLACE = "replace it by a new one; processes that run use that for their next connection."
_PLACE = "put the file there for this user to read, on every machine that connects, or correct the deployment."


@dataclass(frozen=True)
class PemFault:
    """Why a file cannot be used.

    Attributes:
        file: its path.
        found: what is wrong with it, as a clause.
        fix: what to do.
    """

    file: str
    found: str
    fix: str

    def __str__(self) -> str:
        """Return the file and what is wrong with it."""
        return f"{self.file} {self.found}"


class _UnusableError(Exception):
    def __init__(self, found: str, fix: str) -> None:
        super().__init__(found)
        self.found, self.fix = found, fix


def pem_faults(client: Mapping[str, str], now: datetime) -> tuple[PemFault, ...]:
    """Return what is wrong with the files that the settings of a client name; nothing of a secret is in it.

    Args:
        client: settings under Kafka's names.
        now: an instant with a time zone.
    """
    return tuple(_faults(client, now))


def expiries(client: Mapping[str, str]) -> Mapping[str, datetime]:
    """Return when the usable files of a client expire: authorities by their last certificate, its own by the first."""
    ends: dict[str, datetime] = {}
    for file, own in _certificate_files(client):
        try:
            found = _certificates(file)
        except _UnusableError:
            continue
        ends[file] = found[0].not_valid_after_utc if own else max(each.not_valid_after_utc for each in found)
    return ends


def _faults(client: Mapping[str, str], now: datetime) -> Iterator[PemFault]:
    for file, own in _certificate_files(client):
        try:
            certificates = _certificates(file)
            _refuse_out_of_force(certificates[:1] if own else certificates, now)
        except _UnusableError as error:
            yield PemFault(file, error.found, error.fix)
            continue
        key = client.get(_KEY, file)
        try:
            if own:
                _refuse_stranger(_private_key(key, client.get(_KEY_PASSWORD)), certificates[0], file)
        except _UnusableError as error:
            yield PemFault(key, error.found, error.fix)


def _certificate_files(client: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Yield the files with certificates, and whether these are the client's own."""
    for names, own in ((_AUTHORITIES, False), (_CERTIFICATES, True)):
        yield from ((client[name], own) for name in names if name in client)


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except FileNotFoundError:
        raise _UnusableError("is not there", _PLACE) from None
    except OSError as error:
        raise _UnusableError(f"cannot be read ({error.strerror or error})", _PLACE) from None


def _certificates(file: str) -> list[x509.Certificate]:
    content = _content(file)
    try:
        return x509.load_pem_x509_certificates(content)
    except ValueError:
        fix = "write certificates in PEM, which begin with -----BEGIN CERTIFICATE-----."
        raise _UnusableError("holds no certificate in PEM", fix) from None


def _refuse_out_of_force(certificates: list[x509.Certificate], now: datetime) -> None:
    """Make sure that one of them is in force."""
    if any(each.not_valid_before_utc <= now <= each.not_valid_after_utc for each in certificates):
        return
    newest = max(certificates, key=lambda each: each.not_valid_after_utc)
    if newest.not_valid_after_utc < now:
        raise _UnusableError(f"expired at {newest.not_valid_after_utc:%Y-%m-%d %H:%M} UTC", _REPLACE)
    begins = f"{newest.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
    raise _UnusableError(f"is not valid before {begins}", "see whether this machine's clock is right, or replace it.")


def _private_key(file: str, password: str | None) -> PrivateKeyTypes:
    block = _KEY_BLOCK.search(_content(file))
    if block is None:
        fix = "write the key in PEM (PKCS #8), which begins with -----BEGIN PRIVATE KEY-----, there or into `key`."
        raise _UnusableError("holds no private key in PEM", fix)
    if block[1] not in _PKCS8:
        fix = f"write it as PKCS #8: `openssl pkcs8 -topk8 -in {file} -out` and another file."
        raise _UnusableError(f"holds a key of the form {block[1].decode().strip()}, which Java does not read", fix)
    if block[1] and password is None:
        raise _UnusableError("holds an encrypted key", "name its password's variable by `key_password_variable`.")
    if not block[1] and password is not None:
        raise _UnusableError("holds a key without a password", "remove `key_password_variable`.")
    if password is not None and not password.isascii():
        fix = "encrypt it by another password: `openssl pkcs8 -topk8`."
        raise _UnusableError("holds a key whose password is not in ASCII, and Java takes no other", fix)
    try:
        return load_pem_private_key(block[0], None if password is None else password.encode())
    except (ValueError, UnsupportedAlgorithm):
        encrypted = "its password is another one, or " if password else ""
        raise _UnusableError(f"holds a key that cannot be read: {encrypted}it is damaged", "replace it.") from None


def _refuse_stranger(key: PrivateKeyTypes, certificate: x509.Certificate, file: str) -> None:
    if key.public_key().public_bytes(*_SPKI) != certificate.public_key().public_bytes(*_SPKI):
        fix = "name the two that belong together; the client's own certificate comes first in its file."
        raise _UnusableError(f"holds a key that does not belong to the first certificate of {file}", fix)
