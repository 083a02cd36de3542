"""Pipelines that break one promise each, and what a proof must find of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmarks.proving.pipeline import DIED, Batch, ModelPipeline, Sums
from benchmarks.proving.world import Logged
from sluice.proof.findings import ProofFault
from sluice.proof.observations import FiredFault, ReaderLook
from sluice.topics.records import RecordPosition


class DropsOneInTenThousand(ModelPipeline):
    """Loses one record somewhere in the middle."""

    def batches(self) -> Sequence[Batch]:
        """Leave it out."""
        cut = super().batches()
        middle = [batch for batch in cut[len(cut) // 4 : -len(cut) // 4] if batch]
        batch = self.draw.choice(middle)
        batch.remove(self.draw.choice(batch))
        return cut


class RepeatsOnRestart(ModelPipeline):
    """Appends a batch again after a restart."""

    def die(self, number: int, batch: Batch) -> None:
        """Leave what is not committed in the table."""
        super().die(number, batch)
        self.written["uncommitted"] = self.written.pop(number)


class Reorders(ModelPipeline):
    """Delivers two records of a key in the wrong order."""

    def delivered(self) -> list[Logged]:
        """Swap a record with the one of its key that follows it."""
        rows = super().delivered()
        first = self.draw.randrange(len(rows) // 2)
        second = next(at for at in range(first + 1, len(rows)) if rows[at].sent.key == rows[first].sent.key)
        rows[first], rows[second] = rows[second], rows[first]
        return rows


class LosesTheTail(ModelPipeline):
    """Stops before the last records are written."""

    def batches(self) -> Sequence[Batch]:
        """Leave out the last batches that have records."""
        return super().batches()[:-3]


class LosesTheHead(ModelPipeline):
    """Begins at the newest offset."""

    def batches(self) -> Sequence[Batch]:
        """Read nothing of the first seconds."""
        cut = super().batches()
        return [[], [], [], *cut[3:]]


class CommitsBeforeItWrites(ModelPipeline):
    """Has its offsets on record before its rows, so a crash takes the batch with it."""

    def die(self, number: int, batch: Batch) -> None:
        """Commit, and write nothing."""
        _ = batch
        self.written[number] = []

    def write(self, number: int, batch: Batch) -> None:
        """Go on behind what is committed."""
        if number != self.crash:
            super().write(number, batch)


class IsNotDeterministic(ModelPipeline):
    """Computes with a random number."""

    def shown(self, logged: Logged) -> int:
        """Be off by one now and then."""
        return logged.amount + (self.draw.random() < 0.01)  # noqa: PLR2004


class CountsInTheWrongWindow(ModelPipeline):
    """Takes the end of an interval for a part of it."""

    def window(self, logged: Logged) -> int:
        """Round to the nearest minute instead of down."""
        return round(logged.happened / 60)


class SwallowsAnException(ModelPipeline):
    """Gives the rest of a partition's batch up when a record fails, and says nothing."""

    def write(self, number: int, batch: Batch) -> None:
        """Stop at the second record of the batch of the crash."""
        super().write(number, batch[:1] if number == self.crash else batch)


class ServesAnOldState(ModelPipeline):
    """Lets readers see a copy that is never renewed."""

    def look(self, number: int) -> None:
        """Show what the first reader saw."""
        super().look(number)
        self.looks[-1] = replace(self.looks[-1], ids=self.looks[0].ids)


