"""Events of a page: the panels that have changed, once for all who listen."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from typing import Any, cast

import pytest

from sluice.serve import events as events_module
from sluice.serve import pages as module
from sluice.serve.page_events import page_events
from sluice.serve.pages import Pages, ServedPage
from tests.twins.project import InMemoryProject
from tests.unit.serve.live_page import PLANES, SUM, HubByHand, declare, page_of, paged_pipeline, put_departed, take


async def take_both(stream: AsyncIterator[bytes]) -> dict[str, Any]:
    """Return the event after which a client has both panels: one may be there before the other is rendered."""
    event = await take(stream, "panels")
    known = set(places(event))
    while known != {0, 1}:
        event = await take(stream, "panels")
        known |= set(places(event))
    return event


def listen(page: ServedPage, last: str = "", form: str = "") -> AsyncIterator[bytes]:
    return page_events(page, last, form, nullcontext())


def places(event: dict[str, Any]) -> list[int]:
    return [panel["place"] for panel in event["panels"]]


@pytest.mark.usefixtures("hurried")
async def test_events_begin_with_all_panels_and_go_on_with_those_that_change(follow: Callable[..., HubByHand]) -> None:
    hub = follow(SUM, PLANES)

    stream = listen(page_of(hub))
    await take_both(stream)
    put_departed(hub, 41)
    change = await take(stream, "panels")
    assert places(change) == [0]
    assert ">41<" in change["panels"][0]["html"]


@pytest.mark.usefixtures("hurried")
async def test_who_comes_back_gets_the_panels_that_changed_meanwhile(follow: Callable[..., HubByHand]) -> None:
    hub = follow(SUM, PLANES)
    page = page_of(hub)

    known = (await take_both(listen(page)))["id"]
    put_departed(hub, 1)
    assert places(await take(listen(page, known), "panels")) == [0]
    for unknown in ("", "nonsense", "other-1", f"{page.origin}-x"):
        assert places(await take(listen(page, unknown), "panels")) == [0, 1]


@pytest.mark.usefixtures("hurried")
async def test_a_panel_is_rendered_once_for_all_listeners(
    follow: Callable[..., HubByHand], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = follow(SUM)
    rendered: list[int] = []
    true_html = module.panel_html
    monkeypatch.setattr(module, "panel_html", lambda *given: rendered.append(1) or true_html(*given))

    page = page_of(hub)
    streams = [listen(page) for _ in range(20)]
    for stream in streams:
        await take(stream, "panels")
    before = len(rendered)
    put_departed(hub, 7)
    for stream in streams:
        assert ">7<" in (await take(stream, "panels"))["panels"][0]["html"]
    assert len(rendered) == before + 1
    driver = page._driver
    assert driver is not None
    for stream in streams:
        await stream.aclose()  # type: ignore[attr-defined]
    assert len(page.changes) == 0
    await asyncio.wait([driver], timeout=10)
    assert driver.done(), "what renders ends with the last listener"
    assert len(hub.live("departures_live").changes) == 0


@pytest.mark.usefixtures("hurried")
async def test_a_slow_panel_does_not_hold_up_the_service(
    follow: Callable[..., HubByHand], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = follow(SUM)
    begun, released = threading.Event(), threading.Event()
    true_html = module.panel_html

    def slow(*given: Any) -> str:  # noqa: ANN401 - a double
        begun.set()
        assert released.wait(30)
        return true_html(*given)

    monkeypatch.setattr(module, "panel_html", slow)

    stream = listen(page_of(hub))
    await take(stream, "alive")
    panels = asyncio.create_task(take(stream, "panels"))
    assert await asyncio.to_thread(begun.wait, 30)
    for _ in range(100):  # the loop goes on while the panel is rendered
        await asyncio.sleep(0)
    assert not panels.done()
    released.set()
    assert places(await panels) == [0]


@pytest.mark.usefixtures("hurried")
async def test_a_page_whose_spec_has_changed_ends(
    follow: Callable[..., HubByHand], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHECK_SECONDS", 0.01)
    hub = follow(SUM)
    pages = Pages(hub)
    page = pages.find("departures")
    assert page is not None

    stream = listen(page, form=page.digest)
    await take(stream, "panels")
    declare(cast(InMemoryProject, hub.fresh.current()), paged_pipeline(SUM, PLANES))
    hub.refresh()
    await take(stream, "end")
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    found = pages.find("departures")
    assert found is not None
    assert found.digest != page.digest
    await take(listen(found, form=page.digest), "end")


@pytest.mark.usefixtures("hurried")
async def test_silence_has_a_sign_of_life(follow: Callable[..., HubByHand], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "HEARTBEAT_SECONDS", 0.01)
    hub = follow(SUM)

    stream = listen(page_of(hub))
    await take(stream, "panels")
    await take(stream, "alive")


@pytest.mark.usefixtures("hurried")
async def test_an_output_that_is_followed_anew_is_shown_again(
    follow: Callable[..., HubByHand], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CHECK_SECONDS", 0.01)
    hub = follow(SUM)
    put_departed(hub, 5)

    stream = listen(page_of(hub))
    await take(stream, "panels")
    pipeline = paged_pipeline(SUM)
    owned = pipeline.model_copy(update={"driver": "flights", "outputs": pipeline.outputs[1:]})
    declare(cast(InMemoryProject, hub.fresh.current()), owned)
    hub.refresh()
    gone = await take(stream, "panels")
    assert "it is not followed now" in gone["panels"][0]["html"]
    declare(cast(InMemoryProject, hub.fresh.current()), pipeline)
    hub.refresh()
    put_departed(hub, 6)
    while ">6<" not in (await take(stream, "panels"))["panels"][0]["html"]:
        pass
