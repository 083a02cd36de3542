"""Rules about the timestamps that producers write themselves."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.specs.catalog.stamping import MAX_AHEAD, bounds, broker_stamps, longest_skew
from sluice.specs.model.duration import format_duration
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading


def timestamps_are_bounded(reading: Reading) -> Iterator[Finding]:
    """A bound that is written down is no wider than what the pipelines believe of their producers' clocks."""
    for name, topic in reading.catalog.topics.items():
        skew = longest_skew(name, reading.catalog.readers.get(name, ()))
        for loc, value in topic.written_configs():
            shape = topic if loc[0] == "configs" else topic.in_deployment(loc[1])
            if loc[-1] == MAX_AHEAD and not broker_stamps(shape) and not bounds(value, skew):
                message = (
                    f"it is {value or 'the default of the broker'}, and lets a producer's timestamp lie further ahead "
                    f"of the broker's clock than the {format_duration(skew)} that the topic's readers believe "
                    "(clock_skew): one record from the future would close every interval until then."
                )
                fix = "leave it away, the topic plan sets it; or declare a longer `time.clock_skew` in a pipeline."
                yield reading.finding(Kind.TOPIC, name, loc, message, fix)
