"""What is served, to whom, and how it moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from sluice.console.context.access import AnonymousVisitor, Visitor
from sluice.live.source import Row, SourceRead
from sluice.serve import app as module
from sluice.serve import events as events_module
from sluice.serve.app import STATIC
from sluice.serve.events import events
from sluice.serve.hub import Hub, Live
from tests.unit.console.conftest import FakeVisitor
from tests.unit.serve.live_page import take

Browser = Callable[[Visitor | None], TestClient]
AT = datetime(2013, 1, 1, 12, tzinfo=UTC)
HOSTILE = '<img src=x onerror="alert(1)">'
PAGE, API = "/departures/departures_live", "/api/departures/departures_live"
NOBODY = FakeVisitor(sees=("weather",))


def live(hub: Hub) -> Live:
    found = hub.find("departures", "departures_live")
    assert found is not None
    return found


def put(hub: Hub, origin: str, delay: float, carrier: str = "AA") -> None:
    fields = {"hour": AT, "origin": origin, "carrier": carrier, "delay_max_min": delay}
    live(hub).follower.take(SourceRead([Row(fields, AT)]))


def paths(app: object) -> list[str]:
    assert isinstance(app, FastAPI)
    found = [route for route in app.routes if isinstance(route, APIRoute)]
    assert len(found) == len(app.routes), "something is served that is no route behind the gate"
    assert all(route.methods == {"GET"} for route in found), "nothing can be changed here"
    names = {"name": "serve.js", "pipeline": "departures", "output": "departures_live"}
    return [route.path.format(**names) for route in found]


def test_every_route_asks_who_it_is(browser: Browser) -> None:
    stranger = browser(None)
    for path in paths(stranger.app):
        assert stranger.get(path).status_code == 401, path
    assert len(paths(stranger.app)) == 8


def test_an_output_of_another_dag_is_not_there(browser: Browser, hub: Hub) -> None:
    put(hub, "JFK", 1)
    other = browser(NOBODY)
    for path in (PAGE, API, f"{API}/events"):
        assert other.get(path).status_code == 404
        assert "JFK" not in other.get(path).text
    assert other.get("/api").json() == {"outputs": []}
    assert "departures_live" not in other.get("/").text


@pytest.mark.parametrize("name", STATIC)
def test_files_come_from_the_installation(browser: Browser, name: str) -> None:
    answer = browser(FakeVisitor()).get(f"/static/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(
        {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[name.rpartition(".")[2]]
    )


def test_answers_forbid_what_comes_from_elsewhere(browser: Browser) -> None:
    for path in ("/", PAGE, API, "/nothing"):
        headers = browser(FakeVisitor()).get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_query_by_key_gives_one_value_and_a_part_gives_several(browser: Browser, hub: Hub) -> None:
    for origin, carrier in (("JFK", "AA"), ("JFK", "UA"), ("EWR", "UA")):
        put(hub, origin, 5, carrier)
    client = browser(FakeVisitor())
    one = client.get(API, params={"hour": "2013-01-01T12:00:00Z", "origin": "JFK", "carrier": "UA"}).json()
    assert one["found"] == 1
    assert one["values"][0]["fields"]["delay_max_min"] == 5
    assert one["keys"] == ["hour", "origin", "carrier"]
    assert client.get(API, params={"origin": "JFK"}).json()["found"] == 2
    assert len(client.get(API, params={"limit": 1}).json()["values"]) == 1
    assert client.get(API, params={"limit": 0}).status_code == 422


def test_a_rule_that_holds_is_seen(browser: Browser, hub: Hub) -> None:
    put(hub, "JFK", 61)
    client = browser(FakeVisitor())
    (rule,) = client.get(API).json()["rules"]
    assert rule == {"name": "long_delays", "rule": "delay_max_min is above 60", "holds_for": 1, "fault": ""}
    assert "holds for 1" in client.get(PAGE).text


def test_hostile_values_are_text(browser: Browser, hub: Hub) -> None:
    put(hub, HOSTILE, 1)
    page = browser(FakeVisitor()).get(PAGE).text
    assert HOSTILE not in page
    assert "&lt;img src=x" in page


def test_a_page_without_a_login_says_so(browser: Browser) -> None:
    assert "Without a login: this machine only." in browser(AnonymousVisitor()).get("/").text
    assert "Without a login" not in browser(FakeVisitor()).get("/").text


def test_trouble_is_shown(browser: Browser, hub: Hub) -> None:
    follower = live(hub).follower
    follower._in_trouble("no broker answers")
    client = browser(FakeVisitor())
    assert "no broker answers" in client.get("/").text
    assert client.get(API).json()["trouble"] == "no broker answers"


def test_too_many_listeners_are_refused(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LISTENERS", 0)
    assert browser(FakeVisitor()).get(f"{API}/events").status_code == 503


def listen(hub: Hub, last: str = "", **wanted: str) -> AsyncIterator[bytes]:
    return events(live(hub), last, 100, wanted, nullcontext())


def origins(event: dict[str, Any]) -> list[str]:
    return [value["fields"]["origin"] for value in event["values"]]


async def test_events_begin_with_what_there_is_and_go_on_with_what_changes(hub: Hub) -> None:
    put(hub, "JFK", 1)
    stream = listen(hub)
    assert origins(await take(stream, "reset")) == ["JFK"]
    put(hub, "EWR", 2)
    put(hub, "JFK", 3)
    change = await take(stream, "change")
    assert origins(change) == ["EWR", "JFK"]
    assert change["values"][1]["fields"]["delay_max_min"] == 3


async def test_who_comes_back_gets_what_changed_meanwhile(hub: Hub) -> None:
    put(hub, "JFK", 1)
    known = (await take(listen(hub), "reset"))["id"]
    put(hub, "EWR", 2)
    live(hub).follower.values.remove(("2013-01-01T12:00:00Z", "JFK", "AA"))
    change = await take(listen(hub, known), "change")
    assert origins(change) == ["EWR"]
    assert change["gone"] == [["2013-01-01T12:00:00Z", "JFK", "AA"]]


@pytest.mark.parametrize("last", ["", "nonsense", "123-4", "-", "x-99999999"])
async def test_an_unknown_id_begins_anew(hub: Hub, last: str) -> None:
    put(hub, "JFK", 1)
    assert origins(await take(listen(hub, last), "reset")) == ["JFK"]


async def test_who_wants_a_part_hears_of_that_part_and_when_a_value_leaves_it(hub: Hub) -> None:
    put(hub, "JFK", 1)
    stream = listen(hub, delay_max_min="1")
    assert origins(await take(stream, "reset")) == ["JFK"]
    put(hub, "JFK", 2)
    change = await take(stream, "change")
    assert (change["values"], len(change["gone"])) == ([], 1)


async def test_a_burst_is_one_event_for_a_slow_listener(hub: Hub) -> None:
    put(hub, "JFK", 0)
    stream = listen(hub)
    await take(stream, "reset")
    for delay in range(1, 500):
        put(hub, "JFK", delay)
    change = await take(stream, "change")
    assert [value["fields"]["delay_max_min"] for value in change["values"]] == [499]


async def test_silence_has_a_heartbeat_and_an_end_is_said(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "HEARTBEAT_SECONDS", 0.01)

    stream = listen(hub)
    await take(stream, "reset")
    assert (await anext(stream)).startswith(b": ")
    served = live(hub)
    hub.stop()
    assert await take(stream, "end") == {"id": ""}
    assert len(served.changes) == 1
    with pytest.raises(StopAsyncIteration):
        await anext(stream)
    assert len(served.changes) == 0


def test_a_changed_spec_is_followed_anew_and_an_unchanged_one_is_left_alone(hub: Hub) -> None:
    before = live(hub)
    hub.refresh()
    assert live(hub) is before
    catalog = hub.fresh.current().catalog
    from tests.unit.serve.conftest import RULE, with_rules  # noqa: PLC0415 - beside what it changes

    object.__setattr__(catalog, "pipelines", {"departures": with_rules({**RULE, "most_per_hour": 1})})
    hub.refresh()
    assert live(hub) is not before
    assert before.follower.ended
    object.__setattr__(catalog, "pipelines", {})
    hub.refresh()
    assert hub.lives() == []
