"""An example as it is demonstrated: its driver runs, its pages are served, and its feeds go at a pace."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.cli.feed import open_project_feed
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.feeds.side_by_side import send_side_by_side
from sluice.project.project import Project
from sluice.specs.catalog.streams import live_stream
from tests.integration.serving import running_serve
from tests.integration.spark.conftest import DriverPlace, RunningDriver
from tests.scenarios.example_place import prepared


@dataclass
class LiveExample:
    """One example.

    Attributes:
        place: its project and state.
        project: the same, opened.
        driver: of its unit.
        address: of `sluice serve`.
    """

    place: DriverPlace
    project: Project
    driver: RunningDriver
    address: str

    @property
    def pages(self) -> dict[str, str]:
        """The address of each page, by pipeline."""
        declared = [name for name, pipeline in self.project.catalog.pipelines.items() if pipeline.page is not None]
        return {name: f"{self.address}/{name}" for name in declared}

    def has_run_a_batch(self) -> bool:
        """Whether each of its live streams has: the first one takes long, on whatever it is."""
        pipelines = [each for each in self.project.catalog.pipelines.values() if each.side_outputs]
        streams = [live_stream(each) or each.name for each in pipelines]
        return all((self.place.state / "checkpoints" / name / "commits" / "0").exists() for name in streams)

    @contextmanager
    def feeding(self, seconds: float) -> Iterator[None]:
        """Send all feeds in so many seconds while the block runs, and wait for their end; a failure is raised."""
        with ExitStack() as opened:
            feeds = [opened.enter_context(open_project_feed(self.project, name)) for name in self.project.catalog.feeds]
            sending = opened.enter_context(ThreadPoolExecutor(1)).submit(send_side_by_side, feeds, seconds)
            yield
            sending.result()


@contextmanager
def live_example(
    name: str, folder: Path, broker: BrokerProcess, connections: Mapping[str, Mapping[str, Any]] | None = None
) -> Iterator[LiveExample]:
    """Run an example whose topics are empty.

    Args:
        name: the example's.
        folder: an empty folder.
        broker: without its topics.
        connections: of Airflow, by id: the services that its alerts go to, all of them in each policy.
    """
    place = prepared(name, folder, broker)
    if connections:
        _notify(place, connections)
    variables = {**place.environment(), "PYTHONPATH": os.pathsep.join(sys.path)}
    with place.driver(1) as driver, running_serve(place.state, variables, connections) as address:
        example = LiveExample(place, place.project(), driver, address)
        driver.eventually(example.has_run_a_batch, "has run a batch of each live stream")
        yield example


def _notify(place: DriverPlace, connections: Mapping[str, Mapping[str, Any]]) -> None:
    channels = "".join(f"  {name}: {{connection: {name}}}\n" for name in connections)
    policy = f"name: local\nchannels:\n{channels}rules:\n  - notify: [{', '.join(connections)}]\n"
    file = place.home / "include" / "alerts" / "local.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(policy)
