"""Pages of panels: what they show, to whom, and how often they are rendered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from fastapi import HTTPException, Request
from fastapi.testclient import TestClient

from sluice.console.context.access import Visitor
from sluice.serve import app as app_module
from sluice.serve import pages as module
from sluice.serve.app import create_serve
from tests.twins.clock import ManualClock
from tests.unit.console.conftest import FakeVisitor
from tests.unit.serve.live_page import (
    PANELS,
    PLANES,
    SUM,
    HubByHand,
    fill,
    hub_of,
    page_of,
    paged_pipeline,
    put_departed,
)

HOSTILE = '<img src=x onerror="alert(1)">'


def browser(hub: HubByHand, visitor: Visitor | None = None) -> TestClient:
    async def gate(_request: Request) -> Visitor:
        return visitor or FakeVisitor()

    return TestClient(create_serve(hub, gate, clock=hub.clock), base_url="http://serve.test")


def html_of(hub: HubByHand) -> str:
    answer = browser(hub).get("/departures")
    assert answer.status_code == 200
    return answer.text


def test_a_page_shows_its_panels_and_the_list_of_outputs_leads_to_it(follow: Callable[..., HubByHand]) -> None:
    hub = follow(*PANELS)
    fill(hub)
    html = html_of(hub)
    for panel in PANELS:
        assert panel["title"] in html
    assert html.count("<section") == len(PANELS)
    assert 'class="empty"' not in html
    index = browser(hub).get("/").text
    assert '<a href="/departures"><bdi>Departures now</bdi></a>' in index
    assert f"{len(PANELS)} panels" in index


def test_who_may_not_see_the_pipeline_sees_no_page(follow: Callable[..., HubByHand]) -> None:
    hub = follow(SUM)
    put_departed(hub, 5)
    stranger = browser(hub, FakeVisitor(sees=("weather",)))
    for path in ("/departures", "/departures/events"):
        assert stranger.get(path).status_code == 404
    assert "Departures now" not in stranger.get("/").text


def test_a_pipeline_without_a_page_has_none(follow: Callable[..., HubByHand]) -> None:
    hub = follow()
    assert browser(hub).get("/departures").status_code == 404
    assert browser(hub).get("/nothing").status_code == 404
    assert 'class="pages"' not in browser(hub).get("/").text


def test_without_values_every_panel_says_so(follow: Callable[..., HubByHand]) -> None:
    hub = follow(*PANELS)
    assert html_of(hub).count("Nothing can be shown yet: it was not read yet.") == len(PANELS)
    hub.live("departures_live").follower.take(module_read())
    page = browser(hub)
    cast(ManualClock, hub.clock).sleep(1)
    assert page.get("/departures").text.count("No values now.") > 0


def module_read() -> Any:  # noqa: ANN401 - what a source gives
    from sluice.live.source import SourceRead  # noqa: PLC0415 - beside its only use

    return SourceRead()


def test_hostile_values_are_text_in_every_panel(follow: Callable[..., HubByHand]) -> None:
    hub = follow(*PANELS)
    put_departed(hub, 5, HOSTILE)
    hub.put("airlines_live", {"airline": HOSTILE, "departed": 1, "change": 0.5})
    hub.put("planes_latest", {"plane": HOSTILE, "lon": 1, "lat": 2, "state": HOSTILE})
    html = html_of(hub)
    assert "<img" not in html
    assert html.count("&lt;img src=x") > 5


def test_texts_that_no_page_can_hold_do_no_harm(follow: Callable[..., HubByHand]) -> None:
    hub = follow(*PANELS)
    for text in ("\ud800", "\x00\x1b", "a" * 100_000, "\N{RIGHT-TO-LEFT OVERRIDE}evil", ""):
        put_departed(hub, 5, text)
        hub.put("airlines_live", {"airline": text, "departed": 1, "change": None})
        hub.put("planes_latest", {"plane": text, "lon": 1, "lat": 2, "state": text})
    html = html_of(hub)
    assert len(html) < 200_000
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in html


def test_an_output_that_cannot_be_read_is_said_with_since_when(follow: Callable[..., HubByHand]) -> None:
    hub = follow(SUM)
    hub.live("departures_live").follower._in_trouble("no broker answers")
    assert "The output cannot be read since 2013-01-21 12:00:00 UTC: no broker answers" in html_of(hub)
    put_departed(hub, 5)
    hub.live("departures_live").follower._in_trouble("it went away")
    html = html_of(hub)
    assert "The output is not read since 2013-01-21 12:00:00 UTC, and these values are of then: it went away" in html
    assert ">5<" in html


def test_a_panel_that_fails_leaves_the_others_alone(
    follow: Callable[..., HubByHand], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = follow(SUM, PLANES)
    put_departed(hub, 5)
    true_view = module.panel_view

    def failing(panel: Any, rows: Any) -> Any:  # noqa: ANN401 - a double
        if panel.title == "Planes":
            raise ZeroDivisionError
        return true_view(panel, rows)

    monkeypatch.setattr(module, "panel_view", failing)
    hub.put("planes_latest", {"plane": "N1", "lon": 1, "lat": 2, "state": "up"})
    html = html_of(hub)
    assert "This panel could not be drawn" in html
    assert ">5<" in html


def test_a_page_is_rendered_once_a_second_and_only_what_has_changed(
    follow: Callable[..., HubByHand], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = follow(SUM, PLANES)
    rendered: list[str] = []
    true_html = module.panel_html

    def counting(place: int, panel: Any, *rest: Any) -> str:  # noqa: ANN401 - a double
        rendered.append(panel.title)
        return true_html(place, panel, *rest)

    monkeypatch.setattr(module, "panel_html", counting)
    page = page_of(hub)
    assert page.refresh() == 0
    assert rendered == ["Sum", "Planes"]
    put_departed(hub, 5)
    assert page.refresh() == 1, "not within the same second"
    clock.sleep(0.25)
    assert page.refresh() == 0.75
    clock.sleep(0.75)
    assert page.refresh() == 0
    assert rendered == ["Sum", "Planes", "Sum"]
    clock.sleep(1)
    assert page.refresh() == 0
    assert rendered == ["Sum", "Planes", "Sum"], "nothing has changed"


def test_a_page_that_takes_long_rests_as_long(
    follow: Callable[..., HubByHand], clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(follow(SUM))
    true_html = module.panel_html

    def slow(*given: Any) -> str:  # noqa: ANN401 - a double
        clock.sleep(3)
        return true_html(*given)

    monkeypatch.setattr(module, "panel_html", slow)
    assert page.refresh() == 0
    assert page.refresh() == 3


def test_too_many_listeners_are_refused(follow: Callable[..., HubByHand], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "MAX_LISTENERS", 0)
    assert browser(follow(SUM)).get("/departures/events").status_code == 503


def test_an_output_may_be_called_events(follow: Callable[..., HubByHand], clock: ManualClock) -> None:
    pipeline = paged_pipeline(SUM)
    renamed = pipeline.outputs[1].model_copy(update={"table": "events"})
    hub = hub_of(pipeline.model_copy(update={"outputs": (pipeline.outputs[0], renamed)}), clock)
    try:
        assert "latest of departures" in browser(hub).get("/departures/events").text
    finally:
        hub.stop()
    _ = follow


def test_strangers_are_asked_who_they_are(follow: Callable[..., HubByHand]) -> None:
    hub = follow(SUM)

    async def gate(_request: Request) -> Visitor:
        raise HTTPException(401, "log in")

    stranger = TestClient(create_serve(hub, gate), base_url="http://serve.test")
    for path in ("/departures", "/departures/events", "/static/page.js", "/static/charts.css"):
        assert stranger.get(path).status_code == 401
