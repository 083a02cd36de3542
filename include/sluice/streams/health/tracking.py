"""What a watcher remembers of a unit's streams between observations. It may be lost at any time: less is seen then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sluice.streams.health.health import Health, same_health
from sluice.streams.health.observation import Observation
from sluice.streams.health.recording import RecordedVerdict, lagging_since, worth_recording
from sluice.streams.health.settlers import Judgement, judge_all
from sluice.streams.health.snapshots import FRESH
from sluice.streams.health.verdict import Verdict, judge
from sluice.streams.health.window import Window


@dataclass(frozen=True)
class VerdictPeriod:
    """A stream's verdict that lasts: of which generation, since when, and when it was seen last (UTC)."""

    health: Health
    generation: int
    since: datetime
    last: datetime

    @classmethod
    def after(cls, before: VerdictPeriod | None, health: Health, generation: int, at: datetime) -> VerdictPeriod:
        """Return the period with one more observation. A gap ends it, and so does a clock that was set back."""
        lasts = (
            before is not None
            and same_health(before.health, health)
            and before.generation == generation
            and before.last <= at <= before.last + FRESH
        )
        return cls(health, generation, before.since if before is not None and lasts else at, at)


class StreamTracker:
    """The windows of a unit's streams, each bounded."""

    def __init__(self) -> None:
        self._windows: dict[str, Window] = {}
        self._last: dict[str, Health] = {}
        self._verdicts: Mapping[str, Verdict] = {}
        self._periods: dict[str, VerdictPeriod] = {}

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """What the newest observation gave, by stream, worth recording or not."""
        return self._verdicts

    @property
    def windows(self) -> Mapping[str, Window]:
        """All observations so far, by stream."""
        return self._windows

    @property
    def since(self) -> Mapping[str, datetime]:
        """Since when the verdict on each stream is the newest one without a break (UTC); OK and IDLE are one."""
        return {stream: period.since for stream, period in self._periods.items()}

    def judge(
        self,
        observations: Mapping[str, Observation],
        records: Mapping[str, RecordedVerdict],
        generation: int,
        elsewhere: Callable[[str], Verdict | None] = lambda _stream: None,
    ) -> Mapping[str, Verdict]:
        """Take in one observation, and return those verdicts that are worth recording.

        Streams that are not in it are forgotten. The records are the newest verdicts, by stream; for `elsewhere` see
        `judge_all`.
        """
        self._windows = {
            stream: self._windows.get(stream, Window()).add(observation) for stream, observation in observations.items()
        }

        def judge_one(stream: str, observed: Observation, raw: Judgement | None) -> Verdict:
            since = lagging_since(records.get(stream), generation)
            return judge(observed, self._windows[stream], lagging_since=since, raw=raw)

        self._verdicts = verdicts = judge_all(observations, judge_one, elsewhere)
        last, self._last = self._last, {stream: verdict.health for stream, verdict in verdicts.items()}
        self._periods = {
            stream: VerdictPeriod.after(self._periods.get(stream), verdict.health, generation, observations[stream].at)
            for stream, verdict in verdicts.items()
        }
        return {
            stream: verdict
            for stream, verdict in verdicts.items()
            if worth_recording(
                records.get(stream), verdict, generation, last=last.get(stream), now=observations[stream].at
            )
        }
