"""What feeds need of their topics. What the lines of a file need is checked by `sluice.feeds.lines`."""

from __future__ import annotations

from collections.abc import Iterator

from sluice.errors import SpecError
from sluice.specs.code.static import locate_file
from sluice.specs.feeds.distribution import names_in
from sluice.specs.feeds.simulation import Simulation, simulator_file
from sluice.specs.model.encoding import LINES, UNDER_SCHEMAS
from sluice.specs.model.model import FieldType, TopicSpec, TopicValue
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


def simulations_fit(reading: Reading) -> Iterator[Finding]:
    """A simulator makes what its topic declares: its fields and its form; and its function is there."""
    for name, feed in reading.catalog.feeds.items():
        topic = reading.catalog.topics.get(feed.topic)
        if feed.simulate is None:
            continue
        if (
            feed.simulate.function is not None
            and not (path := simulator_file(feed.simulate.function, reading.include)).is_file()
        ):
            message = f"there is no file {reading.file(path)}."
            yield reading.finding(Kind.FEED, name, ("simulate", "function"), message, "write it, or correct its name.")
        for keys, message, fix in () if topic is None else _simulation_misfits(feed.simulate, topic.value, feed.key):
            yield reading.finding(Kind.FEED, name, keys, message, fix)


def _simulation_misfits(
    simulation: Simulation, value: TopicValue, key: str | None
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    declared = value.fields
    times = {value.event_time, value.arrival_time} - {"broker"}
    if key is not None and key not in declared:
        yield ("key",), f"{key!r} is no field of the topic.", f"its fields are {', '.join(declared)}."
    if value.format in UNDER_SCHEMAS or value.framing != "none":
        message = "a simulator writes JSON or lines, and the topic's values are framed, Avro or Protobuf."
        yield ("topic",), message, "send it to a topic of plain JSON."
    yield from _line_misfits(simulation, value, times)
    if simulation.faults.duplicates and value.arrival_time == "broker":
        message = "a duplicate differs in its arrival time, and the broker says it here."
        yield ("simulate", "faults"), message, "declare an `arrival_time` field in the topic, or leave them out."
    for drawn, distribution in simulation.fields.items():
        at = ("simulate", "fields", drawn)
        if drawn in times:
            yield at, f"{drawn!r} is a time of the topic, which the simulator writes itself.", "remove it."
        elif drawn not in declared and drawn not in simulation.mentions:
            message = f"{drawn!r} is no field of the topic, and nothing else is made of it."
            yield at, message, f"its fields are {', '.join(declared)}."
        unknown = [other for other in distribution.mentions if other not in simulation.fields and other not in times]
        if unknown:
            known = [*simulation.fields, *sorted(times)]
            yield at, f"it names {unknown[0]!r}, which is not drawn.", f"name one of {', '.join(known)}."
    lost = [name for name, field in declared.items() if field.required and name not in {*times, *simulation.fields}]
    if simulation.fields and lost:
        message = f"the topic requires {', '.join(lost)}, which no event would have."
        yield ("simulate", "fields"), message, "say how it is drawn."


def _line_misfits(
    simulation: Simulation, value: TopicValue, times: set[str]
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    at, lined = ("simulate", "line"), value.format in LINES
    if simulation.line is None and lined:
        yield at[:1], "the topic has lines of text, and `line` does not say how they are written.", "write `line`."
    if simulation.line is not None and not lined:
        yield at, f"the values of the topic are {value.format}, and no lines.", "remove it."
    for name in names_in(simulation.line or ""):
        if simulation.fields and name not in simulation.fields and name not in times:
            known = [*simulation.fields, *sorted(times)]
            yield at, f"it names {name!r}, which is not drawn.", f"name one of {', '.join(known)}."
    for fault in ("missing", "mistyped"):
        if lined and simulation.faults.by_kind[fault]:
            yield ("simulate", "faults"), f"a line of text is never {fault}.", "take `unreadable`."


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
