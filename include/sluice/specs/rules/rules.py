"""Rules between specs: what no single file can know. Each is a small pure function that yields what it finds."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from sluice.contracts.breach import Loc
from sluice.specs.catalog.stamping import MAX_AHEAD, bounds, broker_stamps, longest_skew
from sluice.specs.catalog.streams import StreamKind, raw_stream, streams_of
from sluice.specs.code.transforms import transforms_fit
from sluice.specs.deployments.secrecy import is_secret
from sluice.specs.model.duration import format_duration
from sluice.specs.model.encoding import UNDER_SCHEMAS
from sluice.specs.model.model import TopicSpec
from sluice.specs.model.spec import NAME_PATTERN
from sluice.specs.model.start import Edge
from sluice.specs.reading.diagnosis import nearest
from sluice.specs.reading.faults import Fault
from sluice.specs.reading.kinds import Key, Kind
from sluice.specs.reading.reading import ANY, Finding, Reading, Rule
from sluice.specs.rules import (
    access_rules,
    alerting_rules,
    feed_rules,
    interval_expectations,
    lane_rules,
    objective_rules,
    output_rules,
    page_rules,
    record_expectations,
    schedule_rules,
    sink_rules,
    source_rules,
    spark_settings,
    static_rules,
    suites,
    table_rules,
)
from sluice.specs.rules.connections import client_settings, login_rules, mirror_rules
from sluice.specs.rules.contracts import FOLDER, history_of
from sluice.specs.rules.output_rules import absence, outputs_of, shape_faults, written_table
from sluice.specs.rules.protobuf_rules import unknown_names

TOPIC_KEYS: Mapping[Kind, Sequence[Sequence[str]]] = {
    Kind.PIPELINE: (("source",), ("sources", ANY, "topic")),
    Kind.FEED: (("topic",),),
}
"""Under which keys a spec of a kind names its topics."""


def names_are_stems(reading: Reading) -> Iterator[Finding]:
    """A spec is named like its file, so that a reader who knows one finds the other."""
    for (kind, stem), document in reading.documents.items():
        name = (document.data or {}).get("name")
        if isinstance(name, str) and name != stem and re.match(NAME_PATTERN, name):
            message = f"the name is {name!r} and the file {stem}.yaml."
            yield reading.finding(kind, stem, ("name",), message, "name both alike.")


def topics_exist(reading: Reading) -> Iterator[Finding]:
    """Pipelines and feeds name topics that have a spec. A spec that is broken exists."""
    for kind, paths in TOPIC_KEYS.items():
        for named in reading.references(kind, *paths):
            if (Kind.TOPIC, named.name) not in reading.documents:
                yield reading.finding(*named.owner, named.loc, *reading.absent(Kind.TOPIC, named.name))
            elif named.name in reading.catalog.absent:
                yield reading.finding(*named.owner, named.loc, *absence(named.name))


def tables_are_unique(reading: Reading) -> Iterator[Finding]:
    """No two streams write the same table."""
    writers: dict[str, list[tuple[Key, Loc]]] = defaultdict(list)
    for name, topic in reading.catalog.topics.items():
        writers[topic.raw.table].append(((Kind.TOPIC, name), ("raw", "table")))
    for name, pipeline in reading.catalog.pipelines.items():
        for loc, output in outputs_of(pipeline):
            table, key = written_table(output)
            writers[table].append(((Kind.PIPELINE, name), (*loc, key)))
    for table, places in writers.items():
        for (kind, name), loc in places if len(places) > 1 else ():
            others = ", ".join(f"the {k} {n}" for (k, n), where in places if ((k, n), where) != ((kind, name), loc))
            message = f"the table {table!r} is also written by {others}."
            yield reading.finding(kind, name, loc, message, "give every stream a table of its own.")


def streams_are_unique(reading: Reading) -> Iterator[Finding]:
    """No two streams have the same name: they would share a checkpoint."""
    taken = {raw_stream(topic): f"the raw stream of the topic {topic}" for topic in reading.catalog.topics}
    for pipeline in reading.catalog.pipelines.values():
        for stream in streams_of(pipeline):
            if stream.kind is StreamKind.PIPELINE:
                continue
            if stream.name in taken:
                message = f"its stream {stream.name!r} would be named like {taken[stream.name]}."
                yield reading.finding(Kind.PIPELINE, pipeline.name, ("name",), message, "rename the pipeline.")
            what = "beside the interval table" if stream.kind is StreamKind.LIVE else "with the dead letters"
            taken.setdefault(stream.name, f"the stream {what} of the pipeline {pipeline.name}")
    for name in filter(taken.__contains__, reading.catalog.pipelines):
        message = f"{name!r} is already the name of {taken[name]}."
        yield reading.finding(Kind.PIPELINE, name, ("name",), message, "rename the pipeline.")


def units_agree(reading: Reading) -> Iterator[Finding]:
    """Pipelines that share a driver share its process, so they must want the same of it: resources, settings, times."""
    first: dict[str, str] = {}
    for name, pipeline in sorted(reading.catalog.pipelines.items()):
        other = reading.catalog.pipelines[first.setdefault(pipeline.driver, name)]
        for key, own, theirs in (
            ("resources", pipeline.resources, other.resources),
            ("spark", pipeline.spark, other.spark),
            ("schedule", pipeline.schedule, other.schedule),
            ("stop_when_idle", pipeline.stop_when_idle, other.stop_when_idle),
        ):
            if own != theirs:
                message = f"{key} differs from that of the pipeline {other.name}, which names the same driver."
                yield reading.finding(Kind.PIPELINE, name, (key,), message, "make them equal, or name another driver.")


def starts_are_in_the_topic(reading: Reading) -> Iterator[Finding]:
    """A start by offsets names partitions that the topic has."""
    for name, pipeline in reading.catalog.pipelines.items():
        offsets = {} if isinstance(pipeline.start, Edge | datetime) else pipeline.start
        if offsets and len(pipeline.topics) > 1:
            message = f"offsets are of one topic, and the pipeline reads {', '.join(pipeline.topics)}."
            fix = "write `earliest`, `latest` or a time; `sluice streams reset` takes offsets of each topic."
            yield reading.finding(Kind.PIPELINE, name, ("start",), message, fix)
            continue
        if not pipeline.topics:  # a fault of its own
            continue
        topic = reading.catalog.topics.get(pipeline.topics[0])  # a broken one is a fault of its own
        for number in sorted(offsets):
            if topic is not None and number >= (least := min(shape.partitions for shape in _shapes(topic))):
                message = f"the topic {topic.name} has the partitions 0 to {least - 1}."
                yield reading.finding(Kind.PIPELINE, name, ("start", str(number)), message, "name one of these.")


def patches_are_in_the_topic(reading: Reading) -> Iterator[Finding]:
    """A patch names partitions that the topic has."""
    for name, topic in reading.catalog.topics.items():
        least = min(shape.partitions for shape in _shapes(topic))
        for number, patch in enumerate(topic.value.patches):
            for partition in (each for each in patch.records if each >= least):
                message = f"the topic has the partitions 0 to {least - 1}."
                where = ("value", "patches", number, "records", str(partition))
                yield reading.finding(Kind.TOPIC, name, where, message, "name one of these.")


def values_name_versions(reading: Reading) -> Iterator[Finding]:
    """What values are written under are versions of the topic's contract; those of Avro and Protobuf can be read."""
    for name, topic in reading.catalog.topics.items():
        folder, shown = reading.include / FOLDER / name, f"{reading.include.name}/{FOLDER}/{name}"
        for loc, file in topic.value.missing(folder):
            fix = "write it, or name another version."
            yield reading.finding(Kind.TOPIC, name, ("value", *loc), f"there is no {shown}/{file}.", fix)
        if topic.value.format in UNDER_SCHEMAS:
            history = history_of(reading.include, name)
            for fault in history.faults:
                yield Finding((Kind.TOPIC, name), fault)
            for loc, message, fix in unknown_names(topic.value, history.versions):
                yield reading.finding(Kind.TOPIC, name, ("value", *loc), message, fix)


