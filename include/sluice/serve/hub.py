"""The outputs that are served: one follower for each, made anew when its spec changes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from sluice.clock import Clock
from sluice.live.follower import Follower
from sluice.live.rules import RuleEvent, RuleWatch
from sluice.live.source import LiveSource
from sluice.live.values import Key, LiveValues
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.serve.bell import Bell
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.specs.model.data_alerts import DataAlert
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput, TopicOutput
from sluice.specs.rules.output_rules import live_outputs

log = logging.getLogger(__name__)

LiveOutput = LatestOutput | TopicOutput
OpenSource = Callable[[Project, LiveOutput], LiveSource]
Tell = Callable[[PipelineSpec, RuleEvent], None]
Known = Callable[[PipelineSpec], Mapping[str, Iterable[Key]]]

_LOOK_SECONDS = 10.0


@dataclass
class Live:
    """One output that is served.

    Attributes:
        pipeline: its pipeline.
        name: its table or topic.
        output: its spec.
        follower: reads it.
        bell: rings when something has changed.
    """

    pipeline: PipelineSpec
    name: str
    output: LiveOutput
    follower: Follower
    bell: Bell

    @property
    def dag_id(self) -> str:
        """The DAG whose readers may see it."""
        return stream_dag_id(self.pipeline.driver)

    @property
    def rules(self) -> list[DataAlert]:
        """The rules about it."""
        return rules_of(self.pipeline, self.name)


@dataclass
class Hub:
    """Follows every live output of a project.

    Attributes:
        fresh: gives the project.
        open_source: opens the source of an output.
        tell: takes what is to be told of a pipeline.
        known: returns what of a pipeline was told and is not over, by rule.
        clock: gives the time.
    """

    fresh: ReloadingProject
    open_source: OpenSource
    tell: Tell
    known: Known
    clock: Clock
    _lives: dict[tuple[str, str], tuple[str, Live]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._look, name="sluice-live-specs", daemon=True)

    def start(self) -> None:
        """Follow what there is, and what comes."""
        self.look()
        self._thread.start()

    def stop(self) -> None:
        """Follow nothing any more."""
        self._stopped.set()
        with self._lock:
            lives, self._lives = self._lives, {}
        for _, live in lives.values():
            live.follower.stop()

    def lives(self) -> list[Live]:
        """Return all, by name."""
        with self._lock:
            return [live for _, (_, live) in sorted(self._lives.items())]

    def find(self, pipeline: str, output: str) -> Live | None:
        """Return one; None if there is none."""
        with self._lock:
            found = self._lives.get((pipeline, output))
        return None if found is None else found[1]

    def look(self) -> None:
        """Follow what the specs say now. What has not changed is left alone."""
        project = self.fresh.current()
        wanted = {
            (pipeline.name, name): (pipeline, output, _meaning(pipeline, name, output))
            for pipeline in project.catalog.pipelines.values()
            for name, output in live_outputs(pipeline).items()
        }
        with self._lock:
            ended = [
                self._lives.pop(key)[1]
                for key, (meaning, _) in list(self._lives.items())
                if key not in wanted or wanted[key][2] != meaning
            ]
        for live in ended:
            live.follower.stop()
            live.bell.ring()
        for key, (pipeline, output, meaning) in wanted.items():
            if key not in self._lives and not self._stopped.is_set():
                live = self._make(pipeline, key[1], output)
                with self._lock:
                    self._lives[key] = meaning, live
                live.follower.start()

    def _make(self, pipeline: PipelineSpec, name: str, output: LiveOutput) -> Live:
        rules, bell = rules_of(pipeline, name), Bell()
        follower = Follower(
            name=f"{pipeline.name}/{name}",
            open_source=lambda: self.open_source(self.fresh.current(), output),
            values=LiveValues(output.keys),
            rules=RuleWatch(rules, self.known(pipeline) if rules else {}),
            tell=lambda notice: self.tell(pipeline, notice),
            wake=bell.ring,
            clock=self.clock,
        )
        return Live(pipeline, name, output, follower, bell)

    def _look(self) -> None:
        while not self._stopped.wait(_LOOK_SECONDS):
            try:
                self.look()
            except Exception:
                log.warning("The specs could not be read; what is served stays as it was.", exc_info=True)


def rules_of(pipeline: PipelineSpec, output: str) -> list[DataAlert]:
    """Return the rules about an output."""
    return [rule for rule in pipeline.alerts if rule.output == output]


def _meaning(pipeline: PipelineSpec, name: str, output: LiveOutput) -> str:
    rules = ",".join(rule.model_dump_json() for rule in rules_of(pipeline, name))
    return f"{pipeline.driver} {output.model_dump_json()} {rules}"
