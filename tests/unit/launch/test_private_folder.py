"""The folder that all stacks of a user share: this user's own, or none."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from sluice.errors import NotReadyError
from sluice.launch.ports import reserved
from sluice.launch.private import made_private_folder, private_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_for_nobody_else_and_is_made_once() -> None:
    folder = made_private_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert made_private_folder() == folder == private_folder()


def test_a_temporary_folder_that_cannot_hold_it_is_said_with_what_to_do(temporary: Path) -> None:
    (temporary / f"sluice-{os.getuid()}").write_text("in the way")

    with pytest.raises(NotReadyError, match="cannot be made") as refused, reserved("", lambda _: False):
        pass

    assert "TMPDIR" in refused.value.fix


def test_what_somebody_else_has_made_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    folder, me = made_private_folder(), os.getuid()
    stranger = me + 1
    folder.rename(folder.with_name(f"sluice-{stranger}"))
    monkeypatch.setattr(os, "getuid", lambda: stranger)

    with pytest.raises(NotReadyError, match=f"belongs to user {me}"):
        made_private_folder()