def groups_are_unique(reading: Reading) -> Iterator[Finding]:
    """No two streams show their position in the same consumer group: one would overwrite the other's."""
    taken: dict[str, str] = {}
    for stream, group in reading.catalog.mirrored:
        if group in taken and stream.pipeline is not None:
            message = f"the group {group!r} of {stream.name} is also that of {taken[group]}."
            yield reading.finding(
                Kind.PIPELINE, stream.pipeline.name, ("mirror_group",), message, "name another group."
            )
        taken.setdefault(group, stream.name)


def broker_stamps_arrival(reading: Reading) -> Iterator[Finding]:
    """`arrival_time: broker` needs a topic whose records the broker stamps; Kafka's default is the producer's time."""
    for name, topic in reading.catalog.topics.items():
        stamped = all(map(broker_stamps, _shapes(topic)))
        if topic.value.arrival_time == "broker" and not stamped:
            message = "arrival_time is broker, but the broker keeps the producer's time in this topic."
            fix = "set message.timestamp.type: LogAppendTime in configs, or name a field of the record."
            yield reading.finding(Kind.TOPIC, name, ("value", "arrival_time"), message, fix)


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


def records_are_kept(reading: Reading) -> Iterator[Finding]:
    """A compacted topic forgets records before the raw stream has read them."""
    for name, topic in reading.catalog.topics.items():
        for loc, value in topic.written_configs():
            if loc[-1] == "cleanup.policy" and "compact" in (value or ""):
                message = "cleanup.policy is compact, and the raw table must hold every record exactly once."
                yield reading.finding(Kind.TOPIC, name, loc, message, "set it to delete.")


