"""Who may see and ask for what: over every route that there is, so that a new one is not forgotten."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from sluice.console.app import create_console
from sluice.console.context.access import AnonymousVisitor, login_free_gate
from sluice.console.html.rendering import STATIC
from sluice.project.reloading import ReloadingProject
from tests.twins.console_fleet import HALTED, HOSTILE, LAGGING, pipeline_of, topic_of, unit_of
from tests.unit.console.conftest import FakeVisitor, RecordingAsks
from tests.unit.proof.report_files import newest_proof

Console = Callable[[FakeVisitor | None], TestClient]

MINE = 5
"""The number of the unit that a visitor may see who may not see all."""
ONLY_MINE = FakeVisitor(sees=(unit_of(MINE), pipeline_of(MINE)), runs=())
VIEWER = FakeVisitor(runs=())
ORIGIN = {"origin": "http://console.test"}


def names(number: int) -> dict[str, str]:
    """Fill what paths name with what belongs to one unit."""
    return {
        "name": "console.css",
        "stream": pipeline_of(number),
        "unit": unit_of(number),
        "topic": topic_of(number),
        "pipeline": pipeline_of(number),
        "dag_id": f"stream_{unit_of(number)}",
        "run_id": "manual__1",
        "backfill_id": f"{pipeline_of(number)}-20130101T000000-abcd",
        "alert_id": f"{number:08x}",
        "case_id": f"case-{number:04}",
        "proof_id": newest_proof(pipeline_of(number)),
    }


FORMS = {
    "/units/{unit}/request": {"action": "stop", "reason": "because"},
    "/intervals/{pipeline}/request": {
        "from": "2013-01-01",
        "to": "2013-01-02",
        "mode": "verify",
        "only": "all",
        "reason": "because",
    },
    "/cases/{case_id}/replay": {},
}


def routes(client: TestClient, method: str) -> list[str]:
    app = client.app
    assert isinstance(app, FastAPI)
    found = [route for route in app.routes if isinstance(route, APIRoute)]
    assert len(found) == len(app.routes), "something is served that is no route behind the gate"
    return [route.path for route in found if method in route.methods]


def test_every_route_asks_who_it_is(console: Console) -> None:
    stranger = console(None)
    gets, posts = routes(stranger, "GET"), routes(stranger, "POST")
    assert len(gets) > 15
    assert set(posts) == set(FORMS)
    for path in gets:
        assert stranger.get(path.format(**names(MINE))).status_code == 401, path
    for path in posts:
        answer = stranger.post(path.format(**names(MINE)), data=FORMS[path], headers=ORIGIN)
        assert answer.status_code == 401, path


def test_every_write_is_refused_to_who_may_only_read(console: Console, asks: RecordingAsks) -> None:
    viewer = console(VIEWER)
    for path in routes(viewer, "POST"):
        answer = viewer.post(path.format(**names(MINE)), data=FORMS[path], headers=ORIGIN)
        assert answer.status_code == 403, path
    assert asks.asked == []


def test_what_belongs_to_somebody_else_is_not_there(console: Console) -> None:
    visitor, other = console(ONLY_MINE), names(LAGGING)
    about_one = [path for path in routes(visitor, "GET") if "{" in path and path != "/static/{name}"]
    assert len(about_one) > 8
    for path in about_one:
        answer = visitor.get(path.format(**other))
        if path == "/dags/{dag_id}":
            assert answer.headers["location"] == "/", path
            continue
        assert answer.status_code == 404, path
        assert "yours to see" in unescape(answer.text), path
    for path in routes(visitor, "POST"):
        assert visitor.post(path.format(**other), data=FORMS[path], headers=ORIGIN).status_code == 404, path


def test_no_list_names_what_belongs_to_somebody_else(console: Console) -> None:
    visitor, everybody = console(ONLY_MINE), console(FakeVisitor())
    others = re.compile("|".join(kind(LAGGING) for kind in (unit_of, pipeline_of)))
    for path in ("/", "/intervals", "/quality", "/proofs", "/alerts", "/cost", "/metrics"):
        mine, all_ = visitor.get(path), everybody.get(path)
        assert (mine.status_code, all_.status_code) == (200, 200), path
        assert not others.search(mine.text), path
    assert others.search(everybody.get("/").text)
    assert pipeline_of(MINE) in visitor.get("/").text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (ORIGIN, 303),
        ({"authorization": "Bearer token"}, 303),
        ({}, 403),
        ({"origin": "http://elsewhere.test"}, 403),
        ({"origin": "http://console.test:81"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://elsewhere.test", "authorization": "Bearer token"}, 403),
        ({"origin": "https://proxy.test", "x-forwarded-host": "proxy.test"}, 303),
    ],
)
def test_a_write_comes_from_the_consoles_own_page_or_shows_a_token(
    console: Console, asks: RecordingAsks, headers: dict[str, str], status: int
) -> None:
    path = f"/units/{unit_of(MINE)}/request"
    answer = console(FakeVisitor()).post(path, data={"action": "stop", "reason": "because"}, headers=headers)
    assert answer.status_code == status
    assert len(asks.asked) == (status == 303)


def test_what_is_asked_is_a_run_in_the_visitors_name(console: Console, asks: RecordingAsks) -> None:
    ada = console(FakeVisitor())
    for path, form in FORMS.items():
        answer = ada.post(path.format(**names(4)), data=form, headers=ORIGIN)
        assert answer.status_code == 303
        assert "manual__1" in ada.get(answer.headers["location"]).text
    unit, backfill, replay = asks.asked
    assert unit == (f"stream_{unit_of(4)}", {"action": "stop", "reason": "because"}, "ada")
    assert backfill == (f"backfill_{pipeline_of(4)}", FORMS["/intervals/{pipeline}/request"], "ada")
    assert replay == ("replay_case", {"case": "case-0004"}, "ada")


@pytest.mark.parametrize(
    "form", [{}, {"action": "force", "reason": "x"}, {"action": "stop"}, {"action": "stop", "reason": ""}]
)
def test_a_form_that_is_not_filled_asks_for_nothing(
    console: Console, asks: RecordingAsks, form: dict[str, str]
) -> None:
    answer = console(FakeVisitor()).post(f"/units/{unit_of(MINE)}/request", data=form, headers=ORIGIN)
    assert answer.status_code == 422
    assert asks.asked == []


def test_every_answer_forbids_scripts_and_frames_of_others(console: Console) -> None:
    visitor = console(FakeVisitor())
    for path in routes(visitor, "GET"):
        answer = visitor.get(path.format(**names(MINE)))
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "frame-ancestors 'self'" in policy, path
        assert "unsafe-inline" not in policy or "script-src" not in policy, path
        assert answer.headers["x-content-type-options"] == "nosniff", path


def test_whatever_somebody_has_written_is_shown_as_text(console: Console) -> None:
    visitor, shown = console(FakeVisitor()), 0
    for number in (HALTED, LAGGING, MINE):
        for path in routes(visitor, "GET"):
            answer = visitor.get(path.format(**names(number)))
            if answer.headers.get("content-type", "").startswith("text/html"):
                assert "<script>document" not in answer.text, path
                assert "<img" not in answer.text, path
                shown += unescape(answer.text).count(HOSTILE)
    assert shown > 20


def test_pages_load_nothing_but_the_consoles_own_files(console: Console) -> None:
    visitor = console(FakeVisitor())
    for path in ("/", f"/streams/{pipeline_of(LAGGING)}", "/topics", "/quality", f"/proofs/{pipeline_of(0)}", "/cost"):
        text = visitor.get(path).text
        loaded = re.findall(r'(?:src|href)="([^"#?]+)[^"]*"', re.sub(r"<a [^>]*>", "", text))
        assert {address.rpartition("/")[2] for address in loaded} == set(STATIC), path
        assert " style=" not in text, path


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:8085", "[::1]:8085"])
def test_without_a_login_this_machine_is_shown_everything_and_may_change_nothing(
    fresh: ReloadingProject, host: str
) -> None:
    app = create_console(fresh, login_free_gate)
    client = TestClient(app, base_url="http://127.0.0.1", headers={"host": host, "accept": "text/html"})
    assert "Without a login" in client.get("/").text
    form = {"action": "stop", "reason": "because"}
    answer = client.post(f"/units/{unit_of(0)}/request", data=form, headers={"origin": f"http://{host}"})
    assert answer.status_code == 403
    assert "data-dialog" not in client.get(f"/streams/{pipeline_of(0)}").text


@pytest.mark.parametrize("host", ["elsewhere.test", "127.0.0.1.elsewhere.test", "10.0.0.1"])
def test_without_a_login_a_name_from_elsewhere_is_refused(fresh: ReloadingProject, host: str) -> None:
    client = TestClient(create_console(fresh, login_free_gate), base_url="http://127.0.0.1")
    assert client.get("/", headers={"host": host}).status_code == 403
    assert not AnonymousVisitor().may_run("stream_unit0000")
