"""Files of TLS are judged before a client gets them: each says what is wrong with it and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from sluice.kafka.client.credentials import TOKEN_AUTHORITIES, encrypted
from sluice.kafka.client.pem_files import PemFault, expiries, pem_faults
from tests.certificates import Issued, TestAuthority, make_authority

NOW = datetime.now(UTC)
PASSWORD, FOREIGN = "a good one", "schlüssel"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> TestAuthority:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def own(authority: TestAuthority) -> Issued:
    return authority.issue("client")


def only(client: Mapping[str, str], now: datetime = NOW) -> PemFault:
    (fault,) = pem_faults(client, now)
    assert fault.fix
    return fault


def with_key(own: Issued, key: Path, password: str | None = None) -> Mapping[str, str]:
    return encrypted({}, certificate=str(own.certificate), key=str(key), key_password=password)


def test_sound_files_are_passed_in_one_or_in_two(authority: TestAuthority, own: Issued) -> None:
    ca = str(authority.ca)
    assert pem_faults(encrypted({}, ca=ca, certificate=str(own.both)), NOW) == ()
    assert pem_faults(encrypted({}, ca=ca, certificate=str(own.certificate), key=str(own.key)), NOW) == ()
    assert pem_faults({"ssl.truststore.location": ca, "ssl.keystore.location": str(own.both)}, NOW) == ()
    assert pem_faults({"client.id": "x"}, NOW) == ()


def test_a_key_is_read_by_its_password(authority: TestAuthority) -> None:
    own = authority.issue("locked", password=PASSWORD)
    assert pem_faults(with_key(own, own.key, PASSWORD), NOW) == ()
    wrong = only(with_key(own, own.key, "another"))
    assert str(wrong) == f"{own.key} holds a key that cannot be read: its password is another one, or it is damaged"
    assert only(with_key(own, own.key)).fix == "name its password's variable by `key_password_variable`."


def test_a_password_that_java_does_not_take_is_refused(authority: TestAuthority) -> None:
    own = authority.issue("foreign", password=FOREIGN)
    assert "not in ASCII" in only(with_key(own, own.key, FOREIGN)).found


def test_a_password_that_no_key_has_is_refused(own: Issued) -> None:
    assert only(with_key(own, own.key, PASSWORD)).found == "holds a key without a password"


@pytest.mark.parametrize("setting", ["ssl.ca.location", "ssl.certificate.location", TOKEN_AUTHORITIES])
def test_every_file_is_missed(setting: str, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.pem")
    fault = only({setting: gone})
    assert str(fault) == f"{gone} is not there"
    assert "on every machine" in fault.fix


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert only({"ssl.ca.location": str(tmp_path)}).found == "cannot be read (Is a directory)"


def test_expired_and_future_certificates_say_when(tmp_path: Path) -> None:
    authority = make_authority(tmp_path, begin=datetime(2026, 1, 1, tzinfo=UTC), days=10)
    client = {"ssl.ca.location": str(authority.ca)}
    assert pem_faults(client, datetime(2026, 1, 5, tzinfo=UTC)) == ()
    late = only(client, datetime(2026, 1, 12, tzinfo=UTC))
    assert late.found == "expired at 2026-01-11 00:00 UTC"
    assert "replace it" in late.fix
    early = only(client, datetime(2025, 12, 31, tzinfo=UTC))
    assert early.found == "is not valid before 2026-01-01 00:00 UTC"
    assert "clock" in early.fix


def test_of_authorities_one_in_force_is_enough_and_of_its_own_the_first_counts(
    authority: TestAuthority, tmp_path: Path
) -> None:
    old = make_authority(tmp_path, begin=NOW - timedelta(days=9), days=1)
    both = tmp_path / "both.pem"
    both.write_bytes(old.ca.read_bytes() + authority.ca.read_bytes())
    assert pem_faults({"ssl.ca.location": str(both)}, NOW) == ()
    expired = authority.issue("expired", begin=NOW - timedelta(days=9), days=1)
    chain = tmp_path / "chain.pem"
    chain.write_bytes(expired.both.read_bytes() + authority.ca.read_bytes())
    assert only({"ssl.certificate.location": str(chain)}).found.startswith("expired at ")


def test_a_key_of_another_certificate_is_refused(authority: TestAuthority, own: Issued) -> None:
    other = authority.issue("other")
    fault = only(with_key(own, other.key))
    assert str(fault) == f"{other.key} holds a key that does not belong to the first certificate of {own.certificate}"


def test_an_old_form_of_key_is_refused_because_java_does_not_read_it(authority: TestAuthority) -> None:
    old = authority.issue("old", form=PrivateFormat.TraditionalOpenSSL)
    fault = only(with_key(old, old.key))
    assert fault.found == "holds a key of the form RSA, which Java does not read"
    assert f"openssl pkcs8 -topk8 -in {old.key}" in fault.fix


def test_a_certificate_without_its_key_says_where_one_belongs(own: Issued) -> None:
    fault = only({"ssl.certificate.location": str(own.certificate)})
    assert str(fault) == f"{own.certificate} holds no private key in PEM"


@given(content=st.binary(max_size=200) | st.binary(max_size=100).map(lambda b: b"-----BEGIN CERTIFICATE-----\n" + b))
def test_whatever_a_file_holds_is_a_fault_and_no_crash(
    content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.pem"
    file.write_bytes(content)
    for setting in ("ssl.ca.location", "ssl.certificate.location"):
        assert only({setting: str(file)}).found == "holds no certificate in PEM"


@given(damage=st.integers(0, 10_000))
def test_a_damaged_key_is_a_fault_that_shows_nothing_of_it(
    own: Issued, damage: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = own.key.read_text().splitlines()
    line = lines[1 + damage % (len(lines) - 2)]
    file = tmp_path_factory.getbasetemp() / "damaged.key"
    file.write_text("\n".join(lines).replace(line, line[: damage % len(line)]))
    fault = only(with_key(own, file))
    assert fault.found.startswith(("holds a key that", "holds no private key"))
    assert not [kept for kept in lines[1:-1] if kept in f"{fault} {fault.fix}"]


def test_expiries_name_the_usable_files(authority: TestAuthority, own: Issued, tmp_path: Path) -> None:
    client = encrypted({}, ca=str(authority.ca), certificate=str(tmp_path / "none.pem"))
    ends = expiries(client)
    assert list(ends) == [str(authority.ca)]
    assert timedelta(days=1) < ends[str(authority.ca)] - NOW < timedelta(days=2)
    assert list(expiries({"ssl.keystore.location": str(own.both)})) == [str(own.both)]
