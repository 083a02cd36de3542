"""A project with the repository's specs in a private folder, whose stream is played by commits without rows."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from sluice.delta.log import append_entry
from sluice.intervals.entries import Content, Entry, StreamEntry
from sluice.project.project import Project
from sluice.settings import Settings, settings

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

    def stream(self, until: int, wrote: Mapping[int, int], *, code: str | None = None) -> None:
        """Commit a batch that writes this many rows to these hours and closes all below `until`; raw has them too."""
        entry = self.closing(until, wrote, code=code)
        self.commit(entry)
        raw = self.project.folder.table(self.project.catalog.topics["flights"].raw.table)
        if not raw.exists():
            write_deltalake(str(raw), pa.table({"n": [0]}))
        append_entry(raw, entry)

    def closing(self, until: int, wrote: Mapping[int, int], *, code: str | None = None) -> StreamEntry:
        """Return the entry of such a batch."""
        return StreamEntry(
            writer="departures",
            generation=1,
            lineage="l1",
            batch_id=until,
            start={"flights/0": 0},
            end={"flights/0": until},
            watermark=hour(until),
            closed_until=hour(until),
            code=self.project.code_of("departures") if code is None else code,
            content={hour(number): Content(rows, str(7 * rows)) for number, rows in wrote.items()},
        )
