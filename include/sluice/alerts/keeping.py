"""What of the journal outlasts the file that it is in, and what of a full file is left out.

An incident that is open, and an end that some channel has not taken, need some of their alerts however old these are.
Nobody needs the same withheld alert again and again: a DAG that fails each minute would displace all others in a day.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from sluice.alerts.alert import Alert, Level
from sluice.alerts.delivery import AlertHistory, Delivery, DeliveryOutcome
from sluice.alerts.incidents import Incident, ended_incidents, open_incidents
from sluice.alerts.record import CarriedRecord, Forgotten, Record, Torn, line_of
from sluice.alerts.rounds import TRY_FOR
from sluice.alerts.runs import GRACE, RunCount

_UNSETTLED = frozenset({None, DeliveryOutcome.FAILED})


@dataclass(frozen=True)
class NeededRecords:
    """Ids of alerts, and counts of runs, that later decisions rest on."""

    alerts: frozenset[str]
    counts: frozenset[RunCount]

    def holds(self, record: Alert | Delivery | RunCount) -> bool:
        """Whether a record is among them, or is the delivery of one."""
        match record:
            case Alert(id=alert_id) | Delivery(alert_id=alert_id):
                return alert_id in self.alerts
            case RunCount():
                return record in self.counts


def needed(history: AlertHistory) -> NeededRecords:
    """Return what later decisions rest on."""
    incidents = [*_unsettled(history), *open_incidents(history).values()]
    alerts = {alert_id for incident in incidents for alert_id in _of_incident(incident)}
    return NeededRecords(frozenset(alerts), frozenset(_counts(history)))


def _unsettled(history: AlertHistory) -> Iterator[Incident]:
    """Yield the incidents whose end is still to be sent."""
    now = history.alerts[-1].at if history.alerts else None
    for incident in ended_incidents(history).values():
        end = incident.end
        if end is not None and now is not None and incident.outcome(end) in _UNSETTLED and now - end.at < TRY_FOR:
            yield incident


def _of_incident(incident: Incident) -> set[str]:
    """Return the ids of the alerts that an incident rests on.

    These are its first and newest, the newest of each level, those that say what was delivered and to which channels,
    and its end.
    """
    kept = {incident.alerts[0].id, incident.newest.id, incident.known_as.id}
    kept.update(each.id for each in (incident.notified, incident.undelivered, incident.end) if each is not None)
    levels, reached = set[Level](), set[str]()
    for alert in reversed(incident.alerts):
        delivery = incident.deliveries.get(alert.id)
        new = set(() if delivery is None else delivery.reached) - reached
        if alert.level not in levels or new:
            kept.add(alert.id)
        levels.add(alert.level)
        reached |= new
    return kept


def _counts(history: AlertHistory) -> Iterator[RunCount]:
    """Yield the newest count of each DAG, and of each open alert the one by which a later success ends it."""
    newest = [incident.newest for incident in open_incidents(history).values()]
    for dag_id, counts in history.counts.items():
        yield counts[-1]
        for alert in newest:
            if alert.dag_id == dag_id:
                naming = [each for each in counts if alert.id in each.open_alerts and each.succeeded is not None]
                yield from sorted(naming, key=lambda each: each.succeeded or 0)[:1]


def carried_lines(removed: Sequence[Record], place: int, history: AlertHistory, most_bytes: int) -> bytes:
    """Return the lines that take the place of a file that is removed: what is needed of it, and how much is not.

    Args:
        removed: the records of the file.
        place: of its first record.
        history: all that is on record, with the file.
        most_bytes: how much is carried; of more, the newest.
    """
    kept = needed(history)
    lines: list[bytes] = []
    carried: set[str] = set()
    for each in reversed(_in_their_places(removed, place)):
        if not kept.holds(each.record):
            continue
        line = line_of(each)
        most_bytes -= len(line)
        if most_bytes < 0:  # a delivery is younger than its alert, which would be sent again without it
            break
        lines.append(line)
        if isinstance(each.record, Alert):
            carried.add(each.record.id)
    gone = [alert for alert in _alerts(removed) if alert.id not in carried]
    counted = line_of(Forgotten.of(removed, carried))
    return b"".join([counted, *reversed(lines), *map(line_of, _without(gone, history))])


def _in_their_places(removed: Sequence[Record], place: int) -> list[CarriedRecord]:
    """Return the records that may be carried in the order in which they came."""
    found: list[CarriedRecord] = []
    for number, record in enumerate(removed):
        if isinstance(record, CarriedRecord):
            found.append(record)
        elif isinstance(record, Alert | Delivery | RunCount):
            found.append(CarriedRecord(record, place + number))
    return sorted(found, key=lambda each: each.place)


def shortened(full: Sequence[Record], history: AlertHistory) -> bytes:
    """Return the lines of a full file without withheld alerts that a later one repeats, and counts nobody needs.

    Args:
        full: the records of the newest file.
        history: all that is on record, with the file.
    """
    kept = needed(history)
    repeated = _repeated(full, history) - kept.alerts
    gone = [alert for alert in _alerts(full) if alert.id in repeated]
    lasting: list[Alert | Delivery | RunCount | CarriedRecord] = []
    for record in full:
        match record.record if isinstance(record, CarriedRecord) else record:
            case Alert(id=alert_id) | Delivery(alert_id=alert_id) if alert_id in repeated:
                continue
            case RunCount() as count if count not in kept.counts:
                continue
        if not isinstance(record, Forgotten | Torn):  # the first line counts them
            lasting.append(record)
    counted = Forgotten.of([*(each for each in full if isinstance(each, Forgotten | Torn)), *gone])
    return b"".join(map(line_of, (counted, *lasting, *_without(gone, history))))


def _repeated(full: Sequence[Record], history: AlertHistory) -> set[str]:
    """Return the ids of withheld alerts that a later one repeats, and whose runs have been counted as failed."""
    seen: set[tuple[object, ...]] = set()
    repeated: set[str] = set()
    for alert in reversed(_alerts(full)):
        delivery = history.deliveries.get(alert.id)
        if delivery is None or delivery.outcome is not DeliveryOutcome.WITHHELD or alert.level is Level.RECOVERY:
            continue
        said = (alert.key, alert.level, alert.why)
        if said in seen and _is_counted(alert, history):
            repeated.add(alert.id)
        seen.add(said)
    return repeated


def _is_counted(alert: Alert, history: AlertHistory) -> bool:
    counts = history.counts.get(alert.dag_id, ())
    return not counts or counts[-1].at - alert.at >= GRACE


def _alerts(records: Sequence[Record]) -> list[Alert]:
    found = (each.record if isinstance(each, CarriedRecord) else each for each in records)
    return [each for each in found if isinstance(each, Alert)]


def _without(gone: Collection[Alert], history: AlertHistory) -> Iterator[RunCount]:
    """Yield the newest count of each DAG anew: runs that only these alerts name are accounted for on record no more."""
    ids = {alert.id for alert in gone}
    for dag_id, counts in history.counts.items():
        named, left = set[tuple[str, int | None]](), set[tuple[str, int | None]]()
        for alert in history.about_runs(dag_id):
            if alert.run_id:
                (named if alert.id in ids else left).add((alert.run_id, alert.clearing))
        if lost := len(named - left):
            yield replace(counts[-1], accounted=max(0, counts[-1].accounted - lost))
