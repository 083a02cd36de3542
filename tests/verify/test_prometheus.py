"""A real Prometheus scrapes the console, evaluates the rules and calls for what is wrong. It is a package of Debian."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from sluice.clock import SystemClock
from sluice.launch.ports import HOST
from sluice.launch.processes import wait_until
from sluice.settings import PACKAGE
from tests.integration.brokers import free_ports
from tests.twins.console_fleet import HALTED, LAGGING, STALLED, build_fleet, pipeline_of, unit_of
from tests.twins.console_server import served
from tests.waiting import eventually

pytestmark = [pytest.mark.verify, pytest.mark.timeout(300)]

OBSERVABILITY = PACKAGE / "observability"

WRONG = {
    *("SluiceStreamHalted", "SluiceStreamStalled", "SluiceStreamLagging", "SluiceStreamStopped"),
    "SluiceIntervalsDirty",
    *("SluiceErrorBudgetBurnsFast", "SluiceErrorBudgetBurns"),
}
"""What must be called for, in whichever order its rules are evaluated."""


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one over the console of a fleet, with the shipped rules, evaluated every second."""
    program = shutil.which("prometheus")
    assert program, "this test needs Prometheus: apt-get install prometheus"
    folder = tmp_path_factory.mktemp("prometheus")
    fleet = build_fleet(folder / "fleet", 12, SystemClock())
    shutil.copy(OBSERVABILITY / "rules.yaml", folder)
    with served(fleet) as address:
        config = yaml.safe_load((OBSERVABILITY / "prometheus.yaml").read_text())
        (job,) = config["scrape_configs"] = [job for job in config["scrape_configs"] if job["job_name"] == "sluice"]
        del job["authorization"], job["tls_config"]  # on this machine alone nobody is asked
        job |= {"scheme": "http", "metrics_path": "/metrics", "scrape_interval": "1s"}
        job["static_configs"] = [{"targets": [urllib.parse.urlsplit(address).netloc]}]
        config["global"] = {"evaluation_interval": "1s"}
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        (port,) = free_ports(1)
        options = [f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data"]
        process = subprocess.Popen(
            [program, *options, f"--web.listen-address={HOST}:{port}", "--log.level=error"], cwd=folder
        )
        try:
            yield f"http://{HOST}:{port}"
        finally:
            process.terminate()
            process.wait(20)


def asked(address: str, path: str, **query: str) -> Any:  # noqa: ANN401 - JSON
    try:
        with urllib.request.urlopen(f"{address}/api/v1/{path}?{urllib.parse.urlencode(query)}") as answer:  # noqa: S310
            return json.load(answer)["data"]
    except OSError:
        return {}


def test_the_scrape_is_up_and_values_can_be_asked(prometheus: str) -> None:
    def halted() -> list[str]:
        found = asked(prometheus, "query", query="sluice_unit_halted == 1")
        return [result["metric"]["unit"] for result in found.get("result", ())]

    eventually(lambda: halted() == [unit_of(HALTED)])
    up = asked(prometheus, "query", query="up")["result"]
    assert [result["value"][1] for result in up] == ["1"]


def test_the_rules_call_for_what_is_wrong_and_for_nothing_else(prometheus: str) -> None:
    def calling() -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for alert in asked(prometheus, "alerts").get("alerts", ()):
            labels = alert["labels"]
            about = labels.get("stream") or labels.get("unit") or labels.get("pipeline") or ""
            found.setdefault(labels["alertname"], set()).add(about)
        return found

    assert wait_until(lambda: calling().keys() >= WRONG, SystemClock(), deadline_seconds=120), calling()
    found = calling()
    assert found["SluiceStreamHalted"] == {unit_of(HALTED)}
    assert pipeline_of(STALLED) in found["SluiceStreamStalled"]
    assert pipeline_of(LAGGING) in found["SluiceStreamLagging"]
    assert pipeline_of(HALTED) in found["SluiceStreamStopped"]
    assert len(found["SluiceIntervalsDirty"]) == 12
    assert found["SluiceErrorBudgetBurnsFast"] == found["SluiceErrorBudgetBurns"] == {pipeline_of(STALLED)}
    assert found.keys() <= {*WRONG, "SluiceStreamUnknown", "SluiceNotObserved", "SluiceCasesOpen"}
    rules = asked(prometheus, "rules")["groups"][0]["rules"]
    assert {rule["health"] for rule in rules} == {"ok"}
