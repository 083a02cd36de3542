"""What a watcher remembers of one unit's streams between two looks. It may forget it at any time: it then sees less."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.streams.observation import Evidence
from sluice.streams.recording import lagging_since, worth_recording
from sluice.streams.registry import RecordedVerdict
from sluice.streams.verdict import Health, Verdict, judge
from sluice.streams.window import Window


class StreamsWatched:
    """The windows of a unit's streams, each bounded."""

    def __init__(self) -> None:
        self._windows: dict[str, Window] = {}
        self._last: dict[str, Health] = {}
        self._verdicts: dict[str, Verdict] = {}

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """What the newest look gave, by stream, worth recording or not."""
        return self._verdicts

    @property
    def windows(self) -> Mapping[str, Window]:
        """All looks so far, by stream."""
        return self._windows

    def judge(
        self, seen: Mapping[str, Evidence], records: Mapping[str, RecordedVerdict], generation: int
    ) -> Mapping[str, Verdict]:
        """Take in one look, and return those verdicts that are worth recording.

        Args:
            seen: the evidence by stream; streams that are not in it are forgotten.
            records: the newest verdicts on record by stream.
            generation: of the unit's latest attempt.
        """
        self._windows = {stream: self._windows.get(stream, Window()).add(look) for stream, look in seen.items()}
        self._verdicts = found = {
            stream: judge(look, self._windows[stream], lagging_since=lagging_since(records.get(stream), generation))
            for stream, look in seen.items()
        }
        last, self._last = self._last, {stream: verdict.health for stream, verdict in found.items()}
        return {
            stream: verdict
            for stream, verdict in found.items()
            if worth_recording(records.get(stream), verdict, generation, last=last.get(stream), now=seen[stream].at)
        }