class ReadsTheClock(ModelPipeline):
    """Counts records when they come, not when they happened."""

    def window(self, logged: Logged) -> int:
        """Take the time of sending."""
        return int(logged.sent.sent_at // 60)


class ForgetsLateRecords(ModelPipeline):
    """Drops what is late and keeps it nowhere but in the raw records."""

    def late(self) -> list[Logged]:
        """Keep nothing."""
        return []


class CutsADependence(ModelPipeline):
    """Does not compute what depends on a table again when that is repaired."""

    def hours(self) -> Sums:
        """Be as before the repair."""
        return self.world.true_sums(60, with_late=False)


class ShowsItsBestMinute(ModelPipeline):
    """Is fast for a minute and slow for the others."""

    def readable_at(self, number: int, logged: Logged) -> float:
        """Hold records back once the first minute is over."""
        slow = 0.0 if logged.sent.sent_at < 60 else 25.0  # noqa: PLR2004
        return super().readable_at(number, logged) + slow


class AltersAValue(ModelPipeline):
    """Cuts large values."""

    def shown(self, logged: Logged) -> int:
        """Show at most 990."""
        return min(logged.amount, 990)


class InventsARecord(ModelPipeline):
    """Writes a row that nobody sent."""

    def at_end(self) -> None:
        """Copy a record under another id."""
        (logged, at) = next(self.stored())
        sent = replace(logged.sent, id="nobody's")
        self.written["invented"] = [(replace(logged, sent=sent), at)]


class WritesWhatWasRefused(ModelPipeline):
    """Shows records whose sending has failed."""

    def at_end(self) -> None:
        """Take them from the producers."""
        self.written["refused"] = [(each, each.sent.sent_at + 1) for each in self.world.refused[:1]]


class ShowsATornBatch(ModelPipeline):
    """Lets readers see what is taken back."""

    def look(self, number: int) -> None:
        """Show a record of the next batch once, and take it back when the batch is written again."""
        super().look(number)
        if number == self.crash:
            look = self.looks[-1]
            self.looks[-1] = ReaderLook(look.output, look.at, look.ids | {"taken back"}, look.twice)


class KeepsAnOldRow(ModelPipeline):
    """Lets an older record of a key replace the newest."""

    def newest(self) -> Mapping[str, tuple[int, str]]:
        """Be one behind for a key."""
        found = dict(super().newest())
        key = min(found)
        stored = {logged.sent.sequence: logged for logged, _ in self.stored() if logged.sent.key == key}
        older = sorted(stored)[-3]
        found[key] = older, stored[older].sent.checksum
        return found


class LetsAnOldDriverWrite(ModelPipeline):
    """Does not fence a driver that was replaced."""

    def at_end(self) -> None:
        """Let it append a batch once more."""
        self.written["zombie"] = list(self.written[self.crash - 1] or next(filter(None, self.written.values())))


class ConfusesOffsets(ModelPipeline):
    """Stores a record under another position than it has in the topic."""

    def at_end(self) -> None:
        """Move one behind the end."""
        number, rows = next((number, rows) for number, rows in self.written.items() if rows)
        (logged, at), *others = rows
        position = RecordPosition(logged.position.partition, logged.position.offset + 1_000_000)
        self.written[number] = [(replace(logged, position=position), at), *others]


class DiesInSilence(ModelPipeline):
    """Raises no alert."""

    def alerts(self) -> frozenset[str]:
        """Stay silent."""
        return frozenset()


class CriesWolf(ModelPipeline):
    """Raises an alert that nothing explains."""

    def alerts(self) -> frozenset[str]:
        """Add one."""
        return frozenset({DIED, "lagging"})


class StaysDown(ModelPipeline):
    """Does not come back after a fault."""

    def batches(self) -> Sequence[Batch]:
        """End with the crash."""
        return super().batches()[: self.crash + 1]

    def faults(self) -> tuple[FiredFault, ...]:
        """Say so."""
        return tuple(replace(fault, healed=False) for fault in super().faults())


SABOTAGES: Mapping[type[ModelPipeline], frozenset[ProofFault]] = {
    DropsOneInTenThousand: frozenset({ProofFault.LOST, ProofFault.GAP}),
    RepeatsOnRestart: frozenset({ProofFault.TWICE}),
    Reorders: frozenset({ProofFault.REORDERED}),
    LosesTheTail: frozenset({ProofFault.LOST_TAIL}),
    LosesTheHead: frozenset({ProofFault.LOST_HEAD}),
    CommitsBeforeItWrites: frozenset({ProofFault.LOST}),
    IsNotDeterministic: frozenset({ProofFault.INTERVAL_DIFFERS}),
    CountsInTheWrongWindow: frozenset({ProofFault.INTERVAL_DIFFERS}),
    SwallowsAnException: frozenset({ProofFault.LOST, ProofFault.GAP}),
    ServesAnOldState: frozenset({ProofFault.STALE_READER}),
    ReadsTheClock: frozenset({ProofFault.INTERVAL_DIFFERS}),
    ForgetsLateRecords: frozenset({ProofFault.LOST, ProofFault.INTERVAL_DIFFERS}),
    CutsADependence: frozenset({ProofFault.INTERVAL_DIFFERS}),
    ShowsItsBestMinute: frozenset({ProofFault.SLOW}),
    AltersAValue: frozenset({ProofFault.ALTERED}),
    InventsARecord: frozenset({ProofFault.PHANTOM}),
    WritesWhatWasRefused: frozenset({ProofFault.FAILED_SEEN}),
    ShowsATornBatch: frozenset({ProofFault.WENT_BACK}),
    KeepsAnOldRow: frozenset({ProofFault.STALE}),
    LetsAnOldDriverWrite: frozenset({ProofFault.TWICE}),
    ConfusesOffsets: frozenset({ProofFault.MOVED, ProofFault.GAP}),
    DiesInSilence: frozenset({ProofFault.ALERT_MISSING}),
    CriesWolf: frozenset({ProofFault.FALSE_ALERT}),
    StaysDown: frozenset({ProofFault.NOT_HEALED, ProofFault.LOST_TAIL}),
}
"""Each sabotage, and the faults that a proof must find of it, all of them."""
