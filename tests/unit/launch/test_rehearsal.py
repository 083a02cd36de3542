"""A rehearsal's process: what it leaves, and what is said of how it ended."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sluice.errors import NotReadyError
from sluice.launch.rehearsal import rehearse
from sluice.streams.failures.failure import FILE, Failure, FailureClass, to_record
from sluice.streams.life.launcher import Job

FAILURE = Failure(FailureClass.INCOMPATIBLE_STATE, "STATE_STORE", "no fit", datetime(2013, 1, 1, tzinfo=UTC), "live")


def python(code: str, *arguments: str) -> Job:
    return Job((sys.executable, "-c", code, *arguments))


def test_one_that_ends_well_has_nothing_against_a_start(tmp_path: Path) -> None:
    tmp_path.joinpath(FILE).write_text(json.dumps(to_record(FAILURE)))
    found = rehearse(python("print('looked')"), tmp_path)
    assert (found.exit_code, found.failure, found.why) == (0, None, "")
    assert found.log.read_text() == "looked\n"


def test_what_it_leaves_in_its_folder_says_why_and_what_to_do(tmp_path: Path) -> None:
    leave = "import os, sys, pathlib; pathlib.Path(os.environ['SLUICE_DRIVER'], sys.argv[1]).write_text(sys.argv[2])"
    found = rehearse(python(f"{leave}; sys.exit(20)", FILE, json.dumps(to_record(FAILURE))), tmp_path / "flights")
    assert (found.exit_code, found.failure) == (20, FAILURE)
    assert found.why.startswith("incompatible state: stream live: STATE_STORE: no fit (go back to the code")


def test_one_that_is_killed_leaves_no_reason_but_its_log(tmp_path: Path) -> None:
    found = rehearse(python("import os; os.kill(os.getpid(), 9)"), tmp_path)
    assert (found.exit_code, found.failure) == (-9, None)
    assert "exit code -9 (killed); see its log" in found.why


def test_one_that_cannot_be_started_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="was not started"):
        rehearse(Job((str(tmp_path / "nowhere"),)), tmp_path)
