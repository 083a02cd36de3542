"""What is put on record of an act: its beginning first, its end whatever comes of it, and never a secret."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from sluice.alerts.redaction import Redaction
from sluice.audit.act import Act, ActOutcome
from sluice.audit.log import AuditLog
from sluice.audit.recording import ActRecorder, Doer, remark
from sluice.errors import RefusedError, UnreachableError
from tests.twins.clock import START, ManualClock

ADA = Doer("ada", "command line")
SECRET = "correct-horse-battery"  # noqa: S105 - a secret of nothing


@pytest.fixture
def recorder(tmp_path: Path) -> ActRecorder:
    return ActRecorder(AuditLog(tmp_path / "audit"), "prod", Redaction([SECRET]), ManualClock())


def only(recorder: ActRecorder) -> Act:
    (act,) = recorder.audit.read().acts
    return act


def test_the_beginning_is_on_record_before_anything_is_done(recorder: ActRecorder) -> None:
    with recorder.recorded(recorder.described("streams stop", ADA, {"unit": "flights", "why": ""})):
        during = only(recorder)
        recorder.clock.sleep(5)
    assert during == Act(during.id, START, "ada", "command line", "prod", "streams stop", {"unit": "flights"})
    assert during.outcome is ActOutcome.OPEN
    after = only(recorder)
    assert (after.id, after.outcome, after.detail) == (during.id, ActOutcome.DONE, "")
    assert after.ended is not None
    assert (after.ended - after.at).total_seconds() == 5


@pytest.mark.parametrize(
    ("raised", "outcome", "detail"),
    [
        (RefusedError("it runs.", fix="stop it."), ActOutcome.REFUSED, "RefusedError: it runs. Fix: stop it."),
        (UnreachableError("no answer."), ActOutcome.FAILED, "UnreachableError: no answer."),
        (ValueError(), ActOutcome.FAILED, "ValueError"),
        (KeyboardInterrupt(), ActOutcome.INTERRUPTED, "KeyboardInterrupt"),
        (typer.Exit(0), ActOutcome.DONE, ""),
        (typer.Exit(1), ActOutcome.FAILED, "exit code 1"),
        (SystemExit(), ActOutcome.DONE, ""),
        (SystemExit("no"), ActOutcome.FAILED, "exit code 1"),
    ],
)
def test_an_act_ends_as_what_it_raises_says(
    recorder: ActRecorder, raised: BaseException, outcome: ActOutcome, detail: str
) -> None:
    with pytest.raises(type(raised)), recorder.recorded(recorder.described("streams start", ADA, {})):
        raise raised
    assert (only(recorder).outcome, only(recorder).detail) == (outcome, detail)


@given(st.text(max_size=20), st.text(max_size=20))
def test_no_secret_is_on_record_wherever_it_stands(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    folder = tmp_path_factory.mktemp("state") / "audit"
    recorder = ActRecorder(AuditLog(folder), "prod", Redaction([SECRET]), ManualClock())
    said = f"{before}{SECRET}{after}"
    arguments = {"why": said, "topics": [said, "flights"], "token": "of-nobody", "url": "https://me:hunter22@host/x"}

    def fail() -> None:
        with recorder.recorded(recorder.described("feed send", ADA, arguments)):
            remark(f"approved by {said}")
            raise ValueError(said)

    with pytest.raises(ValueError, match="horse"):
        fail()
    text = "".join(file.read_text() for file in folder.iterdir())
    for secret in (SECRET, "of-nobody", "hunter22"):
        assert secret not in text
        assert json.dumps(secret)[1:-1] not in text


def test_long_arguments_are_cut_and_what_was_not_given_is_left_out(recorder: ActRecorder) -> None:
    given_: dict[str, object] = {
        "why": "x" * 1000,
        "only": ("a", "b"),
        "yes": True,
        "no": False,
        "plan": "",
        "none": None,
    }
    shown = recorder.described("topics apply", ADA, given_).arguments
    assert shown == {"why": "x" * 299 + "…", "only": "a, b", "yes": "True"}


def test_an_argument_that_is_no_text_is_recorded_all_the_same(recorder: ActRecorder) -> None:
    with recorder.recorded(recorder.described("topics send", ADA, {"file": "caf\udce9.jsonl"})):
        pass
    assert dict(only(recorder).arguments) == {"file": r"caf\udce9.jsonl"}


def test_a_remark_belongs_to_the_act_in_which_it_is_made(recorder: ActRecorder) -> None:
    remark("of an act before")
    with recorder.recorded(recorder.described("topics apply", ADA, {})):
        remark("approved by grace")
    assert only(recorder).detail == "approved by grace"
    with recorder.recorded(recorder.described("topics cancel", ADA, {})):
        pass
    assert recorder.audit.read().acts[-1].detail == ""


def test_an_act_is_done_although_the_disk_takes_no_record_and_that_is_logged(
    recorder: ActRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    recorder.audit.folder.write_text("a file where the folder belongs")
    done: list[str] = []
    work: Callable[[str], None] = done.append
    with recorder.recorded(recorder.described("streams stop", ADA, {})):
        work("stopped")
    assert done == ["stopped"]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "This act is not on record" in caplog.text
