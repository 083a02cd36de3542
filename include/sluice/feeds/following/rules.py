"""How an event of a live source is read: its key, what identifies it, and the cursor that it carries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from pydantic import JsonValue

from sluice.feeds.following.ports import ReceivedEvent
from sluice.specs.feeds.live import EventCursor, FolderSpec, LiveSourceSpec, SseSpec, WebSocketSpec
from sluice.topics.json_object import EARLIEST, read_object
from sluice.values.paths import at_path, parse_path
from sluice.values.time_forms import PER_SECOND, EpochUnit

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AHEAD = timedelta(hours=1)
"""A cursor further ahead of this machine's clock is a mistake: asked from there, the source would leave events out."""
_NOTHING = timedelta()


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event that is to become a record.

    Attributes:
        value: the record's bytes.
        key: the record's key; None for none.
        identity: the same for the same event, however often it comes; None: it has none.
        cursor: the position behind it; None: it has none.
        at: its time by the cursor, where that is one, else when it was received (UTC).
        received: when it was received (UTC).
        is_object: it is a JSON object.
    """

    value: bytes
    key: bytes | None
    identity: str | None
    cursor: JsonValue
    at: datetime
    received: datetime
    is_object: bool


@dataclass(frozen=True)
class EventRules:
    """What a feed's spec says of its events.

    Attributes:
        meaning: what a cursor means, in words: one of another meaning is worth nothing.
        replays: the source can be asked to go on from a cursor.
        key: path of the record's key.
        identity: paths of what identifies an event.
        by_content: instead, the source replays exactly what follows its cursor, and records are recognised by their
            bytes.
        cursor: path of the cursor; None: the protocol has it.
        epoch: the unit of a cursor that is a time.
        overlap: how far before the cursor events may come again.
        retention: for how long the source keeps events; None: that is unknown.
    """

    meaning: str
    replays: bool = False
    key: tuple[str, ...] | None = None
    identity: tuple[tuple[str, ...], ...] = ()
    by_content: bool = False
    cursor: tuple[str, ...] | None = None
    epoch: EpochUnit | None = None
    overlap: timedelta = _NOTHING
    retention: timedelta | None = None

    @classmethod
    def of(cls, live: LiveSourceSpec) -> EventRules:
        """Return those of a live source."""
        key = None if live.key is None else parse_path(live.key)
        if isinstance(live, FolderSpec):
            return cls("the line of a file", replays=True, key=key, by_content=True)
        if not isinstance(live, WebSocketSpec | SseSpec):
            return cls("nothing", key=key)
        identity = tuple(parse_path(path) for path in live.identity)
        if live.cursor is None:
            return cls("nothing", key=key, identity=identity)
        said = cls("the id of an event", True, key, identity, overlap=live.cursor.overlap)
        if isinstance(live.cursor, EventCursor):
            path, epoch = live.cursor.path, live.cursor.epoch
            meaning = f"{path} in {epoch}" if epoch else path
            said = replace(said, meaning=meaning, cursor=parse_path(path), epoch=epoch)
        return replace(said, retention=live.cursor.retention)

    def read(self, event: ReceivedEvent, now: datetime) -> FeedEvent:
        """Return an event with what it says of itself; `now` is when it was received (UTC)."""
        value = read_object(event.value)
        cursor = event.cursor if self.cursor is None else self._cursor(value, now)
        at = self._time_of(cursor) or now
        identity = _digest(event.value) if self.by_content else self._identity(value)
        return FeedEvent(event.value, self._key(value), identity, cursor, at, now, value is not None)

    def asked(self, cursor: JsonValue) -> JsonValue:
        """Return the cursor by which the source is asked to go on: a time lies the overlap before it."""
        if self.epoch is None or not isinstance(cursor, int):
            return cursor
        return max(0, cursor - round(self.overlap.total_seconds() * PER_SECOND[self.epoch]))

    def given_up(self, cursor: JsonValue) -> JsonValue:
        """Return the cursor of a feed that gives up what it has not received: of a folder, the rest of a file."""
        return {**cursor, "last": True} if self.by_content and isinstance(cursor, dict) else None

    def _cursor(self, value: Mapping[str, JsonValue] | None, now: datetime) -> JsonValue:
        found = at_path(value, self.cursor or ())
        if isinstance(found, bool) or not isinstance(found, int | str):
            return None
        if self.epoch is None:
            return found
        at = self._time_of(found)
        return found if at is not None and EARLIEST <= at <= now + _AHEAD else None

    def _time_of(self, cursor: JsonValue) -> datetime | None:
        if self.epoch is None or not isinstance(cursor, int):
            return None
        try:
            return _EPOCH + timedelta(microseconds=cursor * 1_000_000 // PER_SECOND[self.epoch])
        except OverflowError:
            return None

    def _key(self, value: Mapping[str, JsonValue] | None) -> bytes | None:
        found = None if self.key is None else at_path(value, self.key)
        if found is None:
            return None
        return found.encode() if isinstance(found, str) else json.dumps(found).encode()

    def _identity(self, value: Mapping[str, JsonValue] | None) -> str | None:
        found = [at_path(value, path) for path in self.identity]
        if all(each is None for each in found):
            return None
        return _digest(json.dumps(found, sort_keys=True).encode())


def _digest(identity: bytes) -> str:
    """Return an identity in 16 bytes, however long it is."""
    return blake2b(identity, digest_size=16).hexdigest()
