"""The file of a journal: a line before each sending, and a line for its answer. A record without one is unknown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sluice.errors import CorruptionError
from sluice.proof.generation.made import RecordFate
from sluice.proof.journal import SendJournal, SendOutcome, SentRecord
from sluice.topics.records import RecordPosition

_SENT, _ACKNOWLEDGED, _FAILED = "sent", "acknowledged", "failed"


def line_of_sending(record: SentRecord) -> str:
    """Return the line that is written before a record is sent."""
    names = ("id", "producer", "number", "key", "sequence", "checksum", "sent_at", "fate", "reason", "topic")
    return json.dumps({"event": _SENT, **{name: getattr(record, name) for name in names}})


def line_of_acknowledgement(identity: str, position: RecordPosition) -> str:
    """Return the line of a record that the broker has."""
    where = {"partition": position.partition, "offset": position.offset}
    return json.dumps({"event": _ACKNOWLEDGED, "id": identity, **where})


def line_of_failure(identity: str) -> str:
    """Return the line of a record that was refused before it could reach the topic."""
    return json.dumps({"event": _FAILED, "id": identity})


def read_journal(lines: Iterable[str]) -> SendJournal:
    """Read a journal back.

    A last line without its end was being written when the producer died, and says nothing.

    Raises:
        CorruptionError: a line cannot be understood.
    """
    records: dict[str, SentRecord] = {}
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            break
        try:
            _apply(json.loads(line), records)
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptionError(
                f"line {number} of the journal says nothing that can be understood: {error!r}.",
                fix="repeat the proof: without its journal nothing is known of what was sent.",
            ) from error
    return SendJournal(tuple(records.values()))


def _apply(event: Any, records: dict[str, SentRecord]) -> None:  # noqa: ANN401  JSON is any
    """Add what a line says; no other key of a sending is known."""
    if not isinstance(event, dict):
        raise TypeError(f"found a {type(event).__name__} where an object is needed")
    kind = event.pop("event")
    if kind == _SENT:
        record = SentRecord(**{**event, "fate": RecordFate(event["fate"])})
        if record.id in records:
            raise ValueError(f"{record.id} is sent twice")
        records[record.id] = record
        return
    sent = records[event["id"]]
    if sent.outcome is not SendOutcome.UNKNOWN:
        raise ValueError(f"{sent.id} has two answers")
    if kind == _ACKNOWLEDGED:
        position = RecordPosition(int(event["partition"]), int(event["offset"]))
        records[sent.id] = replace(sent, outcome=SendOutcome.ACKNOWLEDGED, position=position)
    elif kind == _FAILED:
        records[sent.id] = replace(sent, outcome=SendOutcome.FAILED)
    else:
        raise ValueError(f"{kind!r} is no event")
