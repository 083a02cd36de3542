from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.capacity.costs import CostReading, DayCost, PipelineCost, Work, driver_shares, pipeline_costs
from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.deployments.prices import Prices
from sluice.specs.load import load_catalog

DAY = date(2026, 11, 1)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(settings().home / "include")


def test_a_driver_is_borne_by_its_pipelines_as_their_streams_read(catalog: Catalog) -> None:
    unit = catalog.units()["flights"]
    assert unit.streams[0] == "raw_flights"
    shares = driver_shares(unit, {"raw_flights": 60, unit.pipelines[0]: 40}, catalog)
    readers = [pipeline.name for pipeline in catalog.readers["flights"]]
    assert shares[unit.pipelines[0]] == pytest.approx(0.4 + 0.6 / len(readers))
    assert sum(shares.values()) == pytest.approx(1)


def test_a_raw_stream_is_borne_in_equal_parts_also_by_pipelines_of_other_drivers(catalog: Catalog) -> None:
    departures = catalog.pipelines["departures"]
    other = departures.model_copy(update={"name": "delays", "driver": "delays"})
    both = replace(catalog, pipelines={"departures": departures, "delays": other})
    shares = driver_shares(both.units()["flights"], {"raw_flights": 60, "departures": 40}, both)
    assert shares == pytest.approx({"departures": 0.7, "delays": 0.3})


@given(reads=st.dictionaries(st.sampled_from(["raw_flights", "departures", "departures_live", "x"]), st.integers(-5)))
def test_shares_are_always_one_altogether(reads: dict[str, int]) -> None:
    catalog = load_catalog(settings().home / "include")
    for unit in catalog.units().values():
        shares = driver_shares(unit, reads, catalog)
        assert sum(shares.values()) == pytest.approx(1)
        assert all(share >= 0 for share in shares.values())


def test_a_raw_stream_without_a_reader_bears_its_own_name() -> None:
    whole = load_catalog(settings().home / "include")
    alone = Catalog(topics={"flights": whole.topics["flights"]})
    (unit,) = alone.units().values()
    assert driver_shares(unit, {}, alone) == {"raw_flights": 1.0}


def test_a_day_has_drivers_executors_backfills_and_checks(catalog: Catalog) -> None:
    readings = [
        CostReading("flights#1", Work.DRIVER, "flights", 100.0, 20.0),
        CostReading("flights#2", Work.DRIVER, "flights", 10.0),
        CostReading("b1", Work.BACKFILL, "departures", 30.0, 5.0),
        CostReading("q1", Work.QUALITY, "departures", 3.0),
        CostReading("q2", Work.QUALITY, "gone", 2.0),
    ]
    costs = pipeline_costs([DayCost(DAY, reading) for reading in readings], catalog)
    by_name = {cost.pipeline: cost for cost in costs}
    departures = by_name["departures"].seconds
    share = driver_shares(catalog.units()["flights"], {}, catalog)["departures"]
    assert departures == pytest.approx(
        {"driver": 110 * share, "executors": 20 * share + 5, "backfill": 30.0, "quality": 3.0}
    )
    assert by_name["gone"].seconds == {"quality": 2.0}
    assert sum(cost.total for cost in costs) == pytest.approx(170)


def test_what_no_spec_declares_any_more_is_under_its_own_name() -> None:
    (cost,) = pipeline_costs([DayCost(DAY, CostReading("old#1", Work.DRIVER, "old", 5.0))], Catalog())
    assert (cost.pipeline, cost.total) == ("old", 5.0)


def test_money_needs_a_price() -> None:
    cost = PipelineCost("departures", DAY, {"driver": 3600.0, "backfill": 1800.0})
    assert cost.money(Prices(currency="EUR", core_hour=0.04)) == pytest.approx(0.06)
    assert cost.money(Prices(currency="EUR")) is None
    assert cost.money(None) is None
