"""`containers/prepare.sh` draws the secrets."""

from __future__ import annotations

import base64
import json
import shutil
import ssl
import stat
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.certificates import make_authority
from tests.unit.containers.compose_file import BROKERS, COMPOSE, ROOT

AUTHORITYS_KEY = "tls_ca_key"
"""What signs certificates is mounted nowhere."""
SERVED = {
    "tls_kafka": {*BROKERS, "localhost"},
    "tls_postgres": {"postgres", "localhost"},
    "tls_spark": {"spark-master", "localhost"},
    "tls_runner": {"runner"},
    "tls_airflow": {"airflow-api", "localhost"},
    "tls_live": {"live", "localhost"},
    "tls_metrics": {"node-exporter", "prometheus", "localhost"},
}
"""Certificate → the names by which it is known."""


def _prepare(folder: Path) -> str:
    done = subprocess.run(
        [ROOT / "containers" / "prepare.sh", folder], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr == ""
    return done.stdout


def _read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_it_draws_exactly_the_secrets_that_the_compose_file_names(tmp_path: Path) -> None:
    _prepare(tmp_path / "secrets")

    assert set(_read(tmp_path / "secrets")) == {*COMPOSE["secrets"], AUTHORITYS_KEY}


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    _prepare(tmp_path / "secrets")
    before = _read(tmp_path / "secrets")
    _prepare(tmp_path / "secrets")

    assert _read(tmp_path / "secrets") == before


def test_a_lost_secret_is_drawn_again_and_the_others_are_kept(tmp_path: Path) -> None:
    _prepare(tmp_path)
    before = _read(tmp_path)
    (tmp_path / "postgres_sluice").unlink()
    _prepare(tmp_path)
    after = _read(tmp_path)

    assert after.pop("postgres_sluice") != before.pop("postgres_sluice")
    assert after == before


def test_no_two_installations_and_no_two_secrets_are_alike(tmp_path: Path) -> None:
    _prepare(tmp_path / "one")
    _prepare(tmp_path / "two")
    drawn = [*_read(tmp_path / "one").values(), *_read(tmp_path / "two").values()]

    assert len(set(drawn)) == len(drawn)


def test_the_folder_is_closed_and_the_files_can_be_read_in_a_container(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    _prepare(folder)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes.pop(AUTHORITYS_KEY) == 0o600
    assert set(modes.values()) == {0o444}


def test_keys_have_the_form_and_length_that_their_users_want(tmp_path: Path) -> None:
    _prepare(tmp_path)
    drawn = _read(tmp_path)

    assert len(base64.urlsafe_b64decode(drawn["airflow_fernet_key"])) == 32
    assert len(drawn["airflow_jwt_secret"]) >= 64
    assert len(base64.urlsafe_b64decode(drawn["kafka_cluster_id"] + "==")) == 16
    assert len(json.loads(drawn["airflow_passwords"])["admin"]) >= 20
    # libpq's password file ends a field at a colon and escapes with a backslash.
    assert not set("".join(secret for name, secret in drawn.items() if name.startswith("postgres_"))) & set(":\\\n")


def test_it_tells_nobody_what_it_drew(tmp_path: Path) -> None:
    said = _prepare(tmp_path)

    assert not [name for name, secret in _read(tmp_path).items() if secret in said]


def test_every_certificate_is_signed_by_the_authority_for_the_names_of_its_service(tmp_path: Path) -> None:
    _prepare(tmp_path)
    (authority,) = x509.load_pem_x509_certificates((tmp_path / "tls_ca").read_bytes())
    assert {name for name in COMPOSE["secrets"] if name.startswith("tls_")} == {"tls_ca", *SERVED}
    for name, names in SERVED.items():
        content = (tmp_path / name).read_bytes()
        (certificate,) = x509.load_pem_x509_certificates(content)
        certificate.verify_directly_issued_by(authority)
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert set(alternatives.get_values_for_type(x509.DNSName)) == names, name
        assert load_pem_private_key(content, None).public_key() == certificate.public_key()
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(tmp_path / name)


def test_a_certificate_that_expires_soon_or_is_another_authoritys_is_made_again(tmp_path: Path) -> None:
    _prepare(tmp_path)
    before = _read(tmp_path)
    stranger = make_authority(_folder(tmp_path / ".other")).issue("live", days=700).both.read_bytes()
    for name, content in (("tls_live", stranger), ("tls_runner", b"nothing")):
        (tmp_path / name).chmod(0o644)
        (tmp_path / name).write_bytes(content)
    shutil.rmtree(tmp_path / ".other")
    _prepare(tmp_path)
    after = _read(tmp_path)

    assert {name for name in before if before[name] != after[name]} == {"tls_live", "tls_runner"}
    assert not {after["tls_live"], after["tls_runner"]} & {stranger.decode(), "nothing"}


def test_a_lost_authority_is_drawn_again_with_all_that_it_signs(tmp_path: Path) -> None:
    _prepare(tmp_path)
    before = _read(tmp_path)
    (tmp_path / "tls_ca").unlink()
    _prepare(tmp_path)
    after = _read(tmp_path)

    assert {name for name in before if before[name] != after[name]} == {"tls_ca", AUTHORITYS_KEY, *SERVED}


def test_without_openssl_it_says_what_to_do_and_draws_nothing(tmp_path: Path) -> None:
    bare = _folder(tmp_path / "bin")
    for program in ("dirname", "bash", "env"):
        (bare / program).symlink_to(str(shutil.which(program)))
    done = subprocess.run(
        [bare / "bash", ROOT / "containers" / "prepare.sh", tmp_path / "secrets"],
        env={"PATH": str(bare)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 3
    assert "install it, then repeat this" in done.stderr
    assert not (tmp_path / "secrets").exists()


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
