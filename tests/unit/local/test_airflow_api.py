"""What the command line asks of Airflow's REST API."""

from __future__ import annotations

import json

import httpx

from sluice.local.airflow_api import AirflowApi


class Pools:
    """A web server that has pools."""

    def __init__(self, **pools: int) -> None:
        self.pools = pools

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/api/v2/pools"
        if request.method == "POST":
            asked = json.loads(request.content)
            self.pools[asked["name"]] = asked["slots"]
            return httpx.Response(201, json=asked)
        pattern = request.url.params["pool_name_pattern"]
        return httpx.Response(200, json={"pools": [{"name": name} for name in self.pools if pattern in name]})


def ensure(pools: Pools) -> None:
    AirflowApi("http://airflow", transport=httpx.MockTransport(pools)).ensure_pool("spark_batch", 1, "Spark")


def test_a_pool_that_is_missing_is_created_also_beside_one_of_a_similar_name() -> None:
    pools = Pools(default_pool=128, spark_batch_large=4)
    ensure(pools)

    assert pools.pools == {"default_pool": 128, "spark_batch_large": 4, "spark_batch": 1}


def test_a_pool_keeps_the_size_that_somebody_gave_it() -> None:
    pools = Pools(spark_batch=3)
    ensure(pools)

    assert pools.pools == {"spark_batch": 3}
