"""A pipeline in memory that keeps its promises: batches under their numbers, outputs of every kind, a late repair.

Each way to break one is a subclass that overrides one step (`sabotages.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.proving.world import Logged, World, checksum
from sluice.proof.observations import (
    ComparedInterval,
    FiredFault,
    LatencyBounds,
    Observations,
    ObservedKind,
    ObservedLatest,
    ObservedRecord,
    ObservedRecords,
    ReaderLook,
)

Batch = list[Logged]
Sums = Mapping[tuple[int, str], tuple[int, int]]
BATCH_SECONDS, _COMMIT_SECONDS, _RESTART_SECONDS = 2.0, 0.5, 5.0
_LOOK_EVERY = 10
BOUNDS = LatencyBounds(worst_minute=10.0, p999=20.0, fresh=30.0)
DIED = "driver_died"


class ModelPipeline:
    """Reads a world's topic to its end; one crash comes in between, after a write and before its commit."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.draw = world.draw
        self.written: dict[object, list[tuple[Logged, float]]] = {}
        self.looks: list[ReaderLook] = []
        self.crash = int(world.crash_at // BATCH_SECONDS)

    def run(self) -> Observations:
        """Return what was seen of it."""
        for number, batch in enumerate(self.batches()):
            if number == self.crash:
                self.die(number, batch)
            self.write(number, batch)
            if number % _LOOK_EVERY == 0 or number == self.crash:
                self.look(number)
        self.at_end()
        return self.observed()

    def batches(self) -> Sequence[Batch]:
        """Return the topic cut by time."""
        count = int(self.world.load.seconds // BATCH_SECONDS) + 1
        cut: list[Batch] = [[] for _ in range(count)]
        for logged in self.world.in_topic:
            cut[int(logged.sent.sent_at // BATCH_SECONDS)].append(logged)
        return cut

    def write(self, number: int, batch: Batch) -> None:
        """Write a batch under its number: a repetition replaces it."""
        self.written[number] = [(logged, self.readable_at(number, logged)) for logged in batch]

    def die(self, number: int, batch: Batch) -> None:
        """Write, and die before the commit."""
        self.write(number, batch)

    def readable_at(self, number: int, logged: Logged) -> float:
        """Return when a record of a batch can be read."""
        _ = logged
        restart = _RESTART_SECONDS if number == self.crash else 0.0
        return (number + 1) * BATCH_SECONDS + _COMMIT_SECONDS + restart

    def look(self, number: int) -> None:
        """Let a reader look at the rows, after a batch."""
        ids = [logged.sent.id for logged in self.on_time()]
        at = (number + 1) * BATCH_SECONDS + _COMMIT_SECONDS
        self.looks.append(ReaderLook("rows", at, frozenset(ids), len(ids) - len({*ids})))

    def at_end(self) -> None:
        """Do nothing more."""

    def stored(self) -> Iterator[tuple[Logged, float]]:
        """Yield everything that was written, and when it could be read."""
        for rows in self.written.values():
            yield from rows

    def on_time(self) -> list[Logged]:
        """Return what belongs into the rows."""
        return [logged for logged, _ in self.stored() if not logged.is_late]

    def late(self) -> list[Logged]:
        """Return what is kept as late."""
        return [logged for logged, _ in self.stored() if logged.is_late]

    def shown(self, logged: Logged) -> int:
        """Return the amount that the outputs show of a record."""
        return logged.amount

    def window(self, logged: Logged) -> int:
        """Return the minute that a record counts in."""
        return int(logged.happened // 60)

    def minutes(self) -> Sums:
        """Return the settled table: with what came late, because a repair has brought that in."""
        found: dict[tuple[int, str], tuple[int, int]] = {}
        for logged in [*self.on_time(), *self.late()]:
            cell = self.window(logged), logged.sent.key
            count, total = found.get(cell, (0, 0))
            found[cell] = count + 1, total + self.shown(logged)
        return found

    def hours(self) -> Sums:
        """Return the table that depends on the settled one, after the repair."""
        found: dict[tuple[int, str], tuple[int, int]] = {}
        for (minute, key), (records, amount) in self.minutes().items():
            cell = minute // 60, key
            count, total = found.get(cell, (0, 0))
            found[cell] = count + records, total + amount
        return found

    def delivered(self) -> list[Logged]:
        """Return what the topic output holds, in its order."""
        return self.on_time()

    def newest(self) -> Mapping[str, tuple[int, str]]:
        """Return the newest record of each key."""
        found: dict[str, tuple[int, str]] = {}
        for logged, _ in self.stored():
            sequence = logged.sent.sequence
            if sequence >= found.get(logged.sent.key, (-1, ""))[0]:
                found[logged.sent.key] = sequence, checksum(self.shown(logged))
        return found

    def faults(self) -> tuple[FiredFault, ...]:
        """Return the fault that has struck."""
        return (FiredFault("kill-driver", self.world.crash_at, evidence="its process was gone"),)

    def alerts(self) -> frozenset[str]:
        """Return the alerts that came."""
        return frozenset({DIED})

    def observed(self) -> Observations:
        """Return all that was seen."""
        times = {id(logged): at for logged, at in self.stored()}

        def seen(rows: Sequence[Logged]) -> tuple[ObservedRecord, ...]:
            return tuple(
                ObservedRecord(each.sent.id, checksum(self.shown(each)), each.position, times.get(id(each)))
                for each in rows
            )

        world = self.world
        on_time, late = world.of_ids(late=False), world.of_ids(late=True)
        outputs = (
            ObservedRecords("raw", ObservedKind.RAW, seen([logged for logged, _ in self.stored()])),
            ObservedRecords("rows", ObservedKind.ROWS, seen(self.on_time()), on_time),
            ObservedRecords("topic", ObservedKind.TOPIC, seen(self.delivered()), on_time),
            ObservedRecords("late", ObservedKind.ROWS, seen(self.late()), late),
        )
        return Observations(
            outputs=outputs,
            latest=(ObservedLatest("latest", self.newest()),),
            intervals=(
                *compared("minutes", self.minutes(), world.true_sums(1, with_late=True)),
                *compared("hours", self.hours(), world.true_sums(60, with_late=True)),
            ),
            interval_tables=frozenset({"minutes", "hours"}),
            ends={"": world.ends},
            looks=tuple(self.looks),
            faults=self.faults(),
            alerts=self.alerts(),
            expected_alerts=frozenset({DIED}),
            bounds=BOUNDS,
        )


def compared(table: str, found: Sums, true: Sums) -> Iterator[ComparedInterval]:
    """Yield the comparison of every window of two tables."""
    for start in sorted({window for window, _ in (*found, *true)}):
        rows, expected = ({key: cell for (at, key), cell in side.items() if at == start} for side in (found, true))
        yield ComparedInterval(table, str(start), rows == expected, "" if rows == expected else f"{rows} {expected}")
