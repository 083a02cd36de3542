"""Random histories of flights, and what must be made of them: plain Python that shares no code with Sluice."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandas as pd
from hypothesis import strategies as st

from tests.oracle import package_file

START = datetime(2013, 3, 1, tzinfo=UTC)
HOURS = 12
LATENESS, SKEW = 180, 60
PARTITIONS = 3


@dataclass(frozen=True)
class Event:
    """One record: when it happened (minutes after START), how many minutes later it was known, and where it goes."""

    minute: int
    delay: int
    origin: str
    carrier: str
    cancelled: bool
    partition: int

    def value(self, number: int) -> bytes:
        event = START + timedelta(minutes=self.minute)
        value = {
            "flight_id": number,
            "carrier": self.carrier,
            "flight": 1,
            "origin": self.origin,
            "dest": "LAX",
            "scheduled_at": f"{event:%FT%TZ}",
            "observed_at": f"{event + timedelta(minutes=self.delay):%FT%TZ}",
            "cancelled": self.cancelled,
        }
        if not self.cancelled:
            value |= {"departed_at": value["observed_at"], "dep_delay_min": self.delay}
        return json.dumps(value).encode()

    @property
    def late(self) -> bool:
        return self.delay > LATENESS

    @property
    def future(self) -> bool:
        return -self.delay > SKEW


@dataclass(frozen=True)
class History:
    """What is sent, in order, the malformed between; cut where the driver stops and another one goes on.

    Attributes:
        events: the records; one that stands here twice is sent twice.
        malformed: after how many events a malformed record is sent.
        cut: after how many events the first driver stops.
        cap: records a batch, or None.
        forgets: whether the stream's checkpoint is lost between the two.
    """

    events: tuple[Event, ...]
    malformed: frozenset[int]
    cut: int
    cap: int | None
    forgets: bool


_EVENTS = st.builds(
    Event,
    minute=st.integers(0, HOURS * 60 - 1),
    delay=st.one_of(st.integers(-SKEW, LATENESS), st.sampled_from([-SKEW - 1, LATENESS + 1, 400, LATENESS, -SKEW])),
    origin=st.sampled_from(["EWR", "JFK", "LGA"]),
    carrier=st.sampled_from(["AA", "UA"]),
    cancelled=st.booleans(),
    partition=st.integers(0, PARTITIONS - 1),
)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Disordered histories: later ones tend to arrive later, and partitions drift apart as they like."""
    events = draw(st.lists(_EVENTS, min_size=25, max_size=60))
    jitter = draw(st.sampled_from([0, 90, 600]))
    order = [(event.minute + draw(st.integers(0, jitter)), event) for event in events]
    ordered = [event for _, event in sorted(order, key=lambda pair: pair[0])]
    twice = draw(st.lists(st.sampled_from(ordered), max_size=4))
    sent = (*ordered, *twice)
    return History(
        events=sent,
        malformed=draw(st.frozensets(st.integers(0, len(sent) - 1), max_size=3)),
        cut=draw(st.integers(0, len(sent))),
        cap=draw(st.sampled_from([None, 6, 15])),
        forgets=draw(st.booleans()),
    )


def expected(events: Iterable[Event], *, with_late: bool) -> pd.DataFrame:
    """Count by hand, hour by hour."""
    names = pd.read_csv(package_file("airlines.csv")).set_index("carrier")["name"]
    groups: dict[tuple[datetime, str, str], list[Event]] = defaultdict(list)
    for event in events:
        if not event.future and (with_late or not event.late):
            hour = START + timedelta(hours=event.minute // 60)
            groups[hour, event.origin, event.carrier].append(event)
    rows = []
    for (hour, origin, carrier), found in groups.items():
        delays = [event.delay for event in found if not event.cancelled]
        rows.append(
            {
                "origin": origin,
                "carrier": carrier,
                "airline": names[carrier],
                "hour": pd.Timestamp(hour),
                "departed": len(delays),
                "cancelled": len(found) - len(delays),
                "delayed_15": sum(delay >= 15 for delay in delays),
                "delay_sum_min": sum(delays),
                "delay_max_min": max(delays, default=None),
            }
        )
    columns = ["origin", "carrier", "airline", "hour", "departed", "cancelled", "delayed_15", "delay_sum_min"]
    frame = pd.DataFrame(rows, columns=[*columns, "delay_max_min"])
    return frame.astype({"hour": "datetime64[us, UTC]"})
