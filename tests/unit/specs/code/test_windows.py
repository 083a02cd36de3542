"""Windows that an interval table cannot take are refused by reading the code, before a record is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.specs.bench import PIPELINE, PIPELINE_FILE, TRANSFORM, TRANSFORM_FILE, sound_project

HEAD = """\
from pyspark.sql import functions as F
from pyspark.sql.functions import session_window

HALF = "30 minutes"
HOUR: str = "1 hour"
UNKNOWN = "30 " + "minutes"


"""


def refused(tmp_path: Path, grouping: str, *, declared: str = "1 hour", above: str = "", beside: str = "") -> list[str]:
    bench = sound_project(tmp_path)
    bench.write(
        PIPELINE_FILE,
        PIPELINE.replace("window: 1 hour", f"window: {declared}").replace("interval: hour", "interval: day"),
    )
    body = f"def sales(orders, *, shops):\n    rows = orders.groupBy({grouping}).count()\n    return rows\n"
    bench.write(TRANSFORM_FILE, f"{HEAD}{above}\n\n{body}\n\n{beside}\n")
    return [f"{fault.message} {fault.fix}" for fault in bench.scan().faults]


@pytest.mark.parametrize(
    "grouping",
    [
        "F.window('ordered_at', '1 hour')",
        "F.window('ordered_at', '60 minutes', '1 hour')",
        "F.window('ordered_at', HOUR, startTime='0 seconds')",
        "F.window('ordered_at', UNKNOWN)",
        "F.window('ordered_at', '1 microsecond')",
        "F.expr(\"window(ordered_at, '1 hour')\")",
        "'window', F.window('ordered_at', windowDuration=HOUR)",
    ],
)
def test_windows_that_are_the_declared_ones_or_that_reading_cannot_tell_are_let_through(
    tmp_path: Path, grouping: str
) -> None:
    assert refused(tmp_path, grouping) == []


@pytest.mark.parametrize(
    ("grouping", "declared", "words"),
    [
        (
            "F.window('ordered_at', '30 minutes')",
            "1 hour",
            "its windows are 30 minutes long, and the spec declares 1 hour",
        ),
        ("F.window('ordered_at', HALF)", "1 hour", "write `window: 30 minutes`"),
        ("F.window('ordered_at', windowDuration='2 hours')", "1 hour", "its windows are 2 hours long"),
        ("F.expr(\"window(ordered_at, '2 hours')\")", "1 hour", "its windows are 2 hours long"),
        ("F.expr(\"window(ordered_at, interval '2 hours')\")", "1 hour", "its windows are 2 hours long"),
        (
            "F.window('ordered_at', '1 day', startTime='5 hours')",
            "1 day",
            "`lookahead: 5 hours` if",
        ),
        ("F.window('ordered_at', '1 hour', '10 minutes')", "1 hour", "reach up to 50 minutes beyond the day"),
        ("F.expr(\"window(ordered_at, '1 hour', '10 minutes')\")", "1 hour", "`lookback: 1 hour` if it holds its end"),
        ("F.session_window('ordered_at', '5 minutes')", "1 hour", "session_window makes windows without fixed bounds"),
        ("session_window('ordered_at', '5 minutes')", "1 hour", "session_window makes windows without fixed bounds"),
        ("F.expr(\"session_window(ordered_at, '5 minutes')\")", "1 hour", "session_window makes"),
    ],
)
def test_others_are_refused_by_name_with_what_to_do(tmp_path: Path, grouping: str, declared: str, words: str) -> None:
    (said,) = refused(tmp_path, grouping, declared=declared)
    assert words in said
    assert "line 12 of spark_jobs/transforms/sales.py" in said


def test_windows_of_a_function_that_the_transform_calls_count(tmp_path: Path) -> None:
    above = "def halves():\n    return F.window('ordered_at', '30 minutes')"
    (said,) = refused(tmp_path, "halves()", above=above)
    assert "line 10 of" in said
    assert refused(tmp_path / "other", "F.window('ordered_at', '1 hour')", beside=above) == []


def test_windows_of_another_module_count(tmp_path: Path) -> None:
    bench = sound_project(tmp_path)
    bench.write("spark_jobs/transforms/common.py", f"{HEAD}def halves():\n    return F.window('ordered_at', HALF)\n")
    code = (
        "from transforms.common import halves\n\n\ndef sales(orders, *, shops):\n    return orders.groupBy(halves())\n"
    )
    bench.write(TRANSFORM_FILE, code)
    (fault,) = bench.scan().faults
    assert "spark_jobs/transforms/common.py" in fault.message


def test_of_windows_over_windows_one_has_to_be_the_declared_one(tmp_path: Path) -> None:
    above = "def first(rows):\n    return rows.groupBy(F.window('ordered_at', '10 minutes')).count()"
    assert refused(tmp_path, "first(orders), F.window(F.window_time('window'), '1 hour')", above=above) == []
    (said,) = refused(tmp_path / "other", "first(orders), F.window(F.window_time('window'), '2 hours')", above=above)
    assert "10 minutes and 2 hours" in said


def test_other_outputs_take_the_windows_that_they_get(tmp_path: Path) -> None:
    bench = sound_project(tmp_path)
    start, end = PIPELINE.index("output:"), PIPELINE.index("driver:")
    bench.write(PIPELINE_FILE, f"{PIPELINE[:start]}outputs: [{{kind: rows, table: sales}}]\n{PIPELINE[end:]}")
    bench.write(TRANSFORM_FILE, TRANSFORM.replace('"1 hour"', '"1 hour", "10 minutes"'))
    assert bench.scan().faults == ()
