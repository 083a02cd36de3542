"""A project with the repository's specs in a private folder, whose settler is played by commits without rows."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.delta.log import append_entry, newest_first
from sluice.intervals.entries import Entry, SettleEntry, StreamEntry
from sluice.project.project import Project
from sluice.settings import Settings, settings
from tests.settlements import lacking, settlement

MIDNIGHT = datetime(2013, 1, 1, tzinfo=UTC)


def hour(number: int) -> datetime:
    return MIDNIGHT + timedelta(hours=number)


@dataclass(frozen=True)
class DeparturesProject:
    """Project and state folder of one test; the commands of the command line find them by the environment."""

    home: Path
    state: Path

    @classmethod
    def create(cls, folder: Path, monkeypatch: pytest.MonkeyPatch) -> DeparturesProject:
        """Copy the specs; `settings()` names the copy from now on."""
        repository, place = Settings().home, cls(folder / "project", folder / "state")
        for kind in ("pipelines", "topics", "feeds", "expectations", "access", "deployments"):
            shutil.copytree(repository / "include" / kind, place.home / "include" / kind)
        shutil.copytree(repository / "spark_jobs" / "transforms", place.home / "spark_jobs" / "transforms")
        validation = Path("include", "sluice", "spark", "records", "validation.py")  # a part of the code's identity
        (place.home / validation).parent.mkdir(parents=True)
        shutil.copy(repository / validation, place.home / validation)
        for name, value in {"HOME": place.home, "STATE": place.state, "DEPLOYMENT": "local"}.items():
            monkeypatch.setenv(f"SLUICE_{name}", str(value))
        settings.cache_clear()
        return place

    @property
    def project(self) -> Project:
        return Project.open_strict(settings())

    @property
    def table(self) -> Path:
        return self.project.folder.table("departures")

    def commit(self, *entries: Entry) -> None:
        """Append commits with these entries to the output table."""
        if not self.table.exists():
            write_deltalake(str(self.table), pa.table({"n": [0]}))
        for entry in entries:
            append_entry(self.table, entry)

    def settle(self, until: int, wrote: Mapping[int, int], *, code: str | None = None) -> None:
        """Commit a settlement of all hours below `until` that are not settled yet; the raw table has what it read."""
        newest = self._newest()
        since = hour(min(wrote, default=0)) if newest is None else newest.settled_until
        rows, today = {hour(number): own for number, own in wrote.items()}, self.project.code_of("departures")
        read = {"flights/0": until}
        self.commit(settlement(since, hour(until), rows, read=read, code=today if code is None else code))
        self._read(read)

    def soil(self, *numbers: int) -> None:
        """Commit that one more record has come, which these settled hours lack; the raw table has it, too."""
        newest = self._newest()
        assert newest is not None
        read = {"flights/0": newest.reach.offsets["flights/0"] + 1}
        self.commit(lacking(newest.settled_until, *map(hour, numbers), read=read))
        self._read(read)

    def _newest(self) -> SettleEntry | None:
        log = newest_first(self.table) if self.table.exists() else ()
        return next((logged.entry for logged in log if isinstance(logged.entry, SettleEntry)), None)

    def _read(self, end: Mapping[str, int]) -> None:
        raw = self.project.folder.table(self.project.catalog.topics["flights"].raw.table)
        if not raw.exists():
            write_deltalake(str(raw), pa.table({"n": [0]}))
        append_entry(raw, StreamEntry("raw_flights", 1, "", 0, {"flights/0": 0}, end))
