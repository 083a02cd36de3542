"""The batch main says how it ended in one line, and by its exit code. No Spark is started here."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.errors import SpecError
from sluice.spark.backfill.results import Result
from sluice.spark.jobs.batch import main, tell_backfill

ASKED = ["backfill", "--pipeline", "departures", "--mode", "verify", "--by", "tests", "--key", "k"]


def backfill(*arguments: str) -> int:
    return main([*ASKED, *arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--from", "2013-01-01", "--to", "2013-01-02"), "no time zone"),
        (("--from", "2013-01-01T00:30Z", "--to", "2013-01-02T00:00Z"), "lies inside the interval"),
        (("--from", "2013-01-01T00:00Z", "--to", "2013-01-02T00:00Z", "--pipeline", "arrivals"), "no sound pipeline"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backfill(*arguments) == SpecError.exit_code
    (line,) = "".join(capsys.readouterr()).splitlines()
    assert words in line


def test_half_a_range_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["quality", "--pipeline", "departures", "--from", "2013-01-01T00:00Z"]
    assert main(asked) == SpecError.exit_code
    assert "needs both --from and --to" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("outcome", "page", "alert"),
    [
        ("different", "parity.html", "parity"),
        ("raw_mismatch", "parity.html", "parity"),
        ("inconclusive", "parity.html", None),
        ("gate_failed", "quality.html", "gate"),
    ],
)
def test_what_does_not_pass_exits_1_with_the_reason_and_the_page_and_unknown_is_not_different(
    outcome: str, page: str, alert: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tell_backfill(Result("b-1", outcome, "a row is gone."), Path("reports")) == 1
    (line,) = "".join(capsys.readouterr()).splitlines()
    assert f"a row is gone. Fix: read reports/{page}." in line
    assert (f"alert_class={alert}" in line) if alert else ("alert_class" not in line)


@pytest.mark.parametrize("outcome", ["identical", "explained", "recomputed"])
def test_what_passes_exits_0(outcome: str) -> None:
    assert tell_backfill(Result("b-1", outcome), Path("reports")) == 0


def test_an_unknown_mode_is_a_mistake_in_the_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        backfill("--mode", "repair", "--from", "2013-01-01T00:00Z", "--to", "2013-01-02T00:00Z")
    assert ended.value.code == SpecError.exit_code
    assert "'repair'" in "".join(capsys.readouterr())
