"""Shell completion of names, from file names and from cheap records.

The user who presses Tab waits for the answer and reads no message. So nothing here parses a spec, connects to a server,
or fails: without a project there are no candidates. A broken spec's name is a candidate, because its command reports
what is wrong with it.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import wraps

import yaml

from sluice.cli.scaffold.examples import example_names, examples_folder
from sluice.errors import NotReadyError
from sluice.intervals.ledger import State
from sluice.proof.report import ProofReports
from sluice.settings import CONTROL_URL, Settings, is_set, settings
from sluice.specs.catalog.streams import raw_stream
from sluice.specs.reading.kinds import Kind
from sluice.specs.rules.contracts import FOLDER
from sluice.specs.units import units_named_in

_MOST = 50
"""The largest number of recorded names that are offered: the newest ones."""
_WAIT_SECONDS = 0.1
_ALERT = re.compile(rb'^\{"alert": \{"id": "([0-9a-f]+)"', re.MULTILINE)
_TAIL_BYTES = 256 * 1024
_TABLE = re.compile(r"^[ {-]*table:\s*[\"']?(\w+)", re.MULTILINE)
_USER = re.compile(r"^user:\s*[\"']?([\w.@:=,/-]+)", re.MULTILINE)


def _completer(names: Callable[[Settings], Iterable[str]]) -> Callable[[], list[str]]:
    """Return a completer for typer: without duplicates, and empty where nothing can be read."""

    @wraps(names)
    def complete() -> list[str]:
        try:
            return list(dict.fromkeys(names(settings())))
        except (OSError, ValueError, sqlite3.Error, NotReadyError):  # no folder, no settings, no database, no examples
            return []

    del complete.__wrapped__  # typer reads the signature: it would pass a context
    return complete


def _declared(kind: Kind) -> Callable[[], list[str]]:
    """Return a completer for the specs of a kind that have a file."""
    return _completer(lambda config: _names(kind, config))


def _names(kind: Kind, config: Settings) -> list[str]:
    return sorted(file.stem for file in (config.home / "include" / kind.folder).glob("*.yaml"))


pipelines = _declared(Kind.PIPELINE)
topics = _declared(Kind.TOPIC)
feeds = _declared(Kind.FEED)
examples = _completer(lambda _: example_names(examples_folder()))
principals = _declared(Kind.PRINCIPAL)
deployments = _declared(Kind.DEPLOYMENT)
mirrors = _declared(Kind.MIRROR)


@_completer
def partitions(config: Settings) -> Iterable[str]:
    """Return the topics as the beginnings of addresses of records."""
    return [f"{topic}/" for topic in _names(Kind.TOPIC, config)]


@_completer
def users(config: Settings) -> Iterable[str]:
    """Return the Kafka users of the principals."""
    files = sorted((config.home / "include" / Kind.PRINCIPAL.folder).glob("*.yaml"))
    return [match[1] for file in files if (match := _USER.search(file.read_text(encoding="utf-8", errors="replace")))]


@_completer
def units(config: Settings) -> Iterable[str]:
    """Return the drivers that topics and pipelines name."""
    return sorted(units_named_in(config.home / "include"))


@_completer
def streams(config: Settings) -> Iterable[str]:
    """Return the streams of the topics and pipelines, and those that have run on this machine."""
    raw = [raw_stream(topic) for topic in _names(Kind.TOPIC, config)]
    ran = [file.name.removesuffix(".batches.jsonl") for file in config.folder.progress.glob("*.batches.jsonl")]
    return sorted({*raw, *_names(Kind.PIPELINE, config), *ran})


@_completer
def tables(config: Settings) -> Iterable[str]:
    """Return the tables of the pipelines' outputs."""
    files = sorted((config.home / "include" / Kind.PIPELINE.folder).glob("*.yaml"))
    return [name for file in files for name in _TABLE.findall(file.read_text(encoding="utf-8", errors="replace"))]


@_completer
def contracts(config: Settings) -> Iterable[str]:
    """Return the topics that have contracts."""
    return sorted(folder.name for folder in (config.home / "include" / FOLDER).iterdir() if folder.is_dir())


@_completer
def interval_states(_: Settings) -> Iterable[str]:
    """Return the states of an interval."""
    return [state.value for state in State]


@_completer
def backfills(config: Settings) -> Iterable[str]:
    """Return the newest backfills on record, newest first."""
    return _recorded(config, "SELECT id FROM backfill WHERE deployment = ? ORDER BY claimed_at DESC LIMIT ?")


@_completer
def proofs(config: Settings) -> Iterable[str]:
    """Return the newest proofs that are kept, newest first."""
    return [each for ids in ProofReports(config.folder.proofs).ids().values() for each in ids][:_MOST]


@_completer
def cases(config: Settings) -> Iterable[str]:
    """Return the newest cases of the quarantine, newest first."""
    return _recorded(config, "SELECT id FROM quarantine_case WHERE deployment = ? ORDER BY opened_at DESC LIMIT ?")


@_completer
def alerts(config: Settings) -> Iterable[str]:
    """Return the newest alerts in the journal, newest first."""
    newest = max(config.folder.alerts.glob("journal-*.jsonl"), default=None)
    if newest is None:
        return []
    with newest.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return [name.decode() for name in _ALERT.findall(opened.read())][: -_MOST - 1 : -1]


@_completer
def channels(config: Settings) -> Iterable[str]:
    """Return the channels of the deployment's alert policy."""
    text = (config.home / "include" / Kind.POLICY.folder / f"{config.deployment}.yaml").read_text(encoding="utf-8")
    try:
        policy = yaml.safe_load(text)
    except yaml.YAMLError:
        return []
    declared = policy.get("channels") if isinstance(policy, dict) else None
    return sorted(map(str, declared)) if isinstance(declared, dict) else []


def _recorded(config: Settings, query: str) -> list[str]:
    """Query the control database if it is a file on this machine; a server could keep the shell waiting."""
    if config.control_url or is_set(CONTROL_URL):
        return []
    address = f"{config.folder.control.as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS)) as database:
        return [name for (name,) in database.execute(query, (config.deployment, _MOST))]
