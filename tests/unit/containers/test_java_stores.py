"""Key and certificates are written as Java's servers read them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates, load_pkcs12
from cryptography.x509 import load_pem_x509_certificate

from sluice.containers.java_stores import write_stores
from tests.certificates import Issued, TestAuthority, make_authority


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[TestAuthority, Issued]:
    authority = make_authority(tmp_path_factory.mktemp("drawn"))
    return authority, authority.issue("own")


def test_the_stores_hold_what_the_pem_files_hold(drawn: tuple[TestAuthority, Issued], tmp_path: Path) -> None:
    authority, own = drawn
    write_stores(own.both, authority.ca, tmp_path / "stores")
    password = (tmp_path / "stores" / "password").read_bytes()
    certificate = load_pem_x509_certificate(own.certificate.read_bytes())
    key, found, _ = load_key_and_certificates((tmp_path / "stores" / "key.p12").read_bytes(), password)
    assert found == certificate
    assert key is not None
    assert key.public_key() == certificate.public_key()
    trusted = load_pkcs12((tmp_path / "stores" / "trust.p12").read_bytes(), password)
    assert [each.certificate for each in trusted.additional_certs] == [
        load_pem_x509_certificate(authority.ca.read_bytes())
    ]
    assert stat.S_IMODE((tmp_path / "stores").stat().st_mode) == 0o700


def test_each_time_another_password_is_drawn(drawn: tuple[TestAuthority, Issued], tmp_path: Path) -> None:
    authority, own = drawn
    passwords = set()
    for _ in range(2):
        write_stores(own.both, authority.ca, tmp_path)
        passwords.add((tmp_path / "password").read_bytes())
    assert len(passwords) == 2


def test_what_no_store_takes_is_refused(drawn: tuple[TestAuthority, Issued], tmp_path: Path) -> None:
    authority, own = drawn
    with pytest.raises(ValueError, match=r"PEM|key"):
        write_stores(own.certificate, authority.ca, tmp_path)
    other = tmp_path / "other.pem"
    key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    other.write_bytes(key + own.certificate.read_bytes())
    with pytest.raises(TypeError, match=r"other\.pem holds a key that is neither"):
        write_stores(other, authority.ca, tmp_path)
