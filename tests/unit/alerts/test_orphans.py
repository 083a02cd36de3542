"""What is over because no spec declares it any more."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sluice.alerts.delivery import AlertHistory
from sluice.alerts.incidents import open_incidents
from sluice.alerts.orphans import orphaned
from sluice.settings import Settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.mirror import MirrorSpec
from sluice.specs.load import load_catalog
from sluice.specs.model.alerting import AlertClass
from sluice.specs.model.deadlines import Objective
from tests.unit.alerts.examples import make_alert
from tests.unit.serve.conftest import RULE, with_rules

DECLARED = load_catalog(Settings().home / "include")
WITH_RULES = Catalog(DECLARED.topics, {**DECLARED.pipelines, "departures": with_rules(RULE)})
GONE = Catalog()

OURS = [
    {"subject": "stream departures", "dag_id": "stream_flights", "alert_class": AlertClass.STALLED},
    {
        "subject": "stream departures, deadline loss_risk",
        "dag_id": "stream_flights",
        "alert_class": AlertClass.DEADLINE,
    },
    {"subject": "unit flights", "dag_id": "stream_flights", "alert_class": AlertClass.HALTED},
    {"dag_id": "stream_flights"},
    {"dag_id": "backfill_departures"},
    {"dag_id": "quality_departures", "alert_class": AlertClass.GATE},
    {"subject": 'pipeline departures, alert long_delays ["JFK"]', "dag_id": "", "alert_class": AlertClass.DATA},
]
ALWAYS = [
    {"dag_id": "topics"},
    {"dag_id": "reconcile_streams"},
    {"dag_id": "keep_mirrors"},
    {"subject": "topic flights", "dag_id": "topic_drift", "alert_class": AlertClass.DRIFT},
    {"subject": "plan 3f", "dag_id": "topics", "alert_class": AlertClass.APPROVAL},
    {"dag_id": ""},
]


def over(catalog: Catalog, *alive: str, **fields: object) -> bool:
    incidents = open_incidents(AlertHistory((make_alert("a1", **fields),), {}))
    return set(orphaned(incidents.values(), catalog, alive)) == set(incidents)


@pytest.mark.parametrize("fields", OURS)
def test_what_is_declared_is_not_over_and_what_is_declared_no_more_is(fields: dict[str, object]) -> None:
    assert not over(WITH_RULES, **fields)
    assert over(GONE, **fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"subject": "mirror standby", "dag_id": "keep_mirrors", "alert_class": AlertClass.DEADLINE},
        {"dag_id": "mirror_standby"},
    ],
)
def test_a_mirror_that_was_removed_is_over(fields: dict[str, object]) -> None:
    mirror = MirrorSpec(name="standby", source="local", target="compose", topics=("flights",))
    assert not over(Catalog(mirrors={"standby": mirror}), **fields)
    assert over(GONE, **fields)


def test_a_rule_that_was_removed_from_its_pipeline_is_over() -> None:
    assert over(DECLARED, **OURS[-1])


def test_an_error_budget_is_of_an_output_with_an_objective() -> None:
    burns = {"subject": "output departures/departures", "dag_id": "", "alert_class": AlertClass.FAST_BURN}
    assert over(DECLARED, **burns)
    departures = DECLARED.pipelines["departures"]
    promised = departures.model_copy(update={"objective": Objective(share=Decimal("99.9"))})
    assert not over(Catalog(DECLARED.topics, {"departures": promised}), **burns)


def test_a_deadline_that_its_stream_has_no_more_is_over() -> None:
    assert over(DECLARED, **{**OURS[1], "subject": "stream departures, deadline lag_records"})


@pytest.mark.parametrize("fields", ALWAYS)
def test_what_no_spec_declares_by_itself_is_left_to_whoever_observes_it(fields: dict[str, object]) -> None:
    assert not over(GONE, **fields)


def test_a_unit_whose_driver_may_live_is_somebodys_concern_without_a_spec() -> None:
    assert not over(GONE, "flights", **OURS[0])
