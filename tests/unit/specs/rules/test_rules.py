"""Rules between specs: each mistake is refused at its line, with what to do."""

from __future__ import annotations

import pytest

from tests.unit.specs.bench import DEPLOYMENT_FILE, FEED_FILE, PIPELINE_FILE, TOPIC_FILE, TRANSFORM_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words


@pytest.mark.parametrize(
    "case",
    [
        ("name: orders", "name: order", 1, "name", "the name is 'order' and the file orders.yaml."),
        (
            "arrival_time: seen_at",
            "arrival_time: broker",
            14,
            "value.arrival_time",
            "message.timestamp.type: LogAppendTime",
        ),
        (
            "cleanup.policy: delete",
            "cleanup.policy: compact",
            5,
            'configs["cleanup.policy"]',
            "every record exactly once",
        ),
        (
            "cleanup.policy: delete",
            'message.timestamp.after.max.ms: "600001"',
            5,
            'configs["message.timestamp.after.max.ms"]',
            "it is 600001, and lets a producer's timestamp lie further ahead of the broker's clock than the 10 minutes",
        ),
        (
            "cleanup.policy: delete",
            "message.timestamp.after.max.ms: null",
            5,
            'configs["message.timestamp.after.max.ms"]',
            "it is the default of the broker",
        ),
        (
            "partitions: 2",
            'partitions: 2\ndeployments: {prod: {configs: {message.timestamp.after.max.ms: "9223372036854775807"}}}',
            3,
            'deployments.prod.configs["message.timestamp.after.max.ms"]',
            "declare a longer `time.clock_skew`",
        ),
        ("cleanup.policy: delete", "sasl.jaas.config: x", 5, 'configs["sasl.jaas.config"]', "this is a secret."),
        (
            "partitions: 2",
            "partitions: 2\ndeployments: {production: {partitions: 3}}",
            3,
            "deployments.production",
            "no deployment 'production' in include/deployments.",
        ),
        (
            "partitions: 2",
            "partitions: 2\ndeployments: {prod: {configs: {cleanup.policy: compact}}}",
            3,
            'deployments.prod.configs["cleanup.policy"]',
            "every record exactly once",
        ),
        (
            "partitions: 2",
            'partitions: 2\ndeployments: {prod: {configs: {retention.ms: "1"}}}',
            3,
            "deployments.prod.configs",
            "as `retention`",
        ),
        (
            "partitions: 2",
            "partitions: 2\ndeployments: {prod: {configs: {sasl.jaas.config: x}}}",
            3,
            'deployments.prod.configs["sasl.jaas.config"]',
            "this is a secret.",
        ),
    ],
    ids=words,
)
def test_a_topic_that_breaks_a_rule_is_refused(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, TOPIC_FILE, case)


@pytest.mark.parametrize(
    "case",
    [
        (
            "source: orders",
            "source: order",
            2,
            "source",
            "no topic 'order' in include/topics. Fix: did you mean 'orders'?",
        ),
        ("time_column: hour", "time_column: interval_start", 13, "output.time_column", "Sluice partitions by"),
        ("static/shops.csv", "static/shop.csv", 6, "static.shops.path", "no file 'static/shop.csv' in include/."),
        ("static/shops.csv", "../secret.csv", 6, "static.shops.path", "leaves its folder"),
        (
            "path: static/shops.csv",
            "path: a.csv\n    package: absent_thing",
            7,
            "static.shops.package",
            "the package absent_thing",
        ),
        ("city: string", "town: string", 7, "static.shops.columns.town", "static/shops.csv has no column 'town'."),
        ("sales:sales", "gone:sales", 3, "transform", "a file spark_jobs/transforms/gone.py, which does not exist."),
        (
            "sales:sales",
            "sales:sale",
            3,
            "transform",
            "defines no function 'sale' at its top level. Fix: it defines sales.",
        ),
    ],
    ids=words,
)
def test_a_pipeline_that_breaks_a_rule_is_refused(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, PIPELINE_FILE, case)


@pytest.mark.parametrize(
    "case",
    [
        (
            "topic: orders",
            "topic: nothing",
            2,
            "topic",
            "no topic 'nothing' in include/topics. Fix: known here: orders.",
        ),
    ],
    ids=words,
)
def test_a_feed_that_breaks_a_rule_is_refused(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, FEED_FILE, case)


