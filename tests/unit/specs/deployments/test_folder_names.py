"""A folder's name works in every place that it gets into, or is refused by name before anything is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlalchemy import text

from sluice.control.database import open_database, sqlite_url
from sluice.errors import NotConfiguredError
from sluice.settings import Settings
from sluice.specs.deployments.deployment import DeploymentSpec
from sluice.specs.deployments.folder_names import folder_fault

ODD = 'it\'s "50% (of)" Zoë=日本 😀 ;x &+@~(!<`'
"""Everything that looks dangerous and works."""

REFUSED = [
    *("\n", "\r", "\t", "\x00", "\x85", "\u2028", "\udcff"),
    *("\\", "*", "?", "[", "]", "{", "}", ":", ",", "#", "$", "%41", "%c3", "|", "^"),
]


@pytest.mark.parametrize("character", REFUSED, ids=ascii)
def test_a_character_that_no_escape_helps_is_refused_by_name(character: str) -> None:
    assert folder_fault(f"/srv/a{character}b").startswith(f"{character!a} in it ")


@pytest.mark.parametrize("folder", ["/srv/a!", "/srv/a!/b"])
def test_what_ends_the_name_of_a_jar_ends_no_name_of_a_folder(folder: str) -> None:
    assert folder_fault(folder) == "'!' in it ends a folder's name, which ends the name of a jar to Java"


def test_everything_else_works_in_a_state_folder() -> None:
    assert folder_fault(f"/srv/{ODD}") == ""


def test_settings_refuse_a_folder_before_anything_is_made(tmp_path: Path) -> None:
    state = tmp_path / "a,b"
    with pytest.raises(
        NotConfiguredError, match=r"the state folder '.*/a,b' cannot be used: ',' .* Fix: .*SLUICE_STATE"
    ):
        Settings(state=state)
    with pytest.raises(NotConfiguredError, match="the project folder"):
        Settings(home=tmp_path / "a:b")
    with pytest.raises(NotConfiguredError, match="SLUICE_JARS"):
        Settings(jars=tmp_path / "a#b")
    assert list(tmp_path.iterdir()) == []


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotConfiguredError, match="not UTF-8"):
        Settings(state=Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")))


def test_a_deployments_storage_is_held_to_the_same() -> None:
    with pytest.raises(ValueError, match="is part of a pattern to Spark"):
        DeploymentSpec.model_validate({"name": "x", "kafka": {"kind": "embedded"}, "storage": "/mnt/a*"})


def test_the_control_database_is_in_an_odd_folder_and_nowhere_else(tmp_path: Path) -> None:
    state = tmp_path / ODD
    state.mkdir()
    with open_database(sqlite_url(state / "control.db")).begin() as connection:
        connection.execute(text("CREATE TABLE a (b INTEGER)"))
    assert (state / "control.db").stat().st_size > 0
    assert list(tmp_path.iterdir()) == [state]
