"""The pages of pipelines: each panel is rendered once for all who look, when its output has changed."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TypeAlias

from sluice.clock import Clock
from sluice.live.values import MAX_VALUES
from sluice.serve.change_signal import ChangeSignal
from sluice.serve.hub import Hub, Live
from sluice.serve.panel_html import PanelSource, panel_html
from sluice.serve.panels.panel import panel_view
from sluice.specs.catalog.dag_ids import stream_dag_id
from sluice.specs.model.model import PipelineSpec
from sluice.specs.model.pages import PageSpec, Panel

log = logging.getLogger(__name__)

RENDER_SECONDS = 1.0
"""A page is rendered so often at most."""
_SHARE = 2
"""A page that takes long rests as long as it took: what is read and served has the processor, too."""
_CHECK_SECONDS = 5.0
"""How soon is seen what nothing notifies of: an output that is read again without a change, or followed again."""

_OutputState: TypeAlias = tuple[object, ...]
"""What a panel was rendered of: while it is the same, so is the panel."""


@dataclass
class RenderedPanel:
    """A panel as HTML.

    Attributes:
        html: all of it.
        number: of the change of the page that brought it.
    """

    html: str
    number: int
    state: _OutputState = field(repr=False)


class ServedPage:
    """One page that is served. Its panels are rendered in any thread; listeners live in one event loop."""

    def __init__(self, pipeline: PipelineSpec, page: PageSpec, pages: Pages, clock: Clock) -> None:
        self.pipeline = pipeline.name
        self.title = page.title or pipeline.name
        self.dag_id = stream_dag_id(pipeline.driver)
        self.origin = token_hex(4)
        self.digest = digest_of(pipeline, page)
        self.changes = ChangeSignal()
        self.ended = False
        self.panels: Sequence[Panel] = page.panels
        self._pages = pages
        self._clock = clock
        self._rendered: list[RenderedPanel | None] = [None] * len(page.panels)
        self._number = 0
        self._due_at = self._clock.monotonic()
        self._rendering = threading.Lock()
        self._lock = threading.Lock()  # of what is rendered; held for moments, also in the event loop
        self._listeners = 0
        self._driver: asyncio.Task[None] | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs that it shows."""
        return tuple(dict.fromkeys(panel.output for panel in self.panels))

    def refresh(self) -> float:
        """Render the panels whose output has changed; return after how many seconds that is possible again, or 0.

        Only what returns 0 has rendered.
        """
        with self._rendering:
            now = self._clock.monotonic()
            if now < self._due_at:
                return self._due_at - now
            changed = [place for place, panel in enumerate(self.panels) if self._stale(place, panel)]
            for place in changed:
                self._render(place, self.panels[place])
            if changed:
                self._due_at = now + max(RENDER_SECONDS, _SHARE * (self._clock.monotonic() - now))
            return 0.0

    def since(self, number: int) -> tuple[list[tuple[int, str]], int]:
        """Return the panels that changed after a number, by their places, and the number of the newest change."""
        with self._lock:
            known = enumerate(self._rendered)
            return [(place, each.html) for place, each in known if each and each.number > number], self._number

    def end(self) -> None:
        """Let all listeners know that the page is no longer served like this."""
        self.ended = True
        self.changes.notify_all()

    def attach(self) -> None:
        """Count a listener; while there is one, what changes is rendered."""
        self._listeners += 1
        if self._driver is None or self._driver.done():
            self._driver = asyncio.create_task(self._drive(), name=f"sluice-page-{self.pipeline}")

    def detach(self) -> None:
        """Count a listener out."""
        self._listeners -= 1
        if self._listeners <= 0 and self._driver is not None:
            self._driver.cancel()
            self._driver = None

    def _find(self, output: str) -> Live | None:
        return self._pages.hub.find(self.pipeline, output)

    def _stale(self, place: int, panel: Panel) -> bool:
        rendered = self._rendered[place]
        return rendered is None or rendered.state != _state(self._find(panel.output))

    def _render(self, place: int, panel: Panel) -> None:
        live = self._find(panel.output)
        state = _state(live)  # before the values are read: what changes meanwhile is rendered again
        try:
            rows = [] if live is None else live.follower.values.find({}, MAX_VALUES)[0]
            html = panel_html(place, panel, panel_view(panel, rows), self.pipeline, _source(live))
        except Exception:
            log.exception("The panel %r of %s could not be rendered.", panel.title, self.pipeline)
            html = panel_html(place, panel, None, self.pipeline, PanelSource())
        before = self._rendered[place]
        with self._lock:
            if before is not None and before.html == html:
                before.state = state
            else:
                self._number += 1
                self._rendered[place] = RenderedPanel(html, self._number, state)

    async def _drive(self) -> None:
        woken = asyncio.Event()
        subscribed: list[ChangeSignal] = []
        try:
            while not self.ended:
                woken.clear()
                self._pages.find(self.pipeline)  # a changed spec ends this page
                signals = [live.changes for live in map(self._find, self.outputs) if live is not None]
                for signal in (each for each in signals if each not in subscribed):
                    signal.subscribe(woken)
                for signal in (each for each in subscribed if each not in signals):
                    signal.unsubscribe(woken)
                subscribed = signals
                before = self._number
                pause = await asyncio.to_thread(self.refresh)
                if self._number != before:
                    self.changes.notify_all()
                if pause:  # rendered a moment ago, for somebody who has opened it
                    await asyncio.sleep(pause)
                else:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(woken.wait(), _CHECK_SECONDS)
        finally:
            for signal in subscribed:
                signal.unsubscribe(woken)


class Pages:
    """The pages of a hub's pipelines, by the name of the pipeline; a changed spec is another page."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self._pages: dict[str, ServedPage] = {}
        self._lock = threading.Lock()

    def find(self, name: str) -> ServedPage | None:
        """Return the page of a pipeline as its spec is now; None if it has none."""
        pipeline = self.hub.pipelines.get(name)
        with self._lock:
            known = self._pages.get(name)
            if pipeline is None or pipeline.page is None:
                return self._replace(name, known, None)
            if known is not None and known.digest == digest_of(pipeline, pipeline.page):
                return known
            return self._replace(name, known, ServedPage(pipeline, pipeline.page, self, self.hub.clock))

    def all(self) -> list[ServedPage]:
        """Return all pages, by the name of their pipeline."""
        return [page for name in sorted(self.hub.pipelines) if (page := self.find(name)) is not None]

    def _replace(self, name: str, known: ServedPage | None, page: ServedPage | None) -> ServedPage | None:
        if known is not None:
            known.end()
            del self._pages[name]
        if page is not None:
            self._pages[name] = page
        return page


def digest_of(pipeline: PipelineSpec, page: PageSpec) -> str:
    """Return what names the form of a page: another one needs other HTML around its panels."""
    return hashlib.sha256(f"{pipeline.driver} {page.model_dump_json()}".encode()).hexdigest()[:12]


def _state(live: Live | None) -> _OutputState:
    if live is None:
        return ()
    follower = live.follower
    condition = follower.condition
    return id(follower), follower.values.number, condition.trouble, condition.since, follower.values.forgotten


def _source(live: Live | None) -> PanelSource:
    if live is None:
        return PanelSource("it is not followed now")
    condition, values = live.follower.condition, live.follower.values
    return PanelSource(condition.trouble, condition.since, len(values) > 0, values.forgotten)
