"""Ids of runs are those that OpenLineage's client and Airflow's provider work out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage.client.uuid import generate_static_uuid

from sluice.errors import SpecError
from sluice.lineage.identity import AirflowTask, Parent, parent_in, run_id, variables_of

MOMENTS = st.datetimes(datetime(1975, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
NAMES = st.text(min_size=1, max_size=30)
AT = datetime(2013, 1, 7, 12, tzinfo=UTC)


@given(MOMENTS, NAMES)
def test_an_id_is_the_clients_static_one(at: datetime, name: str) -> None:
    assert run_id(at, name) == generate_static_uuid(at, name.encode())


@given(MOMENTS, NAMES, NAMES)
def test_ids_differ_by_name_and_not_by_zone(at: datetime, one: str, other: str) -> None:
    assert run_id(at, one) == run_id(at.astimezone(timezone(timedelta(hours=5))), one)
    assert (run_id(at, one) == run_id(at, other)) is (one == other)


def test_later_runs_have_greater_ids() -> None:
    ids = [run_id(AT + timedelta(seconds=n), "departures") for n in range(5)]
    assert ids == sorted(ids)


def test_a_task_and_its_run_have_the_ids_of_airflows_provider() -> None:
    parent = AirflowTask("prod", "backfill_departures", "run", 2, AT, clears=1).parent
    assert parent.job == "backfill_departures.run"
    assert parent.run == generate_static_uuid(AT, b"prod.backfill_departures.run.2.-1")
    assert parent.root == Parent("prod", "backfill_departures", generate_static_uuid(AT, b"prod.backfill_departures.1"))


@given(st.text("abc/:._-", min_size=1), st.text("abc._-", min_size=1), st.uuids(), st.booleans())
def test_a_process_finds_out_whose_it_is(namespace: str, job: str, run: UUID, rooted: bool) -> None:
    parent = Parent(namespace, job, run, Parent(namespace, "dag", UUID(int=7)) if rooted else None)
    assert parent_in(variables_of(parent)) == parent


def test_nobody_said() -> None:
    assert parent_in({}) is None
    assert parent_in({"OPENLINEAGE_PARENT_ID": ""}) is None


@pytest.mark.parametrize("said", ["nonsense", "a/b", f"a/{UUID(int=1)}", "a/b/c"])
def test_a_parent_that_cannot_be_read_is_refused(said: str) -> None:
    with pytest.raises(SpecError, match="OPENLINEAGE_PARENT_ID"):
        parent_in({"OPENLINEAGE_PARENT_ID": said})
