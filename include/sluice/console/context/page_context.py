"""The context of every page: the current project, what starts runs, and the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any, Protocol, cast

from fastapi import Depends, Request
from fastapi import Path as PathParameter

from sluice.clock import Clock
from sluice.console.context.background_cache import BackgroundCache
from sluice.console.context.topic_snapshot import TopicSnapshot, take_topic_snapshot
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.specs.model.spec import NAME_PATTERN

_TOPICS_EVERY = timedelta(seconds=15)
_CODE_SECONDS = 30.0


class ConsoleCommand(StrEnum):
    """The actions on a unit, as in the form of its DAG."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"
    RESUME = "resume"


class DagRunner(Protocol):
    """The port to what starts runs of DAGs on behalf of visitors; the console itself runs nothing."""

    def run(self, dag_id: str, form: Mapping[str, Any], *, by: str) -> str:
        """Start a run with a filled form, and return its id.

        Raises:
            RefusedError: there is no such DAG, or it does not take this form.
        """
        ...


@dataclass
class ConsoleContext:
    """The parts of one application.

    Attributes:
        fresh: gives the project.
        runner: starts the runs that visitors request; None: there are no actions.
        clock: gives the time.
        topics: the newest state of the topics, which no page waits for.
    """

    fresh: ReloadingProject
    runner: DagRunner | None
    clock: Clock
    topics: BackgroundCache[TopicSnapshot] = field(init=False)
    _codes: dict[str, tuple[Project, float, str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare the caches between two pages."""
        self.topics = BackgroundCache(lambda: take_topic_snapshot(self.project), self.clock, _TOPICS_EVERY)

    def code_of(self, pipeline: str) -> str:
        """Return the hash of a pipeline's code; a recent one is not computed again."""
        project, now = self.project, self.clock.monotonic()
        known = self._codes.get(pipeline)
        if known is None or known[0] is not project or now - known[1] > _CODE_SECONDS:
            known = self._codes[pipeline] = (project, now, project.code_of(pipeline))
        return known[2]

    @property
    def project(self) -> Project:
        """The project as its specs are now."""
        return self.fresh.current()


def _page_context(request: Request) -> ConsoleContext:
    return cast(ConsoleContext, request.app.state.context)


ContextDep = Annotated[ConsoleContext, Depends(_page_context)]
SpecName = Annotated[str, PathParameter(pattern=NAME_PATTERN)]
"""The name of a pipeline, a stream or a unit in a path."""
