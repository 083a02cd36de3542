"""`containers/prepare.sh` draws the secrets."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
from pathlib import Path

from tests.unit.containers.compose_file import COMPOSE, ROOT


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

    assert set(_read(tmp_path / "secrets")) == set(COMPOSE["secrets"])


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

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o444}


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
