"""A feed's source from a list of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from sluice.feeds.record import FeedRecord, format_instant, integer_field

FIRST_DAY = date(2013, 1, 1)
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)


def make_record(identity: int, day: int, minute: int, delay_minutes: int = 0, key: str = "AA") -> FeedRecord:
    """Return a record of the day-th day, `minute` minutes after noon UTC."""
    event = NOON + timedelta(days=day, minutes=minute)
    arrival = event + timedelta(minutes=delay_minutes)
    value = {
        "flight_id": identity,
        "carrier": key,
        "scheduled_at": format_instant(event),
        "observed_at": format_instant(arrival),
    }
    return FeedRecord(identity, key.encode(), value, event, arrival, FIRST_DAY + timedelta(days=day))


class ListSource:
    """Twin of `sluice.feeds.nycflights13.Nycflights13`."""

    def __init__(self, records: Sequence[FeedRecord]) -> None:
        self._records = sorted(records, key=lambda record: (record.arrival, record.identity))

    def days(self) -> Mapping[date, int]:
        return dict(sorted(Counter(record.day for record in self._records).items()))

    def records(self, first: date, last: date) -> Iterator[FeedRecord]:
        return (record for record in self._records if first <= record.day <= last)

    def identify(self, value: bytes) -> int | None:
        return integer_field(value, "flight_id")

    def find(self, identities: Collection[int]) -> Iterator[FeedRecord]:
        return (record for record in self._records if record.identity in identities)

    def last_event(self, first: date, last: date) -> datetime | None:
        return max((record.event for record in self.records(first, last)), default=None)
