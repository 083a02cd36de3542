"""`sluice streams heal` over the real control database and twins of launcher and broker."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from typer.testing import CliRunner, Result

from sluice.cli import intervals
from sluice.cli.streams.commands import app
from sluice.delta.reading import read_rows
from sluice.errors import RefusedError, SpecError
from sluice.streams.position.epochs import Epochs
from tests.twins.departures_project import MIDNIGHT, DeparturesProject, hour
from tests.twins.flights_unit import FlightsUnit
from tests.unit.streams.position.test_checkpoint import write_offsets

FAR = datetime(2100, 1, 1, tzinfo=UTC)
FAR_HOUR = (FAR - MIDNIGHT) // timedelta(hours=1)


class Bench(FlightsUnit):
    """A stopped unit whose stream has closed three hours, and then all hours until 2100."""

    def __init__(self, place: DeparturesProject, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        super().__init__(place, monkeypatch)
        place.settle(3, {0: 2, 2: 1})
        place.settle(FAR_HOUR, {3: 4})
        live = pa.table({"hour": pa.array([hour(4), FAR], pa.timestamp("us", tz="UTC")), "flights": [1, 1]})
        write_deltalake(str(self.project.folder.table("departures_live")), live)
        for stream in ("departures", "departures_live"):
            self.leave(stream, FAR)
        self.project.streams.life("flights").start("ada", "launch")

    def leave(self, stream: str, watermark: datetime) -> None:
        """Let the checkpoint of a stream end with a batch that leaves this watermark."""
        folder = self.project.folder.checkpoint(stream)
        write_offsets(folder, 0, {"flights": {"0": 6}})
        (folder / "commits").mkdir(exist_ok=True)
        left = json.dumps({"nextBatchWatermarkMs": int(watermark.timestamp() * 1000)})
        (folder / "commits" / "0").write_text(f"v1\n{left}")

    def stop(self) -> None:
        self.project.streams.life("flights").stop("ada", "to heal it", 5)

    def epochs(self, stream: str = "departures") -> Epochs:
        return self.project.streams.epochs(stream)

    @property
    def closed_until(self) -> datetime | None:
        return self.project.tables.ledger("departures").closed_until


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(DeparturesProject.create(tmp_path, monkeypatch), monkeypatch)


def heal(*arguments: str) -> Result:
    everything = ["heal", "flights", "--why", "one record of 2100", *arguments]
    return CliRunner().invoke(app, everything, catch_exceptions=False)


def test_closings_are_withdrawn_streams_begin_again_and_the_next_steps_are_printed(bench: Bench) -> None:
    assert bench.closed_until == FAR
    bench.stop()
    said = " ".join(heal("--yes").stdout.split())
    assert "its intervals are closed until 2100-01-01 00:00 UTC" in said
    assert f"{FAR_HOUR - 4:,} intervals without rows, from 2013-01-01 04:00 UTC on, become open" in said
    assert "departures: its watermark is 2100-01-01 00:00 UTC" in said
    assert "departures_live (latest): 1 rows of later windows will be removed" in said
    assert "departures: epoch 1" in said
    assert "sluice streams start flights" in said

    assert bench.closed_until == hour(4)
    epochs = [bench.epochs(stream).newest() for stream in ("departures", "departures_live")]
    assert [epoch and (epoch.number, epoch.offsets, epoch.why) for epoch in epochs] == [
        (1, {"flights/0": 0}, "one record of 2100")
    ] * 2
    assert read_rows(bench.project.folder.table("departures_live")).column("hour").to_pylist() == [hour(4)]
    listed: dict[str, Any] = json.loads(CliRunner().invoke(intervals.app, ["list", "-o", "json"]).stdout)
    assert [row["rows"] if row is None else row["current"]["rows"] for row in listed["departures"]["intervals"]] == [
        2,
        0,
        1,
        4,
    ]


def test_a_repeated_heal_has_nothing_to_do_and_asks_for_no_confirmation(bench: Bench) -> None:
    bench.stop()
    heal("--yes")
    said = heal()
    assert said.exit_code == 0
    assert "no interval is closed further ahead of the clock than its specs allow" in " ".join(said.stdout.split())
    assert bench.epochs().number == 1


def test_what_a_crash_left_half_done_is_finished(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.stop()
    with monkeypatch.context() as patch:
        patch.setattr(Epochs, "record", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
        with pytest.raises(OSError, match="full"):
            heal("--yes")
    assert (bench.closed_until, bench.epochs().number) == (hour(4), 0)
    found: dict[str, Any] = json.loads(heal("--yes", "-o", "json").stdout)
    assert (found["tables"], sorted(found["streams"])) == ({}, ["departures", "departures_live"])
    assert bench.epochs("departures_live").number == 1


def test_without_yes_and_a_terminal_it_is_shown_and_nothing_is_changed(bench: Bench) -> None:
    bench.stop()
    with pytest.raises(SpecError, match="--yes"):
        heal()
    assert (bench.closed_until, bench.epochs().number) == (FAR, 0)


def test_a_unit_that_runs_is_refused(bench: Bench) -> None:
    with pytest.raises(RefusedError, match="sluice streams stop flights"):
        heal("--yes")
    assert bench.closed_until == FAR


def test_a_skew_that_still_allows_it_finds_nothing_and_is_named(bench: Bench) -> None:
    bench.stop()
    spec = bench.place.home / "include" / "pipelines" / "departures.yaml"
    spec.write_text(
        spec.read_text().replace("future_skew: 60 minutes", "future_skew: 1 hour\n  clock_skew: 36000 days")
    )
    assert "clock_skew 36000 days" in " ".join(heal("--yes").stdout.split())
    assert (bench.closed_until, bench.epochs().number) == (FAR, 0)
