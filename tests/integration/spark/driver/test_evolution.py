"""A transform that gives other columns than its table has: added by rule, or refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the ecosystem's name for it

import transforms.departures
from sluice.errors import RefusedError
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.request import Mode
from sluice.intervals.ledger import State
from sluice.project.project import Project
from sluice.settings import Settings
from tests.integration.spark.backfill.backfills import FIRST, LAST, RANGE, Drained
from tests.integration.spark.conftest import DriverPlace
from tests.oracle import departures, differences

pytestmark = pytest.mark.timeout(600)

DAY = Interval(RANGE.start, RANGE.start.replace(hour=0) + timedelta(days=1))
Change = Callable[[DataFrame], DataFrame]


def edited(drained: Drained, monkeypatch: pytest.MonkeyPatch, change: Change) -> Drained:
    """Return the same state under a project whose transform does something more."""
    place = DriverPlace(drained.state).with_own_project()
    transform = place.home / "spark_jobs" / "transforms" / "departures.py"
    transform.write_text(transform.read_text() + "\n# edited\n")  # the hash is of the files
    before = transforms.departures.departures

    def after(flights: DataFrame, *, airlines: DataFrame) -> DataFrame:
        return change(before(flights, airlines=airlines))

    monkeypatch.setattr(transforms.departures, "departures", after)
    return replace(drained, project=Project.open_strict(Settings(home=place.home, state=drained.state)))


def states(drained: Drained) -> set[State]:
    code = drained.project.code_of("departures")
    return {row.state(code) for row in drained.ledger.rows.values()}


@pytest.mark.verify
def test_an_added_column_is_null_in_older_intervals_which_are_stale_until_they_are_recomputed(
    drained: Drained, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = edited(drained, monkeypatch, lambda rows: rows.withColumn("share", F.col("departed").cast("double")))
    assert states(after) == {State.STALE}
    recomputed = after.run(Mode.RECOMPUTE, over=DAY)
    assert recomputed.passed, recomputed.why
    rows = after.rows()
    inside = rows["hour"].dt.date == DAY.start.date()
    assert rows[inside]["share"].tolist() == rows[inside]["departed"].astype(float).tolist()
    assert rows[~inside]["share"].isna().all()
    assert 0 < inside.sum() < len(rows)
    assert differences(rows.drop(columns="share"), departures(FIRST, LAST)) == []
    assert states(after) > {State.STALE}

    # What nobody has touched counts as unchanged, though its rows have a column more.
    rest = after.run(Mode.RECOMPUTE, over=Interval(DAY.end, RANGE.end))
    assert rest.passed
    assert rest.why == ""
    assert not after.rows()["share"].isna().any()
    assert State.STALE not in states(after)
    assert after.run(Mode.VERIFY).outcome == "identical"


@pytest.mark.verify
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows.withColumn("cancelled", F.col("cancelled").cast("double")), "cancelled is long there"),
        (lambda rows: rows.drop("cancelled"), "cancelled is there and not here"),
    ],
)
def test_another_type_and_a_column_that_goes_are_refused_before_anything_is_written(
    drained: Drained, monkeypatch: pytest.MonkeyPatch, change: Change, said: str
) -> None:
    after, version = edited(drained, monkeypatch, change), drained.versions()
    with pytest.raises(RefusedError, match=said) as refused:
        after.run(Mode.RECOMPUTE, over=DAY)
    assert "departures_v2" in refused.value.fix
    assert drained.versions() == version