@pytest.mark.parametrize(
    "case",
    [
        (
            "client.id: shop",
            "sasl.password: hunter2",
            6,
            'kafka.client["sasl.password"]',
            "say `login` instead",
        ),
    ],
    ids=words,
)
def test_a_deployment_with_a_secret_is_refused(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, DEPLOYMENT_FILE, case)


@pytest.mark.parametrize(
    "case",
    [
        (
            "shops: DataFrame",
            "shops: DataFrame, more: DataFrame",
            4,
            "static",
            "takes 'more', which is no static input",
        ),
        ("orders: DataFrame,", "orders: DataFrame, other: DataFrame,", 3, "transform", "its one positional parameter"),
        ("*, shops: DataFrame", "*all, shops: DataFrame", 3, "transform", "its one positional parameter"),
    ],
    ids=words,
)
def test_a_transform_that_does_not_fit_is_refused_at_the_pipelines_line(bench: Bench, case: Case) -> None:
    assert_one_fault(bench, TRANSFORM_FILE, case, shown=PIPELINE_FILE)


def test_two_pipelines_on_one_table_are_both_refused(bench: Bench) -> None:
    second = (bench.home / PIPELINE_FILE).read_text().replace("name: sales", "name: again")
    bench.write("include/pipelines/again.yaml", second)
    found = bench.scan()
    assert [(fault.file, fault.where) for fault in found.faults] == [
        ("include/pipelines/again.yaml", "output.table"),
        (PIPELINE_FILE, "output.table"),
    ]
    assert found.catalog.pipelines == {}


def test_a_pipeline_must_not_take_the_name_of_a_raw_stream(bench: Bench) -> None:
    second = (
        (bench.home / PIPELINE_FILE)
        .read_text()
        .replace("name: sales", "name: raw_orders")
        .replace("table: sales", "table: b")
    )
    bench.write("include/pipelines/raw_orders.yaml", second.replace("table: sales", "table: b"))
    (fault,) = bench.scan().faults
    assert str(fault).startswith(
        "include/pipelines/raw_orders.yaml:1: name: 'raw_orders' is already the name of the raw stream"
    )


def test_pipelines_of_one_driver_must_want_the_same_process(bench: Bench) -> None:
    second = (bench.home / PIPELINE_FILE).read_text().replace("name: sales", "name: totals")
    second = second.replace("table: sales", "table: b").replace('"4"', '"8"')
    bench.write("include/pipelines/totals.yaml", second)
    (fault,) = bench.scan().faults
    assert (fault.file, fault.line, fault.where) == ("include/pipelines/totals.yaml", 17, "spark")
    bench.edit("include/pipelines/totals.yaml", "driver: shop", "driver: other")
    assert bench.scan().faults == ()


def test_a_static_input_that_the_transform_calls_otherwise_is_one_mistake(bench: Bench) -> None:
    bench.edit(TRANSFORM_FILE, "shops: DataFrame", "stores: DataFrame")
    (fault,) = bench.scan().faults
    assert (fault.line, fault.where) == (5, "static.shops")
    assert fault.message == "sales takes the static input 'stores', and this one is named 'shops'."


def test_static_inputs_that_only_one_side_has_are_refused_on_both(bench: Bench) -> None:
    bench.edit(TRANSFORM_FILE, "shops: DataFrame", "stores: DataFrame, towns: DataFrame")
    *taken, declared = bench.scan().faults
    assert [(fault.line, fault.where) for fault in taken] == [(4, "static"), (4, "static")]
    assert "takes 'stores', which is no static input" in taken[0].message
    assert (declared.line, declared.where) == (5, "static.shops")
    assert "no keyword-only parameter 'shops'; it takes stores, towns." in declared.message


def test_another_fault_of_a_spec_hides_no_reference_that_leads_nowhere(bench: Bench) -> None:
    bench.edit(PIPELINE_FILE, "source: orders", "source: ordres")
    bench.edit(PIPELINE_FILE, "allowed_lateness: 1 hour", "allowed_lateness: 1 fortnight")
    assert [(fault.line, fault.where) for fault in bench.scan().faults] == [(2, "source"), (9, "time.allowed_lateness")]
