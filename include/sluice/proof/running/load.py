"""The load of a proof: which records are made for a pipeline, and which of them it must refuse."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from sluice.project.project import Project
from sluice.proof.journal import RecordFate, SendJournal
from sluice.proof.observations import JudgedRecord
from sluice.proof.running.generation import RecordGenerator
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import HOUR

_INTERVALS, MOST_TIMES = 6, 10
"""How many intervals are filled in the time that is asked for, and how many times as long faults may make it."""


def generator_of(project: Project, spec: PipelineSpec, *, rate: float, seconds: float) -> RecordGenerator:
    """Return what makes the records: six intervals in the time that was asked for, all of them in the past.

    Without an interval table, and where the broker says when records come, they happen when they are sent.
    """
    ((_, source),) = spec.topic_sources.items()
    topic, now, rules = project.catalog.topics[source.topic], project.clock.now, source.time
    made = partial(RecordGenerator, topic, lateness=rules.allowed_lateness, breaks=spec.circuit_breaker is None)
    if not spec.has_intervals and topic.value.arrival_time == "broker":
        return made(now(), timedelta(seconds=1), now=now)
    length = spec.intervals.interval_length if spec.has_intervals else HOUR
    step = max(timedelta(milliseconds=1), _INTERVALS * length / (rate * seconds))
    step -= timedelta(microseconds=step.microseconds % 1000)
    span = step * int(rate * seconds) * (MOST_TIMES + 1)
    behind = rules.allowed_lateness + rules.arrival_disorder + 3 * length + timedelta(days=1)
    begin = (now() - span - behind).replace(hour=0, minute=0, second=0, microsecond=0)
    return made(begin, step)


def refused(journal: SendJournal, judged: Sequence[JudgedRecord]) -> frozenset[str]:
    """Return the ids of the records that must be among the dead letters."""
    quarantined = {each.position for each in judged if each.outcome == RecordFate.QUARANTINED}
    return frozenset(sent.id for sent in journal if sent.fate is RecordFate.QUARANTINED or sent.position in quarantined)
