"""The load of a proof: which records are made for each topic of a pipeline, and which of them it must refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from sluice.project.project import Project
from sluice.proof.eligibility import happens_live
from sluice.proof.generation.generator import RecordGenerator
from sluice.proof.generation.made import MadeRecord, RecordFate
from sluice.proof.generation.unmade import left_out
from sluice.proof.journal import SendJournal
from sluice.proof.observations import JudgedRecord
from sluice.specs.model.model import PipelineSpec, TopicSpec
from sluice.specs.model.outputs import HOUR

_INTERVALS, MOST_TIMES = 6, 10
"""How many intervals are filled in the time that is asked for, and how many times as long as faults may make it."""
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True)
class ProofLoad:
    """What is sent.

    Attributes:
        generators: make the records, by the topic; records with the same number happen at the same time.
        is_live: whether they happen when they are sent, so that no interval closes in time.
    """

    generators: Mapping[str, RecordGenerator]
    is_live: bool

    @property
    def step(self) -> timedelta:
        """The time between two events of a topic."""
        return self._any.step

    def happens(self, number: int) -> datetime:
        """Return when the events with a number happen."""
        return self._any.happens(number)

    def first(self) -> Iterator[tuple[str, MadeRecord]]:
        """Yield a good record of each topic, those with the number 0."""
        for topic, generator in self.generators.items():
            yield topic, MadeRecord(generator.value(0))

    def further(self, number: int) -> tuple[str, MadeRecord]:
        """Return a further record, and its topic: the topics take turns.

        Args:
            number: of the record among all further ones, from 0.
        """
        topics = list(self.generators)
        topic = topics[number % len(topics)]
        return topic, self.generators[topic].record(number // len(topics) + 1)

    def named(self, names: Mapping[str, str]) -> ProofLoad:
        """Return it with other names of the topics."""
        return ProofLoad({names[topic]: each for topic, each in self.generators.items()}, self.is_live)

    @property
    def _any(self) -> RecordGenerator:
        return next(iter(self.generators.values()))


def load_of(project: Project, spec: PipelineSpec, *, rate: float, seconds: float) -> ProofLoad:
    """Return what makes the records: six intervals in the time that was asked for, all of them in the past.

    Where a broker says when records come, they happen when they are sent.

    Args:
        project: the deployment's own.
        spec: of the pipeline.
        rate: records per second, of all topics together.
        seconds: for how long they are sent.
    """
    topics = {name: project.catalog.topics[name] for name in spec.topics}
    is_live, now = happens_live(spec, project.catalog.topics), project.clock.now()
    makers = _makers(spec, topics, project.clock.now if is_live else None)
    if is_live:
        return ProofLoad(_made(makers, now, timedelta(seconds=1)), is_live)
    of_each = max(1, int(rate * seconds / len(topics)))
    length = spec.intervals.interval_length if spec.has_intervals else HOUR
    # A form that leaves out a part of the time needs steps of which it leaves out nothing.
    tick = max(_MILLISECOND, *(each.tick for each in _made(makers, now, _MILLISECOND).values()))
    step = -(-(_INTERVALS * length / of_each) // tick) * tick
    rules = [spec.time_of(name) for name in topics]
    behind = max(each.allowed_lateness + each.arrival_disorder for each in rules) + 3 * length + timedelta(days=1)
    begin = now - step * of_each * (MOST_TIMES + 1) - behind
    return ProofLoad(_made(makers, begin.replace(hour=0, minute=0, second=0, microsecond=0), step), is_live)


_Maker = Callable[[datetime, timedelta], RecordGenerator]
"""Makes what makes the records of a topic, of when the first event happens and the step between two."""


def _makers(
    spec: PipelineSpec, topics: Mapping[str, TopicSpec], now: Callable[[], datetime] | None
) -> Mapping[str, _Maker]:
    """Return the makers of each topic; a field that identifies events of another one refers to them."""
    identities = frozenset(each for topic in topics.values() for each in topic.value.event_id or ())
    found = {}
    for name, topic in topics.items():
        rules = spec.time_of(name)
        found[name] = partial(
            RecordGenerator,
            topic,
            lateness=rules.allowed_lateness,
            skew=rules.future_skew,
            breaks=spec.circuit_breaker is None,
            now=now,
            identities=identities & topic.value.fields.keys(),
            left_out=left_out(topic),
        )
    return found


def _made(makers: Mapping[str, _Maker], begin: datetime, step: timedelta) -> dict[str, RecordGenerator]:
    return {name: make(begin, step) for name, make in makers.items()}


def refused(journal: SendJournal, judged: Sequence[JudgedRecord]) -> frozenset[str]:
    """Return the ids of the records that must be among the dead letters."""
    quarantined = {(each.topic, each.position) for each in judged if each.outcome == RecordFate.QUARANTINED}
    return frozenset(
        sent.id for sent in journal if sent.fate is RecordFate.QUARANTINED or (sent.topic, sent.position) in quarantined
    )
