"""What a pipeline may deliver: each mistake is refused at its line, with what to do."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sluice.errors import SpecError
from sluice.specs.catalog.rhythm import rhythm_of
from sluice.specs.catalog.streams import streams_of
from sluice.specs.code.closure import meaning
from sluice.specs.model.model import PipelineSpec
from tests.unit.specs.bench import PIPELINE_FILE, TOPIC, TOPIC_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

SINGLE = """\
output:
  table: sales
  time_column: hour
  window: 1 hour
  interval: hour
"""
SEVERAL = """\
outputs:
  - kind: intervals
    table: sales
    time_column: hour
    window: 1 hour
    interval: hour
  - kind: latest
    table: sales_live
    keys: [hour, shop]
    keep: open
  - kind: topic
    topic: sales_news
    keys: [shop]
    create: {partitions: 3, retention: 1 day}
"""


@pytest.fixture
def several(bench: Bench) -> Bench:
    """A project whose pipeline has three outputs."""
    bench.edit(PIPELINE_FILE, SINGLE, SEVERAL)
    return bench


def pipeline(bench: Bench) -> PipelineSpec:
    found = bench.scan()
    assert found.faults == ()
    return found.catalog.pipelines["sales"]


@pytest.mark.parametrize("keys", ["", "[shop]", "[shop, day]"])
def test_a_single_interval_table_needs_no_list_and_no_kind(bench: Bench, keys: str) -> None:
    with_keys = f"keys: {keys}\n" if keys else ""
    bench.edit(PIPELINE_FILE, SINGLE, f"{SINGLE}  {with_keys}".rstrip(" "))
    single = pipeline(bench)
    listed_alone = SEVERAL.partition("  - kind: latest")[0]
    bench.edit(PIPELINE_FILE, f"{SINGLE}  {with_keys}".rstrip(" "), f"{listed_alone}    {with_keys}".rstrip(" "))
    listed = pipeline(bench)
    assert single.intervals == listed.intervals
    assert [[stream.name for stream in streams_of(each)] for each in (single, listed)] == [["sales"], ["sales"]]


def test_outputs_beside_an_interval_table_are_a_stream_of_the_same_unit(several: Bench) -> None:
    catalog = several.scan().catalog
    spec = catalog.pipelines["sales"]
    assert [output.kind for output in spec.side_outputs] == ["latest", "topic"]
    assert catalog.units()["shop"].streams == ("raw_orders", "sales", "sales_live")
    assert catalog.pipeline_of("sales_live") is catalog.pipeline_of("sales") is spec
    assert catalog.topic_of("sales_live") == "orders"
    assert rhythm_of(catalog, "sales_live") == rhythm_of(catalog, "sales")
    assert rhythm_of(catalog, "sales_live").retention == timedelta(days=7)


def test_without_an_interval_table_there_is_one_stream_and_nothing_to_backfill(several: Bench) -> None:
    several.edit(PIPELINE_FILE, SEVERAL.partition("  - kind: topic")[0], "outputs:\n")
    catalog = several.scan().catalog
    assert catalog.units()["shop"].streams == ("raw_orders", "sales")
    assert catalog.interval_pipelines == {}
    with pytest.raises(SpecError, match="no `intervals` output"):
        _ = catalog.pipelines["sales"].intervals


def test_a_topic_that_only_an_output_fills_is_created_as_it_says(several: Bench) -> None:
    topics = several.scan().catalog.kafka_topics()
    assert sorted(topics) == ["orders", "sales_news"]
    assert topics["sales_news"].partitions == 3
    assert topics["sales_news"].wanted_configs() == {"retention.ms": "86400000"}


def test_a_deployment_says_what_is_different_there_and_nothing_else(several: Bench) -> None:
    several.edit(
        PIPELINE_FILE, "{partitions: 3, retention: 1 day}", "{partitions: 3, deployments: {prod: {partitions: 9}}}"
    )
    different = "{retention: forever, configs: {cleanup.policy: null, segment.ms: '5'}}"
    several.edit(TOPIC_FILE, "partitions: 2\n", f"partitions: 2\nreplication: 2\ndeployments: {{prod: {different}}}\n")
    catalog = several.scan().catalog
    there, elsewhere = catalog.in_deployment("prod").kafka_topics(), catalog.in_deployment("local").kafka_topics()
    assert elsewhere == catalog.kafka_topics()
    assert (there["sales_news"].partitions, elsewhere["sales_news"].partitions) == (9, 3)
    assert (there["orders"].partitions, there["orders"].replication) == (2, 2)
    bound = {"message.timestamp.after.max.ms": "600000"}
    assert there["orders"].wanted_configs() == {
        **bound,
        "cleanup.policy": None,
        "segment.ms": "5",
        "retention.ms": "-1",
    }
    assert elsewhere["orders"].wanted_configs() == {
        **bound,
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
    }
    assert rhythm_of(catalog.in_deployment("prod"), "sales").retention is None


def test_a_topic_that_another_pipeline_reads_keeps_its_own_spec(several: Bench) -> None:
    several.write("include/topics/sales_news.yaml", TOPIC.replace("orders", "sales_news"))
    several.edit(PIPELINE_FILE, "    create: {partitions: 3, retention: 1 day}\n", "")
    topics = several.scan().catalog.kafka_topics()
    assert topics["sales_news"].partitions == 2


def test_what_is_delivered_beside_the_interval_table_is_not_part_of_the_same_code(bench: Bench) -> None:
    single = pipeline(bench)
    topics = bench.scan().catalog.topics
    bench.edit(PIPELINE_FILE, SINGLE, SEVERAL)
    assert meaning(pipeline(bench), topics) == meaning(single, topics)
    bench.edit(PIPELINE_FILE, "interval: hour", "interval: day")
    assert meaning(pipeline(bench), topics) != meaning(single, topics)


@pytest.mark.parametrize(
    "case",
    [
        ("kind: latest", "kind: newest", 17, "outputs[1]", "'kind' is 'newest'; it must be one of"),
        ("  - kind: latest", "  - kynd: latest", 17, "outputs[1]", "the key 'kind' is missing."),
        ("    keys: [hour, shop]\n", "", 17, "outputs[1].keys", "the key is missing."),
        ("keys: [hour, shop]", "keys: []", 19, "outputs[1].keys", "at least one entry"),
        ("keep: open", "keap: open", 20, "outputs[1].keap", "did you mean 'keep'?"),
        ("keep: open", "store: postgres", 17, "outputs[1]", "add `connection: <name>`"),
        ("keep: open", "connection: serving", 20, "outputs[1].connection", "a Delta table needs no connection"),
        ("interval: hour", "interval: week", 16, "outputs[0].interval", "it must be 'hour' or 'day'"),
        ("kind: topic\n    topic: sales_news", "kind: rows\n    table: each", 11, "outputs", "a pipeline for each"),
        ("partitions: 3", "partitions: 0", 24, "outputs[2].create.partitions", "it must be at least 1"),
        (
            "partitions: 3",
            'configs: {retention.ms: "1"}, partitions: 3',
            24,
            "outputs[2].create.configs",
            "as `retention`",
        ),
    ],
    ids=words,
)
def test_a_wrong_output_is_refused_at_its_line(several: Bench, case: Case) -> None:
    bench = several
    if "kind: rows" in case[1]:
        bench.edit(PIPELINE_FILE, "    keys: [shop]\n    create: {partitions: 3, retention: 1 day}\n", "")
    assert_one_fault(bench, PIPELINE_FILE, case)


@pytest.mark.parametrize(
    "case",
    [
        ("table: sales_live", "table: sales", 18, "outputs[1].table", ""),
        ("topic: sales_news", "topic: orders", 22, "outputs[2].topic", "it would read what it writes"),
        (
            "    create: {partitions: 3, retention: 1 day}\n",
            "",
            22,
            "outputs[2].topic",
            "add `create: {partitions: 4}`",
        ),
        ("partitions: 3", 'configs: {sasl.jaas.config: "x"}, partitions: 3', 24, "", "this is a secret."),
    ],
    ids=words,
)
def test_an_output_that_breaks_a_rule_is_refused(several: Bench, case: Case) -> None:
    old, new, line, where, said = case
    several.edit(PIPELINE_FILE, old, new)
    fault = several.scan().faults[-1]
    assert (fault.file, fault.line) == (PIPELINE_FILE, line)
    assert where in fault.where
    assert said in str(fault)


def test_a_topic_that_has_a_spec_is_not_declared_a_second_time(several: Bench) -> None:
    several.write("include/topics/sales_news.yaml", TOPIC.replace("orders", "sales_news"))
    (fault,) = several.scan().faults
    assert (fault.line, fault.where) == (24, "outputs[2].create")
    assert "include/topics/sales_news.yaml declares the topic already. Fix: remove `create`." in str(fault)


def test_both_ways_to_write_outputs_at_once_are_refused(several: Bench) -> None:
    several.edit(PIPELINE_FILE, SEVERAL, SINGLE + SEVERAL)
    (fault,) = several.scan().faults
    assert "the key `output` is given, too; move what it says into this list" in str(fault)


def test_a_pipeline_that_delivers_nothing_is_refused(bench: Bench) -> None:
    bench.edit(PIPELINE_FILE, SINGLE, "")
    (fault,) = bench.scan().faults
    assert "it delivers no result; add an output of the kind intervals, rows, latest, topic or sink" in str(fault)


DEAD = "  - kind: dead_letters\n    topic: sales_dead\n    create: {partitions: 1}\n"


def test_dead_letters_are_a_stream_of_their_own_and_no_part_of_the_code(several: Bench) -> None:
    without, topics = pipeline(several), several.scan().catalog.topics
    several.edit(PIPELINE_FILE, SEVERAL, SEVERAL + DEAD + "mirror_group: shown\n")
    catalog = several.scan().catalog
    spec = catalog.pipelines["sales"]
    assert catalog.units()["shop"].streams == ("raw_orders", "sales", "sales_dead", "sales_live")
    assert [output.kind for output in catalog.streams["sales_dead"].outputs] == ["dead_letters"]
    assert [output.kind for output in catalog.streams["sales_live"].outputs] == ["latest", "topic"]
    assert [output.kind for output in catalog.streams["sales"].outputs] == ["intervals"]
    groups = {stream.name: group for stream, group in catalog.mirrored}
    assert groups == {"sales": "shown", "sales_live": "shown_live", "sales_dead": "shown_dead"}
    assert catalog.kafka_topics()["sales_dead"].partitions == 1
    assert catalog.pipeline_of("sales_dead") is spec
    assert meaning(spec, topics) == meaning(without, topics)


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (DEAD, "it delivers no result"),
        (
            SEVERAL.removeprefix("outputs:\n") + DEAD + DEAD.replace("_dead", "_gone"),
            "2 outputs are of the kind dead_letters",
        ),
        (
            SEVERAL.removeprefix("outputs:\n") + DEAD.replace("sales_dead", "orders"),
            "it would read what it writes, for ever",
        ),
        (SEVERAL.removeprefix("outputs:\n") + DEAD.replace("sales_dead", "sales_news"), "2 outputs write to the topic"),
        (
            SEVERAL.removeprefix("outputs:\n") + DEAD.replace("    create: {partitions: 1}\n", ""),
            "nothing says how to create it",
        ),
    ],
)
def test_dead_letters_that_cannot_be_are_refused(bench: Bench, outputs: str, said: str) -> None:
    bench.edit(PIPELINE_FILE, SINGLE, f"outputs:\n{outputs}")
    assert said in str(bench.scan().faults[0])


def test_no_pipeline_takes_the_name_of_anothers_dead_letters(several: Bench) -> None:
    several.edit(PIPELINE_FILE, SEVERAL, SEVERAL + DEAD)
    other = (
        (several.home / PIPELINE_FILE)
        .read_text()
        .replace(SEVERAL + DEAD, SINGLE.replace("table: sales", "table: other"))
    )
    several.write("include/pipelines/sales_dead.yaml", other.replace("name: sales", "name: sales_dead"))
    (fault,) = several.scan().faults
    assert "'sales_dead' is already the name of the stream with the dead letters of the pipeline sales" in str(fault)


def test_open_values_need_an_interval_table_beside_them(several: Bench) -> None:
    several.edit(PIPELINE_FILE, SEVERAL.partition("  - kind: latest")[0], "outputs:\n")
    (fault,) = several.scan().faults
    assert "`keep: open` needs an `intervals` output" in str(fault)


def test_two_outputs_never_write_to_one_topic(several: Bench) -> None:
    text = (several.home / PIPELINE_FILE).read_text()
    second = (
        text.replace("name: sales", "name: again").replace("table: sales", "table: again").replace("orders", "orders")
    )
    several.write("include/pipelines/again.yaml", second)
    found = {(fault.file, fault.where) for fault in several.scan().faults}
    assert (PIPELINE_FILE, "outputs[2].topic") in found
    assert ("include/pipelines/again.yaml", "outputs[2].topic") in found


def test_a_pipeline_must_not_take_the_name_of_anothers_live_stream(several: Bench) -> None:
    other = (several.home / PIPELINE_FILE).read_text().replace(SEVERAL, SINGLE.replace("table: sales", "table: other"))
    several.write("include/pipelines/sales_live.yaml", other.replace("name: sales", "name: sales_live"))
    (fault,) = several.scan().faults
    assert "'sales_live' is already the name of the stream beside the interval table of the pipeline sales" in str(
        fault
    )


def test_a_suite_needs_something_that_is_published_through_it(several: Bench) -> None:
    several.edit(PIPELINE_FILE, SEVERAL.partition("  - kind: topic")[0], "outputs:\n")
    suite = "name: sales\npipeline: sales\nexpectations:\n  - expect: expect_table_row_count_to_be_between\n"
    several.write("include/expectations/sales.yaml", suite)
    (fault,) = several.scan().faults
    assert "nothing is published through a gate" in str(fault)


ALERTS = """\
alerts:
  - name: busy
    output: sales_live
    when: {orders: {at_least: 10}, shop: {one_of: [north]}}
  - name: quiet
    output: sales_news
    when: {orders: {below: 1}}
    message: Ask the shop.
