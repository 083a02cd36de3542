"""What feeds need of their topics. What the lines of a file need is checked by `sluice.feeds.lines`."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.errors import SpecError
from sluice.specs.code.static import locate_file
from sluice.specs.model.encoding import UNDER_SCHEMAS
from sluice.specs.model.model import FieldType, TopicSpec
from sluice.specs.reading.kinds import Kind
from sluice.specs.reading.reading import Finding, Reading

Misfit = tuple[str, str, str]
"""A key of the feed, what is wrong there, and what to do."""


def feed_files_fit(reading: Reading) -> Iterator[Finding]:
    """The file of a feed is there, its topic holds JSON or lines, and the fields that it names are the topic's."""
    for name, feed in reading.catalog.feeds.items():
        if feed.source != "file" or feed.path is None:
            continue
        try:
            locate_file(feed.package, feed.path, reading.include)
        except SpecError as error:
            yield reading.finding(Kind.FEED, name, ("path",), error.message, error.fix)
        topic = reading.catalog.topics.get(feed.topic)
        for key, message, fix in () if topic is None else misfits(topic, feed.key, feed.arrival_time):
            yield reading.finding(Kind.FEED, name, (key,), message, fix)


def live_feeds_fit(reading: Reading) -> Iterator[Finding]:
    """Rows of CSV become JSON objects, so the topic of a folder of CSV holds JSON."""
    for name, feed in reading.catalog.feeds.items():
        topic = reading.catalog.topics.get(feed.topic)
        if topic is None or feed.folder is None or feed.folder.format != "csv":
            continue
        if topic.value.format != "json" or topic.value.framing != "none":
            message = f"rows of CSV become JSON objects, and the values of the topic {topic.name!r} are no plain JSON."
            fix = "send them to a topic of plain JSON; or write `format: lines`, which sends each line as it is."
            yield reading.finding(Kind.FEED, name, ("folder", "format"), message, fix)


def misfits(topic: TopicSpec, key: str | None, arrival_time: str | None) -> Iterator[Misfit]:
    """Yield why a file of JSON lines cannot be sent to a topic.

    Args:
        topic: the topic.
        key: the field that is to be the record's key; None for none.
        arrival_time: the field that says in which order records are sent; None: the topic says it.
    """
    declared = topic.value.fields
    times = [field for field, spec in declared.items() if spec.type is FieldType.TIMESTAMP]
    if topic.value.format in UNDER_SCHEMAS or topic.value.framing != "none":
        message = f"its lines are JSON, and the values of the topic {topic.name!r} are framed, Avro or Protobuf."
        yield "topic", message, "send it to a topic of plain JSON."
    if key is not None and key not in declared:
        yield "key", f"{key!r} is no field of the topic {topic.name!r}.", f"its fields are {', '.join(declared)}."
    if arrival_time is not None and arrival_time not in times:
        message = f"{arrival_time!r} is no timestamp field of the topic {topic.name!r}."
        yield "arrival_time", message, f"its timestamps are {', '.join(times)}."
