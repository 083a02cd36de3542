from __future__ import annotations

from dataclasses import replace

import pytest

from sluice.settings import settings
from sluice.specs.catalog.catalog import Catalog
from sluice.specs.catalog.needs import application_of, need_of, need_of_batch, resources_of
from sluice.specs.load import load_catalog
from sluice.specs.model.resources import CoreRange, Resources


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(settings().home / "include")


def test_a_unit_needs_a_core_for_each_of_its_streams_within_what_its_spec_allows(catalog: Catalog) -> None:
    need, unit = need_of(catalog, "local", "flights"), catalog.units()["flights"]
    assert need is not None
    most = catalog.pipelines["departures"].resources
    assert (need.cores, need.executor_mb) == (min(len(unit.streams), most.least_cores), most.executor_mb)
    assert need.requested_for == unit.streams
    assert need.application == application_of("local", "flights") == "sluice-local-flights"


def test_a_unit_and_a_batch_need_executors_of_the_size_that_the_spec_says(catalog: Catalog) -> None:
    spec = catalog.pipelines["departures"]
    sized = spec.model_copy(update={"resources": Resources(cores=4, executor_cores=2)})
    changed = replace(catalog, pipelines={**catalog.pipelines, spec.name: sized})
    need = need_of(changed, "local", "flights")
    assert need is not None
    assert (need.executor_cores, need_of_batch(sized, "a").executor_cores, need_of_batch(spec, "a").executor_cores) == (
        *(2, 2),
        None,
    )


def test_a_unit_that_grows_needs_its_least_at_most(catalog: Catalog) -> None:
    spec = catalog.pipelines["departures"]

    def changed(cores: CoreRange) -> Catalog:
        grown = spec.model_copy(update={"resources": Resources(cores=cores)})
        return replace(catalog, pipelines={**catalog.pipelines, spec.name: grown})

    one = need_of(changed(CoreRange(least=1, most=8)), "local", "flights")
    assert one is not None
    assert (one.cores, one.executor_cores) == (1, 1)
    many = changed(CoreRange(least=4, most=8))
    need = need_of(many, "local", "flights")
    assert need is not None
    assert need.cores == len(catalog.units()["flights"].streams)


def test_of_several_pipelines_the_one_that_may_have_most_counts(catalog: Catalog) -> None:
    spec, unit = catalog.pipelines["departures"], replace(catalog.units()["flights"], pipelines=("few", "many"))
    few, many = Resources(cores=4), Resources(cores=CoreRange(least=1, most=8))
    pipelines = {name: spec.model_copy(update={"resources": each}) for name, each in (("few", few), ("many", many))}
    assert resources_of(replace(catalog, pipelines=pipelines), unit) == many


def test_a_unit_that_no_spec_names_needs_nothing_that_is_known(catalog: Catalog) -> None:
    assert need_of(catalog, "local", "nobody") is None


def test_a_unit_has_the_largest_resources_of_its_pipelines(catalog: Catalog) -> None:
    assert resources_of(catalog, catalog.units()["flights"]) == catalog.pipelines["departures"].resources


def test_a_batch_needs_one_core(catalog: Catalog) -> None:
    assert need_of_batch(catalog.pipelines["departures"], "sluice-backfill-departures").cores == 1
