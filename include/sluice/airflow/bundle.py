"""The bundle of `dags/`, which has its files parsed when something that they read has changed.

Airflow parses every file again and again, because it cannot know what a file reads. Ours read the specs and the code,
so the DAG processor checks names, sizes and times of these every few seconds and parses when one differs. Between
two changes it parses every twenty minutes. Nothing here runs while a file is parsed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.dag_processing.bundles.local import LocalDagBundle

from sluice.clock import Clock, SystemClock
from sluice.settings import settings
from sluice.specs.reading.project_files import Files, files_below, project_folders

log = logging.getLogger(__name__)

LONGEST = timedelta(minutes=20)
"""At most so long nothing is parsed: a DAG that was deleted in Airflow's pages is back by then."""
AGAIN = timedelta(seconds=8)
"""After a change files are asked for once more: the processor drops a request for what it is just parsing."""
UNREAD = (timedelta(seconds=28), timedelta(seconds=60), timedelta(seconds=120))
"""When files are asked for again while DAGs are unread: their spec is gone, or the database took no result.

Airflow takes a DAG for gone when its file was parsed without it a while (`stale_dag_threshold`) after it was parsed
with it, so it needs another parse where the two came close together.
"""
FIRST = ("streams.py", "spec_errors.py", "backfills.py", "quality.py")
"""The files in which a new spec, or its fault, shows: they are parsed before the others."""
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass
class _Round:
    """A parse of all files that was asked for.

    Attributes:
        begun: when (UTC).
        dags: those that there were.
        asks: how long after that files are asked for again.
        only_unread: whether the next of these counts only while a DAG is unread.
    """

    begun: datetime
    dags: frozenset[str]
    asks: list[timedelta]
    only_unread: bool


@dataclass
class ParseScheduler:
    """Decides when the files are to be parsed. It is called every few seconds.

    Attributes:
        files: checks what parsing reads.
        parsed: returns when each DAG that is not gone was parsed last (UTC).
        ask: has all files parsed soon.
        clock: gives the time.
    """

    files: Callable[[], Files]
    parsed: Callable[[], Mapping[str, datetime]]
    ask: Callable[[], None]
    clock: Clock
    _seen: Files | None = None
    _asked_at: datetime = _NEVER
    _round: _Round | None = None

    def check(self) -> None:
        """Ask for the files if something has changed, if the last time is long ago, or if DAGs are still unread."""
        now, seen = self.clock.now(), self.files()
        if self._seen is None:  # the processor has just begun, and parses all by itself
            self._begin(now, seen, changed=False)
        elif seen != self._seen:
            changed = {path for path, *_ in self._seen ^ seen}
            log.info("%d files have changed, so all DAG files are parsed.", len(changed))
            self.ask()
            self._begin(now, seen, changed=True)
        elif now - self._asked_at >= LONGEST:
            self.ask()
            self._begin(now, seen, changed=False)
        elif self._round is not None:
            self._go_on(self._round, now)

    def _begin(self, now: datetime, present: Files, *, changed: bool) -> None:
        """Note that all was asked for: last of all, so that what fails before is tried again by the next check."""
        asks = [AGAIN, *UNREAD] if changed else [*UNREAD]
        self._round = _Round(now, frozenset(self.parsed()), asks, only_unread=not changed)
        self._seen, self._asked_at = present, now

    def _go_on(self, asked: _Round, now: datetime) -> None:
        if now - asked.begun < asked.asks[0]:
            return
        if asked.only_unread:
            parsed = self.parsed()
            if all(parsed[dag_id] >= asked.begun for dag_id in asked.dags if dag_id in parsed):
                self._round = None
                return
        self.ask()
        asked.only_unread = True
        del asked.asks[0]
        if not asked.asks:
            self._round = None


class SpecsBundle(LocalDagBundle):
    """A local folder of DAG files that are parsed when specs or code have changed."""

    def __init__(self, *, clock: Clock | None = None, **arguments: Any) -> None:  # noqa: ANN401 - Airflow's
        super().__init__(**arguments)
        self._scheduler = ParseScheduler(
            files=lambda: files_below(self._folders()), parsed=self._parsed, ask=self._ask, clock=clock or SystemClock()
        )

    def refresh(self) -> None:
        """Check what the files read. Only the DAG processor calls this, between two parses."""
        self._scheduler.check()

    def _folders(self) -> Iterable[Path]:
        return self.path, *project_folders(settings().home)

    def _parsed(self) -> Mapping[str, datetime]:
        from airflow.models.dag import DagModel  # noqa: PLC0415 - a worker has no use for the models
        from airflow.utils.session import create_session  # noqa: PLC0415 - the same

        with create_session() as session:
            known = session.query(DagModel.dag_id, DagModel.last_parsed_time)
            dags = known.filter(DagModel.bundle_name == self.name, ~DagModel.is_stale).all()
        return {dag_id: at for dag_id, at in dags if at is not None}

    def _ask(self) -> None:
        from airflow.models.dagbag import DagPriorityParsingRequest  # noqa: PLC0415 - see above
        from airflow.utils.file import list_py_file_paths  # noqa: PLC0415 - see above
        from airflow.utils.session import create_session  # noqa: PLC0415 - see above

        with create_session() as session:
            for place in in_turn(str(Path(file).relative_to(self.path)) for file in list_py_file_paths(self.path)):
                asked = session.query(DagPriorityParsingRequest).filter_by(
                    bundle_name=self.name, relative_fileloc=place
                )
                if asked.first() is None:
                    session.add(DagPriorityParsingRequest(bundle_name=self.name, relative_fileloc=place))


def in_turn(places: Iterable[str]) -> list[str]:
    """Return files in the order of their requests: the processor puts each in front of those before it."""
    return sorted(places, key=lambda place: (-FIRST.index(place) if place in FIRST else -len(FIRST), place))
