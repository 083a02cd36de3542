from __future__ import annotations

from pathlib import Path

import pytest

from sluice.devstack.kafka.admin import administrator, administrators_client
from sluice.errors import CorruptionError, NotReadyError
from sluice.kafka.client.connection import client_arguments


def test_a_password_is_drawn_once_for_a_folder(tmp_path: Path) -> None:
    drawn = administrator(tmp_path / "new")
    assert administrator(tmp_path / "new") == drawn
    assert administrator(tmp_path / "other").password != drawn.password
    assert len(drawn.password) >= 40


def test_once_admitted_it_is_the_same(tmp_path: Path) -> None:
    drawn = administrator(tmp_path)
    assert not drawn.is_admitted()
    drawn.admit()
    drawn.admit()
    assert administrator(tmp_path) == drawn
    assert drawn.is_admitted()


def test_nobody_else_may_read_it_before_or_after(tmp_path: Path) -> None:
    drawn = administrator(tmp_path)
    for _ in range(2):
        (file,) = tmp_path.iterdir()
        assert drawn.password in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600
        drawn.admit()
    assert file == drawn.file


def test_it_is_not_shown(tmp_path: Path) -> None:
    drawn = administrator(tmp_path)
    assert drawn.password not in f"{drawn} {drawn!r}"


def test_what_clients_read_is_what_was_drawn(tmp_path: Path) -> None:
    drawn = administrator(tmp_path)
    drawn.admit()
    assert administrators_client(tmp_path) == drawn.client
    assert client_arguments(drawn.client) == {
        "security_protocol": "SASL_SSL",
        "ssl_cafile": str(tmp_path / "tls" / "ca.pem"),
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "admin",
        "sasl_plain_password": drawn.password,
    }


def test_kafkas_own_tools_can_read_the_file(tmp_path: Path) -> None:
    drawn = administrator(tmp_path)
    drawn.admit()
    lines = [line for line in drawn.file.read_text().splitlines() if not line.startswith("#")]
    found = dict(line.split("=", 1) for line in lines)
    assert found.pop("ssl.truststore.type") == "PEM"
    ca = found.pop("ssl.truststore.location")
    assert {**found, "ssl.ca.location": ca} == drawn.client


def test_a_file_from_before_connections_were_encrypted_is_written_again(tmp_path: Path) -> None:
    drawn = administrator(tmp_path)
    drawn.admit()
    encrypted = drawn.file.read_text()
    drawn.file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.jaas.config={drawn.client['sasl.jaas.config']}\n")
    assert administrator(tmp_path) == drawn
    assert drawn.file.read_text() == encrypted
    assert drawn.file.stat().st_mode & 0o777 == 0o600


def test_a_new_password_is_drawn_when_the_file_is_gone_and_it_is_not_admitted(tmp_path: Path) -> None:
    old = administrator(tmp_path)
    old.admit()
    old.file.unlink()
    new = administrator(tmp_path)
    assert new.password != old.password
    assert not new.is_admitted()


def test_a_client_without_the_file_is_told_how_to_get_one(tmp_path: Path) -> None:
    administrator(tmp_path)  # drawn, and not admitted: no broker knows it
    with pytest.raises(NotReadyError, match=r"admin\.properties is not there\. Fix: run `sluice down`, then"):
        administrators_client(tmp_path)


@pytest.mark.parametrize("text", ["", "sasl.jaas.config=", 'username="admin" password="x"', "\udcff"])
def test_a_damaged_file_is_no_missing_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "admin.properties").write_text(text, errors="surrogateescape")
    for read in (administrator, administrators_client):
        with pytest.raises(CorruptionError, match=r"admin\.properties holds no password .* remove the file"):
            read(tmp_path)
