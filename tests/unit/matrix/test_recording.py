"""A test that declares a row of the matrix proves it, or fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.matrix.census import CLEAN, Census
from tests.matrix.recording import FaultRecorder, ReportFile, RowReport, refuse_silence
from tests.twins.clock import ManualClock

pytest_plugins = ["pytester"]

CONFTEST = """
from pathlib import Path
from tests.matrix.recording import ReportFile, faults, pytest_pyfunc_call

def pytest_configure(config):
    config.addinivalue_line("markers", "proves(*rows): rows")
    config.pluginmanager.register(ReportFile(Path("reports.jsonl")))
"""


def recorder(*rows: str) -> tuple[FaultRecorder, ManualClock]:
    clock = ManualClock()
    return FaultRecorder(rows, clock), clock


def proven(faults: FaultRecorder, *rows: str) -> None:
    faults.struck("exit code -9", *rows)
    faults.counted(CLEAN, *rows)


def test_evidence_and_a_clean_census_prove_a_row() -> None:
    faults, clock = recorder("driver-killed")
    proven(faults)
    clock.sleep(3)
    faults.recovered()
    faults.alarms([])
    refuse_silence(["driver-killed"], faults)
    assert faults.reports["driver-killed"] == RowReport(
        "driver-killed", ["exit code -9"], 0, 0, 0, "raw records", stale_alarms=0, recovery_s=3.0
    )


@pytest.mark.parametrize(
    ("census", "said"),
    [(Census(1, 0, 0), "lost: 1"), (Census(0, 2, 0), "twice: 2"), (Census(0, 0, 3), "phantom: 3")],
)
def test_a_record_that_is_lost_doubled_or_made_up_is_refused(census: Census, said: str) -> None:
    faults, _ = recorder("driver-killed")
    proven(faults)
    faults.counted(census)
    with pytest.raises(AssertionError, match=f"driver-killed: {said}"):
        refuse_silence(["driver-killed"], faults)


def test_an_alarm_that_stays_is_refused() -> None:
    faults, _ = recorder("driver-killed")
    proven(faults)
    faults.alarms(["departures is STALLED"])
    with pytest.raises(AssertionError, match="stale_alarms: 1"):
        refuse_silence(["driver-killed"], faults)


def test_evidence_alone_and_a_census_alone_prove_nothing() -> None:
    faults, _ = recorder("driver-killed", "zombie")
    faults.struck("exit code -9", "driver-killed")
    faults.compared("rows", "zombie")
    with pytest.raises(AssertionError) as refused:
        refuse_silence(["driver-killed", "zombie"], faults)
    assert "driver-killed: nothing says what became of records" in str(refused.value)
    assert "zombie: nothing shows that the fault struck" in str(refused.value)


def test_a_row_that_is_not_declared_is_refused_and_a_test_without_rows_keeps_nothing() -> None:
    faults, _ = recorder("driver-killed")
    with pytest.raises(AssertionError, match=r"does not declare \['zombie'\]"):
        faults.struck("it slept", "zombie")
    with pytest.raises(AssertionError, match="recovered from nothing"):
        faults.recovered()
    free, _ = recorder()
    free.struck("whatever")
    free.recovered()
    assert free.reports == {}


def test_of_several_recoveries_the_longest_counts_and_each_from_its_strike() -> None:
    faults, clock = recorder("driver-killed")
    for seconds in (2, 9, 4):
        faults.struck("exit code -9")
        clock.sleep(seconds)
        faults.recovered()
    assert faults.reports["driver-killed"].recovery_s == 9.0


def test_silent_tests_fail_and_what_others_report_is_on_file_at_once(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
        import pytest
        from tests.matrix.census import CLEAN, Census

        pytestmark = pytest.mark.proves("zombie")

        def test_without_the_fixture():
            pass

        def test_that_says_nothing(faults):
            pass

        def test_that_proves(faults):
            faults.struck("it slept")
            faults.counted(CLEAN)

        def test_that_fails_after_it_reported(faults):
            faults.struck("it slept")
            faults.counted(Census(5, 0, 0))
            assert False

        @pytest.mark.proves("no-such-row")
        def test_of_another_row(faults):
            pass
        """
    )
    run = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly")
    run.assert_outcomes(passed=1, failed=3, errors=1)
    run.stdout.fnmatch_lines(["*zombie: nothing shows that the fault struck*"])
    lines = [json.loads(line) for line in Path("reports.jsonl").read_text(encoding="utf-8").splitlines()]
    said = {line["test"].rpartition("::")[2]: line for line in lines}
    assert {name for name, line in said.items() if line["passed"]} == {"test_that_proves"}
    assert said["test_that_proves"]["faults"][0]["evidence"] == ["it slept"]
    assert said["test_that_fails_after_it_reported"]["faults"][0]["lost"] == 5
    assert said["test_without_the_fixture"]["faults"] == []


def test_a_test_that_died_with_its_process_is_on_file_as_failed(tmp_path: Path) -> None:
    report = pytest.TestReport("tests/test_z.py::test_z", ("", None, ""), {}, "failed", "gone", "???")  # type: ignore[arg-type]  as xdist makes it
    ReportFile(tmp_path / "reports.jsonl").pytest_runtest_logreport(report)
    (line,) = (tmp_path / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {"test": "tests/test_z.py::test_z", "passed": False, "seconds": 0, "faults": []}
