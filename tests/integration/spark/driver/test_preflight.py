"""A start that cannot be: said with all that stands against it, and nothing was changed."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from sluice.delta.table import ensure_table
from sluice.launch.rehearsal import rehearse
from sluice.settings import Settings
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FILE, Failure, FailureClass, from_record
from sluice.streams.life.driver_files import warnings_of
from tests.editing import edit
from tests.integration.spark.conftest import TRANSFORM, DriverPlace

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("two_days")]


def said(place: DriverPlace) -> Failure:
    found = from_record(json.loads((place.state / "drivers" / "local.flights.g2" / FILE).read_text()))
    assert found is not None
    return found


def add_a_column(place: DriverPlace) -> None:
    """To the rows of both outputs, as a constant of which no state knows."""
    edit(place.home / TRANSFORM, '"delay_max_min",\n    )', '"delay_max_min",\n        F.lit(1).alias("oops"),\n    )')


def add_an_aggregate(place: DriverPlace) -> None:
    """To the rows of both outputs, and to the state."""
    edit(
        place.home / TRANSFORM,
        'F.max(delay).alias("delay_max_min")',
        'F.max(delay).alias("delay_max_min"), F.min(delay).alias("oops")',
    )
    edit(place.home / TRANSFORM, '"delay_max_min",\n    )', '"delay_max_min",\n        "oops",\n    )')


def add_an_output_whose_table_is_another(place: DriverPlace) -> None:
    """As the last one."""
    spec = place.home / "include" / "pipelines" / "departures.yaml"
    edit(spec, "driver: flights", "  - {kind: latest, table: newest, keys: [hour, origin, carrier]}\ndriver: flights")
    field = {"name": "price", "type": "double", "nullable": True, "metadata": {}}
    ensure_table(place.state / "tables" / "newest", json.dumps({"type": "struct", "fields": [field]}))


def kept(place: DriverPlace) -> dict[str, bytes]:
    """Return all that tables and checkpoints say."""
    logs = [*place.state.glob("tables/*/_delta_log/*.json"), *place.state.glob("checkpoints/**/*")]
    return {str(file.relative_to(place.state)): file.read_bytes() for file in logs if file.is_file()}


@pytest.mark.verify
def test_a_fault_of_the_last_output_leaves_every_table_as_it_was(own: DriverPlace) -> None:
    add_a_column(own)
    add_an_output_whose_table_is_another(own)
    before = kept(own)

    failed = own.run(generation=2)

    assert failed.returncode == ExitCode.CODE, failed.stdout[-2000:]
    assert said(own).stream == "departures_live"
    assert "the table newest cannot take what this code writes: price is there and not here" in said(own).message
    assert kept(own) == before


def only_newest(place: DriverPlace) -> None:
    """Let the pipeline have no interval table, so that nothing bounds what its state is made of."""
    spec = place.home / "include" / "pipelines" / "departures.yaml"
    text = spec.read_text()
    start, end = text.index("outputs:"), text.index("driver:")
    outputs = "outputs: [{kind: latest, table: newest, keys: [hour, origin, carrier]}]\n"
    spec.write_text(text[:start] + outputs + text[end:])
    (place.home / "include" / "expectations" / "departures.yaml").unlink()  # it is about the interval table


@pytest.mark.verify
def test_code_that_does_not_fit_the_state_adds_no_column_and_its_schemas_are_beside_the_sentence(
    own: DriverPlace,
) -> None:
    only_newest(own)
    shutil.rmtree(own.state / "checkpoints" / "departures")
    assert own.run(generation=2).returncode == ExitCode.STOPPED
    add_an_aggregate(own)
    before = kept(own)

    failed = own.run(generation=3)

    assert failed.returncode == ExitCode.INCOMPATIBLE_STATE, failed.stdout[-2000:]
    words = said(own)
    assert words.kind is FailureClass.INCOMPATIBLE_STATE
    assert words.error == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
    assert words.stream == "departures"
    assert words.message.startswith("Provided value schema does not match")
    assert "StructField" not in words.message
    assert "StructField" in words.details
    assert kept(own) == before


@pytest.mark.verify
def test_a_rehearsal_beside_a_driver_says_whether_the_next_one_would_start_and_changes_nothing(
    own: DriverPlace,
) -> None:
    processes, folder = own.project().processes, own.state / "rehearsals" / "flights"
    with own.driver(2) as running:
        good = rehearse(processes.rehearsal("flights", 3), folder)
        assert (good.exit_code, good.why) == (0, ""), good.log.read_text()[-2000:]
        assert running.stop() == ExitCode.STOPPED
    before = kept(own)
    add_an_aggregate(own)
    other = rehearse(processes.rehearsal("flights", 3), folder)
    assert (other.exit_code, other.why) == (0, ""), "its live stream would begin again"
    assert kept(own) == before

    edit(own.home / TRANSFORM, '"oops",', '"oopsie",')
    bad = rehearse(processes.rehearsal("flights", 3), folder)
    assert bad.failure is not None, bad.log.read_text()[-2000:]
    assert (bad.exit_code, bad.failure.kind) == (ExitCode.CODE, FailureClass.CODE)
    assert "oopsie" in bad.failure.message
    assert kept(own) == before


def test_a_topic_that_was_made_without_a_bound_is_warned_of_and_read(drained_state: Path) -> None:
    (warning,) = warnings_of(Settings(state=drained_state).folder.unit_file("flights"), "flights", 1)

    assert warning.startswith("the producers of flights stamp its records, and the broker takes a time up to 1 hour")


@pytest.mark.verify
def test_a_driver_that_dies_between_looking_and_opening_has_changed_nothing(own: DriverPlace) -> None:
    add_a_column(own)
    before = kept(own)

    assert own.run(generation=2, failpoint="before_open").returncode == -signal.SIGKILL
    assert own.fired("before_open")
    assert kept(own) == before

    allowed = own.run(generation=3)
    assert allowed.returncode == ExitCode.STOPPED, allowed.stdout[-2000:]
    assert "oops" in own.table("departures").columns
