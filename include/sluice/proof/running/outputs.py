"""The outputs of a proof beside its interval table: when their streams have read all, and what is in them then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sluice.delta.reading import open_table
from sluice.errors import NotReadyError, UnreachableError
from sluice.project.project import Project
from sluice.proof.observations import (
    ObservedKind,
    ObservedRecord,
    ObservedRecords,
    ObservedRow,
    ObservedRows,
    RowsPromise,
)
from sluice.proof.rows_file import OpenCut, RowsAnswer, read_answer, write_cut
from sluice.proof.running.batches import run_batch
from sluice.proof.running.place import ProofPlace
from sluice.proof.running.sending import checksum
from sluice.quality.quarantine import LETTER_PREFIX
from sluice.specs.catalog.streams import settled_stream
from sluice.specs.model.outputs import LatestOutput, RowsOutput, TopicOutput
from sluice.topics.deduplication import Deduplication, DeliveryHeaders
from sluice.topics.records import Record

_PATIENCE_SECONDS = 60.0
TopicEnds = Mapping[str, Mapping[int, int]]
"""Of each topic the offset after the last one of each partition."""


class SideOutputs:
    """What a pipeline delivers beside its interval table.

    Args:
        project: the copy.
        place: of the proof.
        may_lose: whether a fault strikes by which an output that is sent at most once may lose something.
    """

    def __init__(self, project: Project, place: ProofPlace, *, may_lose: bool) -> None:
        self._project, self._place, self._may_lose = project, place, may_lose
        self._spec = project.catalog.pipelines[place.pipeline]
        self._cut = place.state.root / "cut.json"
        self._answer = place.state.root / "due.json"

    def have_read(self, ends: TopicEnds) -> bool:
        """Whether every stream has committed what is below `ends` (next offsets) of each topic that it reads."""
        streams = self._project.catalog.unit(self._spec.driver).streams
        return all(self._has_read(stream, ends) for stream in streams if stream != settled_stream(self._spec))

    def positions(self) -> tuple[Mapping[str, int], ...]:
        """Return the offsets that each stream has committed, which differ whenever it has read something."""
        streams = self._project.catalog.unit(self._spec.driver).streams
        return tuple(map(self._offsets, streams))

    def _has_read(self, stream: str, ends: TopicEnds) -> bool:
        offsets = self._offsets(stream)
        read = self._project.catalog.topics_of(stream)
        return all(offsets.get(f"{topic}/{p}", 0) >= end for topic in read for p, end in ends[topic].items())

    def _offsets(self, stream: str) -> Mapping[str, int]:
        newest = self._project.streams.checkpoint(stream).read().newest
        return {} if newest is None else newest.offsets

    @property
    def names(self) -> tuple[str, ...]:
        """The tables and topics whose rows a batch can compute."""
        outputs = self._spec.side_outputs
        rows = tuple(each.table for each in outputs if isinstance(each, RowsOutput | LatestOutput))
        return (*rows, *(each.topic for each in outputs if isinstance(each, TopicOutput)))

    @property
    def open_tables(self) -> tuple[str, ...]:
        """The tables whose rows go when their interval is settled."""
        outputs = self._spec.side_outputs
        return tuple(each.table for each in outputs if isinstance(each, LatestOutput) and each.keep == "open")

    def look_at_open(self, ends: TopicEnds) -> None:
        """Note which version of those tables holds what was read up to `ends`, while intervals are open."""
        versions = {table: self._version(table) for table in self.open_tables}
        try:
            settled = self._project.tables.ledger(self._spec.name).closed_until
        except NotReadyError:  # nothing is settled yet
            settled = None
        write_cut(self._cut, OpenCut(ends, settled, {table: v for table, v in versions.items() if v is not None}))

    def _version(self, table: str) -> int | None:
        try:
            return open_table(self._project.folder.table(table)).version()
        except NotReadyError:
            return None

    def answer(self, tell: Callable[[str], None]) -> RowsAnswer:
        """Return what is due and what is there. Where that cannot be found out, nothing was read."""
        try:
            return self._answered()
        except (NotReadyError, UnreachableError) as error:
            tell(f"  {error}")
            return RowsAnswer(tuple(_unread(name, str(error)) for name in ("validation", *self.names)), None)

    def _answered(self) -> RowsAnswer:
        """Let a batch say what is due, and complete it by what topics hold.

        Raises:
            NotReadyError: the batch has failed.
            UnreachableError: it has taken too long, or Kafka does not answer.
        """
        cut = ("--cut", str(self._cut)) if self._cut.exists() else ()
        arguments = ("due", "--pipeline", self._spec.name, "--into", str(self._answer), *cut)
        log = run_batch(self._project, self._spec.name, arguments, "due.log")
        if not self._answer.exists():
            raise NotReadyError("the batch that says which rows are due has failed.", fix=f"read {log}.")
        found = read_answer(self._answer)
        topics = {each.topic: each for each in self._spec.side_outputs if isinstance(each, TopicOutput)}
        return replace(found, outputs=tuple(self._with_topic(each, topics.get(each.name)) for each in found.outputs))

    def _with_topic(self, due: ObservedRows, output: TopicOutput | None) -> ObservedRows:
        if output is None:
            return due
        rows = (ObservedRow((r.key or b"").decode(), (r.value or b"").decode()) for r in self._records(output.topic))
        is_loose = output.delivery == "at_most_once" and self._may_lose and due.promise is RowsPromise.EACH
        promise = RowsPromise.AT_MOST if is_loose else due.promise
        return replace(due, seen=tuple(rows), promise=promise, is_ordered=True)

    def dead_letters(
        self, ids: Mapping[str, Mapping[bytes, str]], refused: frozenset[str]
    ) -> tuple[ObservedRecords, ...]:
        """Return what is in the topic of dead letters; nothing where there is none.

        Args:
            ids: of the values that were sent to each topic.
            refused: the ids that must be in it.
        """
        output = self._spec.dead_letters
        if output is None:
            return ()
        records = tuple(
            ObservedRecord(_sent_in(r, ids) or f"the dead letter at {r.partition}/{r.offset}", checksum(r.value or b""))
            for r in self._records(output.topic)
        )
        return (ObservedRecords(output.topic, ObservedKind.TOPIC, records, refused),)

    def _records(self, topic: str) -> list[Record]:
        """Return the records of a topic as a reader gets them that drops repetitions."""
        with self._project.kafka.administration() as administration:
            extent = administration.extent(topic)
        memory, found = Deduplication(), list[Record]()
        with self._project.kafka.reader(patience_seconds=_PATIENCE_SECONDS) as reader:
            for record in reader.read(topic, extent.beginnings, extent.ends):
                delivery = DeliveryHeaders.of_headers(dict(record.headers))
                if delivery is None or memory.is_new(f"{topic}/{record.partition}", delivery):
                    found.append(record)
        return found


def _unread(name: str, why: str) -> ObservedRows:
    return ObservedRows(name, RowsPromise.EACH, (), (), is_complete=False, why=why)


def _sent_in(letter: Record, ids: Mapping[str, Mapping[bytes, str]]) -> str | None:
    """Return the id of the record that a dead letter copies: two topics may have records with the same bytes."""
    topic = (dict(letter.headers).get(f"{LETTER_PREFIX}topic") or b"").decode(errors="replace")
    return ids.get(topic, {}).get(letter.value or b"")
