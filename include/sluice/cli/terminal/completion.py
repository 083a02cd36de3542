"""The names that a shell completes: from the names of files and from cheap records, asking nobody.

Whoever presses Tab waits for the answer and reads no message. So nothing here parses a spec, connects to anything, or
fails: without a project there is nothing to offer. A broken spec's name is offered, because its command says what is
wrong with it.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import wraps

import yaml

from sluice.intervals.ledger import State
from sluice.settings import Settings, settings
from sluice.specs.catalog.streams import raw_stream
from sluice.specs.reading.kinds import Kind
from sluice.specs.rules.contracts import FOLDER
from sluice.specs.units import units_named_in

_MOST = 50
"""More names than this nobody reads; of what has a time, the newest."""
_WAIT_SECONDS = 0.1
_ALERT = re.compile(rb'^\{"alert": \{"id": "([0-9a-f]+)"', re.MULTILINE)
_TAIL_BYTES = 256 * 1024
_USER = re.compile(r"^user:\s*[\"']?([\w.@:=,/-]+)", re.MULTILINE)


def _offered(names: Callable[[Settings], Iterable[str]]) -> Callable[[], list[str]]:
    """Return a function that typer asks: sorted, without doubles, and silent where nothing can be read."""

    @wraps(names)
    def complete() -> list[str]:
        try:
            return list(dict.fromkeys(names(settings())))
        except (OSError, ValueError, sqlite3.Error):  # no folder, settings that are none, no control database
            return []

    del complete.__wrapped__  # typer reads the signature: it would pass a context
    return complete


def _declared(kind: Kind, place: Settings) -> list[str]:
    return sorted(file.stem for file in (place.home / "include" / kind.folder).glob("*.yaml"))


@_offered
def pipelines(place: Settings) -> Iterable[str]:
    """Return the pipelines that have a file."""
    return _declared(Kind.PIPELINE, place)


@_offered
def topics(place: Settings) -> Iterable[str]:
    """Return the topics that have a file."""
    return _declared(Kind.TOPIC, place)


@_offered
def feeds(place: Settings) -> Iterable[str]:
    """Return the feeds that have a file."""
    return _declared(Kind.FEED, place)


@_offered
def principals(place: Settings) -> Iterable[str]:
    """Return the principals that have a file."""
    return _declared(Kind.PRINCIPAL, place)


@_offered
def users(place: Settings) -> Iterable[str]:
    """Return the users that the principals are."""
    files = sorted((place.home / "include" / Kind.PRINCIPAL.folder).glob("*.yaml"))
    return [match[1] for file in files if (match := _USER.search(file.read_text(encoding="utf-8", errors="replace")))]


@_offered
def units(place: Settings) -> Iterable[str]:
    """Return the drivers that topics and pipelines name."""
    return sorted(units_named_in(place.home / "include"))


@_offered
def streams(place: Settings) -> Iterable[str]:
    """Return the streams of the topics and pipelines, and those that have run on this machine."""
    raw = [raw_stream(topic) for topic in _declared(Kind.TOPIC, place)]
    ran = [file.name.removesuffix(".batches.jsonl") for file in place.folder.progress.glob("*.batches.jsonl")]
    return sorted({*raw, *_declared(Kind.PIPELINE, place), *ran})


@_offered
def contracts(place: Settings) -> Iterable[str]:
    """Return the topics that have contracts."""
    return sorted(folder.name for folder in (place.home / "include" / FOLDER).iterdir() if folder.is_dir())


@_offered
def interval_states(_: Settings) -> Iterable[str]:
    """Return the states of an interval."""
    return [state.value for state in State]


@_offered
def backfills(place: Settings) -> Iterable[str]:
    """Return the newest backfills on record, newest first."""
    return _recorded(place, "SELECT id FROM backfill WHERE deployment = ? ORDER BY claimed_at DESC LIMIT ?")


@_offered
def cases(place: Settings) -> Iterable[str]:
    """Return the newest cases of the quarantine, newest first."""
    return _recorded(place, "SELECT id FROM quarantine_case WHERE deployment = ? ORDER BY opened_at DESC LIMIT ?")


@_offered
def alerts(place: Settings) -> Iterable[str]:
    """Return the newest alerts in the journal, newest first."""
    newest = max(place.folder.alerts.glob("journal-*.jsonl"), default=None)
    if newest is None:
        return []
    with newest.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return [name.decode() for name in _ALERT.findall(opened.read())][: -_MOST - 1 : -1]


@_offered
def channels(place: Settings) -> Iterable[str]:
    """Return the channels of the deployment's alert policy."""
    text = (place.home / "include" / Kind.POLICY.folder / f"{place.deployment}.yaml").read_text(encoding="utf-8")
    try:
        said = yaml.safe_load(text)
    except yaml.YAMLError:
        return []
    found = said.get("channels") if isinstance(said, dict) else None
    return sorted(map(str, found)) if isinstance(found, dict) else []


def _recorded(place: Settings, query: str) -> list[str]:
    """Ask the control database, if it is a file of this machine: a server might let somebody wait."""
    if place.control_url:
        return []
    address = f"{place.folder.control.as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS)) as database:
        return [name for (name,) in database.execute(query, (place.deployment, _MOST))]