"""


@pytest.fixture
def alerting(several: Bench) -> Bench:
    """A project whose pipeline has rules about its newest values."""
    several.write(PIPELINE_FILE, (several.home / PIPELINE_FILE).read_text() + ALERTS)
    return several


def test_rules_are_said_in_words_and_change_no_code(alerting: Bench) -> None:
    found = pipeline(alerting)
    assert [rule.words() for rule in found.alerts] == [
        "orders is at least 10 and shop is one of north",
        "orders is below 1",
    ]
    topics = alerting.scan().catalog.topics
    assert meaning(found, topics) == meaning(found.model_copy(update={"alerts": ()}), topics)


@pytest.mark.parametrize(
    "case",
    [
        ("output: sales_live", "output: sales", 30, "alerts[0].output", "no `latest` or `topic` output"),
        ("name: quiet", "name: busy", 32, "alerts[1].name", "two alerts are called 'busy'"),
        ("{below: 1}", "{}", 34, "alerts[1].when.orders", "it says nothing"),
        ("{below: 1}", "{under: 1}", 34, "alerts[1].when.orders.under", "under"),
        ("{orders: {below: 1}}", "{}", 34, "alerts[1].when", "at least one entry"),
        ("message: Ask the shop.", "most_per_hour: 0", 35, "alerts[1].most_per_hour", "at least 1"),
    ],
    ids=words,
)
def test_a_wrong_rule_is_refused_at_its_line(alerting: Bench, case: Case) -> None:
    assert_one_fault(alerting, PIPELINE_FILE, case)


@pytest.mark.parametrize(
    "condition", ["total > 3", "hour >= timestamp'2026-01-01' AND shop IN ('a', 'b')", "shop RLIKE 'n.*'"]
)
def test_an_output_may_take_some_of_the_rows(several: Bench, condition: str) -> None:
    before = pipeline(several)
    several.edit(PIPELINE_FILE, "    table: sales_live\n", f'    table: sales_live\n    where: "{condition}"\n')
    found = pipeline(several)
    assert [getattr(output, "where", None) for output in found.outputs] == [None, condition, None]
    assert meaning(found, {"orders": several.scan().catalog.topics["orders"]}) == meaning(
        before, {"orders": several.scan().catalog.topics["orders"]}
    ), "what a live output takes changes no settled row"


def test_which_rows_an_interval_table_takes_is_part_of_the_code(bench: Bench) -> None:
    topics = {"orders": bench.scan().catalog.topics["orders"]}
    before = meaning(pipeline(bench), topics)
    bench.edit(PIPELINE_FILE, SINGLE, f"{SINGLE}  where: total > 3\n")
    assert meaning(pipeline(bench), topics) != before
    assert "where" not in before["output"] if isinstance(before.get("output"), dict) else True


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("total >", "is not SQL as Spark has it"),
        ("total > 3; DROP TABLE x", "holds 2 statements"),
        ("total > 3 LIMIT 5", "holds a clause or a query of its own"),
        ("shop IN (SELECT shop FROM x)", "holds a clause or a query of its own"),
        ("sum(total) > 3", "is about more than one row: SUM(total)"),
        ("row_number() OVER (ORDER BY total) < 4", "is about more than one row"),
        ("hour > current_timestamp()", "current_timestamp()"),
        ("rand() > 0.5", "rand()"),
    ],
)
def test_a_condition_is_about_one_row_and_nothing_else(several: Bench, condition: str, said: str) -> None:
    several.edit(PIPELINE_FILE, "    table: sales_live\n", f'    table: sales_live\n    where: "{condition}"\n')
    faults = several.scan().faults
    assert {fault.where for fault in faults} == {"outputs[1].where"}
    assert any(said in str(fault) for fault in faults)
    assert all(fault.line == 19 for fault in faults)
