"""Whether a range comes too late: its records would lie behind the watermark that the topic already moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import takewhile

from sluice.feeds.record import FeedRecord
from sluice.specs.model.sources import TimeRules


def late_records(
    records: Iterable[FeedRecord], latest_event: datetime, readers: Mapping[str, TimeRules]
) -> Iterator[tuple[FeedRecord, str]]:
    """Yield each record that comes too late for a pipeline only because of what was sent before, with its name.

    The records are ordered by arrival.

    A record that is late by itself is not meant: it would be late in any order.
    """
    if not readers:
        return
    watermarks = {name: latest_event - rules.delay for name, rules in readers.items()}
    # A record that is on time happened at most the allowed lateness before it arrived: later ones cannot be overtaken.
    until = max(watermarks[name] + rules.allowed_lateness for name, rules in readers.items())
    for record in takewhile(lambda record: record.arrival < until, records):
        for name, rules in readers.items():
            on_time = record.arrival - record.event <= rules.allowed_lateness
            if on_time and record.event < watermarks[name]:
                yield record, name
                break
