"""The outputs that are served: one follower for each, replaced when its spec changes."""

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
from sluice.serve.change_signal import ChangeSignal
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.specs.model.data_alerts import DataAlert
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.outputs import LatestOutput, TopicOutput
from sluice.specs.rules.output_rules import live_outputs

log = logging.getLogger(__name__)

LiveOutput = LatestOutput | TopicOutput
OpenSource = Callable[[Project, LiveOutput], LiveSource]
Notify = Callable[[PipelineSpec, RuleEvent], None]
Known = Callable[[PipelineSpec], Mapping[str, Iterable[Key]]]

_REFRESH_SECONDS = 10.0


@dataclass
class Live:
    """One output that is served.

    Attributes:
        pipeline: its pipeline.
        name: its table or topic.
        output: its spec.
        follower: reads it.
        changes: notifies when a value has changed.
    """

    pipeline: PipelineSpec
    name: str
    output: LiveOutput
    follower: Follower
    changes: ChangeSignal

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
        notify: takes transitions of a pipeline's rules.
        known: returns the keys with an open alert of a pipeline, by rule.
        clock: gives the time.
        pipelines: the specs as they were when outputs were last compared with them, by name.
    """

    fresh: ReloadingProject
    open_source: OpenSource
    notify: Notify
    known: Known
    clock: Clock
    pipelines: Mapping[str, PipelineSpec] = field(default_factory=dict)
    _lives: dict[tuple[str, str], tuple[str, Live]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._refresh_forever, name="sluice-live-specs", daemon=True)

    def start(self) -> None:
        """Follow all live outputs, and those that specs declare later."""
        self.refresh()
        self._thread.start()

    def stop(self) -> None:
        """Stop all followers."""
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
            known = self._lives.get((pipeline, output))
        return None if known is None else known[1]

    def refresh(self) -> None:
        """Follow the outputs that the specs declare now. Unchanged ones are not touched."""
        project = self.fresh.current()
        wanted = {
            (pipeline.name, name): (pipeline, output, _meaning(pipeline, name, output))
            for pipeline in project.catalog.pipelines.values()
            for name, output in live_outputs(pipeline).items()
        }
        self.pipelines = dict(project.catalog.pipelines)
        with self._lock:
            ended = [
                self._lives.pop(key)[1]
                for key, (meaning, _) in list(self._lives.items())
                if key not in wanted or wanted[key][2] != meaning
            ]
        for live in ended:
            live.follower.stop()
            live.changes.notify_all()
        for key, (pipeline, output, meaning) in wanted.items():
            if key not in self._lives and not self._stopped.is_set():
                live = self._make(pipeline, key[1], output)
                with self._lock:
                    self._lives[key] = meaning, live
                live.follower.start()

    def _make(self, pipeline: PipelineSpec, name: str, output: LiveOutput) -> Live:
        rules, changes = rules_of(pipeline, name), ChangeSignal()
        follower = Follower(
            name=f"{pipeline.name}/{name}",
            open_source=lambda: self.open_source(self.fresh.current(), output),
            values=LiveValues(output.keys),
            rules=RuleWatch(rules, self.known(pipeline) if rules else {}),
            notify=lambda event: self.notify(pipeline, event),
            wake=changes.notify_all,
            clock=self.clock,
        )
        return Live(pipeline, name, output, follower, changes)

    def _refresh_forever(self) -> None:
        while not self._stopped.wait(_REFRESH_SECONDS):
            try:
                self.refresh()
            except Exception:
                log.warning("The specs could not be read; what is served stays as it was.", exc_info=True)


def rules_of(pipeline: PipelineSpec, output: str) -> list[DataAlert]:
    """Return the rules about an output."""
    return [rule for rule in pipeline.alerts if rule.output == output]


def _meaning(pipeline: PipelineSpec, name: str, output: LiveOutput) -> str:
    rules = ",".join(rule.model_dump_json() for rule in rules_of(pipeline, name))
    return f"{pipeline.driver} {output.model_dump_json()} {rules}"