def _shapes(topic: TopicSpec) -> Iterator[TopicSpec]:
    """Yield the topic as it is in each deployment of its spec, and in all others."""
    yield topic
    for deployment in topic.deployments:
        yield topic.in_deployment(deployment)


def shapes_are_sound(reading: Reading) -> Iterator[Finding]:
    """What is said of a topic's shape holds no secret, and names deployments that there are."""
    for name, topic in reading.catalog.topics.items():
        for loc, message, fix in shape_faults(reading, topic):
            yield reading.finding(Kind.TOPIC, name, loc, message, fix)


def clients_hold_no_secret(reading: Reading) -> Iterator[Finding]:
    """Secrets are mounted as files; every user can read a spec."""
    for name, deployment in reading.catalog.deployments.items():
        client = deployment.kafka.client if deployment.kafka.kind == "external" else {}
        for key in filter(is_secret, client):
            message = "this is a secret, and every user can read specs."
            fix = "say `login` instead, `users` or `tls`: they name the variable that holds the password."
            yield reading.finding(Kind.DEPLOYMENT, name, ("kafka", "client", key), message, fix)


RULES: tuple[Rule, ...] = (
    names_are_stems,
    topics_exist,
    tables_are_unique,
    streams_are_unique,
    units_agree,
    lane_rules.realtime_pipelines_can_run,
    schedule_rules.raw_streams_run_with_their_driver,
    schedule_rules.plans_can_be_kept,
    schedule_rules.raw_tables_are_filled_meanwhile,
    objective_rules.objectives_can_be_counted,
    source_rules.sources_have_names_of_their_own,
    source_rules.carried_tables_have_names_of_their_own,
    source_rules.source_columns_are_free,
    source_rules.only_intervals_reach_beyond,
    table_rules.read_tables_are_settled,
    table_rules.table_readers_only_settle,
    table_rules.nothing_reads_itself,
    table_rules.tables_have_no_records,
    table_rules.raw_tables_last,
    starts_are_in_the_topic,
    patches_are_in_the_topic,
    values_name_versions,
    groups_are_unique,
    broker_stamps_arrival,
    timestamps_are_bounded,
    records_are_kept,
    output_rules.output_columns_are_free,
    output_rules.output_conditions_are_about_rows,
    output_rules.output_topics_are_declared_once,
    sink_rules.sinks_are_functions_with_a_guarantee,
    output_rules.data_alerts_watch_live_outputs,
    page_rules.pages_show_live_outputs,
    shapes_are_sound,
    clients_hold_no_secret,
    client_settings.clients_are_understood,
    spark_settings.spark_settings_are_safe,
    static_rules.static_inputs_exist,
    feed_rules.feed_files_fit,
    feed_rules.simulations_fit,
    feed_rules.live_feeds_fit,
    transforms_fit,
    suites.suites_guard_pipelines,
    record_expectations.records_can_be_judged,
    interval_expectations.intervals_can_be_judged,
    access_rules.principals_are_unique,
    access_rules.scopes_exist,
    access_rules.principals_are_in_deployments,
    access_rules.nothing_widens_unseen,
    login_rules.logins_are_principals,
    client_settings.settings_say_it_once,
    login_rules.administrators_are_not_declared,
    login_rules.services_are_reached_as_they_ask,
    alerting_rules.policies_are_of_deployments,
    alerting_rules.policies_name_what_they_have,
    alerting_rules.policies_leave_nothing_out,
    mirror_rules.mirrors_name_what_exists,
    mirror_rules.mirrors_join_two_clusters,
    mirror_rules.mirrors_never_feed_each_other,
    mirror_rules.copies_have_one_source,
)


def deployment_exists(reading: Reading, deployment: str) -> Iterator[Fault]:
    """The deployment that the settings name has a spec; no spec is to blame if not."""
    if (Kind.DEPLOYMENT, deployment) not in reading.documents:
        message = f"SLUICE_DEPLOYMENT is {deployment!r}, and there is no include/deployments/{deployment}.yaml."
        yield Fault("include/deployments", 1, "", message, nearest(deployment, reading.names(Kind.DEPLOYMENT)))
