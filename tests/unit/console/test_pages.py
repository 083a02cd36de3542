"""What the pages say of a fleet of which every past is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from sluice.console.app import create_console
from sluice.console.context import page_context
from sluice.console.context.access import login_free_gate
from sluice.console.context.topic_snapshot import TopicSnapshot
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from sluice.proof.report import REPORT
from sluice.provisioning.plans.changes import Unable
from sluice.provisioning.plans.plan import Plan
from tests.twins.clock import ManualClock
from tests.twins.console_fleet import (
    HALTED,
    HOSTILE,
    LAGGING,
    PROVEN,
    RESTING,
    SETTLED,
    STALLED,
    UNSEEN,
    ConsoleFleet,
    build_fleet,
    pipeline_of,
    topic_of,
)
from tests.unit.console.conftest import UNITS, FakeVisitor
from tests.unit.proof.report_files import proof_ids
from tests.waiting import eventually

Console = Callable[[FakeVisitor | None], TestClient]


@pytest.fixture
def visitor(console: Console) -> TestClient:
    return console(FakeVisitor())


def text_of(client: TestClient, path: str) -> str:
    """Return what is to be read on a page, in one line."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    body = answer.text[answer.text.index("<main") :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def streams_on(client: TestClient, path: str) -> list[str]:
    return re.findall(r'href="/streams/(\w+)"', client.get(path).text)


def test_the_fleet_begins_with_those_that_need_somebody(visitor: TestClient) -> None:
    said = text_of(visitor, "/")
    assert said.startswith(f"8 of {2 * UNITS} streams need attention")
    found = streams_on(visitor, "/")
    needing = [kind for n in (HALTED, STALLED, UNSEEN, LAGGING) for kind in (pipeline_of(n), f"raw_{topic_of(n)}")]
    assert found[:8] == needing
    assert found[8:10] == [pipeline_of(RESTING), f"raw_{topic_of(RESTING)}"]
    assert len(found) == len(set(found)) == 2 * UNITS
    assert "HALTED" in said
    assert "It was OK when it was last observed, 1 h 00 min ago." in said


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("health=STALLED", [pipeline_of(STALLED), f"raw_{topic_of(STALLED)}"]),
        (f"q={pipeline_of(3).upper()}", [pipeline_of(3)]),
        ("health=LAGGING&q=raw", [f"raw_{topic_of(LAGGING)}"]),
        ("q=nobody", []),
        ("health=nothing", []),
        ("page=99&health=LAGGING", [pipeline_of(LAGGING), f"raw_{topic_of(LAGGING)}"]),
    ],
)
def test_the_fleet_is_searched(visitor: TestClient, query: str, found: list[str]) -> None:
    assert streams_on(visitor, f"/?{query}") == found


def test_a_stream_shows_what_it_does_how_far_it_is_behind_and_what_was_tried(visitor: TestClient) -> None:
    said = text_of(visitor, f"/streams/{pipeline_of(LAGGING)}")
    for words in (
        "2,000 records, the oldest for 12 s",
        "Input rate 14.5/s",
        "Generation 2 started",
        "Generation 1 started",
        "Lag by partition",
        "Duration of a batch by phase",
        "Rows dropped, their window was closed",
        "a line of the log",
        "Restart",
    ):
        assert words.replace(" ,", ",") in said.replace(" ,", ","), words


def test_a_stream_shows_what_it_quarantined_by_reason_and_a_raw_stream_nothing(visitor: TestClient) -> None:
    said = text_of(visitor, f"/streams/{pipeline_of(LAGGING)}")
    assert "at least 24 records were quarantined" in said
    assert "wrong_type 16 missing_field 8" in said
    assert f"sluice quarantine list {pipeline_of(LAGGING)} counts them all" in said
    assert "Records quarantined" in said
    assert "that its driver has reported quarantined a record" in text_of(visitor, f"/streams/{pipeline_of(STALLED)}")
    assert "at least" not in text_of(visitor, f"/streams/raw_{topic_of(LAGGING)}")


def test_a_stream_that_is_halted_is_so_on_every_page(visitor: TestClient) -> None:
    for path in ("/?q=pipe0000", f"/streams/{pipeline_of(HALTED)}", f"/intervals/{pipeline_of(HALTED)}", "/graph"):
        assert "HALTED" in text_of(visitor, path)
        assert "STOPPED" not in visitor.get(path).text.partition(f"{pipeline_of(HALTED)}<")[2][:600], path
    assert '<span class="mark bad">HALTED</span>' in visitor.get(f"/intervals/{pipeline_of(HALTED)}").text
    assert '<span class="mark quiet">STOPPED</span>' in visitor.get(f"/streams/{pipeline_of(RESTING)}").text


def test_the_fleet_counts_and_finds_halted_streams_apart_from_those_that_were_stopped(visitor: TestClient) -> None:
    chips = re.findall(r'<a class="(\w+)" href="\?health=(\w+)">\2 (\d+)</a>', visitor.get("/").text)
    assert chips[0][:2] == ("bad", "HALTED")
    halted, stopped = (text_of(visitor, f"/?health={word}") for word in ("HALTED", "STOPPED"))
    assert pipeline_of(HALTED) in halted
    assert pipeline_of(HALTED) not in stopped
    assert pipeline_of(RESTING) in stopped
    assert pipeline_of(RESTING) not in halted


@pytest.mark.parametrize(
    ("number", "actions"), [(HALTED, ["resume", "stop"]), (RESTING, ["start"]), (LAGGING, ["restart", "stop"])]
)
def test_what_may_be_asked_of_a_stream_is_what_its_state_allows(
    visitor: TestClient, number: int, actions: list[str]
) -> None:
    page = visitor.get(f"/streams/{pipeline_of(number)}").text
    assert re.findall(r'data-dialog="ask-(\w+)"', page) == actions
    assert re.findall(r'<dialog id="ask-(\w+)"', page) == actions


def test_a_cluster_that_does_not_answer_is_said_and_no_page_waits_for_it(visitor: TestClient) -> None:
    said = text_of(visitor, "/topics")
    assert "The cluster could not be queried" in said or "The cluster is being queried" in said
    assert topic_of(0) in said


def test_what_the_service_of_a_cluster_does_not_do_is_on_the_page_with_what_to_do(
    visitor: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    unable = Unable(topic_of(0), "partitions", "1", "2", "it is done elsewhere", "run `there`")
    snapshot = TopicSnapshot(Plan(unable=(unable,)), {}, {}, {})
    monkeypatch.setattr(page_context, "take_topic_snapshot", lambda _project: snapshot)
    shown = "partitions 1 2 not done here it is done elsewhere: run there"
    eventually(lambda: shown in text_of(visitor, "/topics"), seconds=20)


def test_a_settled_table_shows_what_is_due_and_what_holds_it(visitor: TestClient) -> None:
    stream, intervals = (text_of(visitor, f"/{page}/{pipeline_of(SETTLED)}") for page in ("streams", "intervals"))
    for words in (
        "Settled until 2013-01-21 00:00 UTC; arrival times have reached 2013-01-21 05:00:00 UTC.",
        "2 intervals are due, from 2013-01-21 00:00 UTC on, the oldest by 60 min",
        "records of topic0005/1",
        "The next interval is complete when arrival times reach 2013-01-21 06:00:00 UTC.",
        "write `arrival_disorder: 90 seconds` under `time`",
    ):
        assert words in stream, words
        assert words in intervals, words
    page = visitor.get(f"/intervals/{pipeline_of(SETTLED)}").text
    due = re.findall(r'<a class="cell due" href="[^"]+at=([^"#]+)#interval" title="([^"]+)"', page)
    assert [at for at, _ in due] == ["2013-01-21T00:00Z", "2013-01-21T01:00Z"]
    assert all("due and not settled yet, records of topic0005/1" in title for _, title in due)


def test_the_calendar_shows_each_interval_with_state_and_writer(visitor: TestClient) -> None:
    page = visitor.get(f"/intervals/{pipeline_of(0)}").text
    assert "January 2013" in page
    cells = re.findall(r'<a class="cell (\w+)" href="[^"]+at=([^"#]+)#interval"', page)
    assert len(cells) == 31 * 24
    states = [state for state, _ in cells]
    assert {state: states.count(state) for state in ("dirty", "stale", "published", "closed", "open")} == {
        "dirty": 44,
        "stale": 62,
        "published": 75,
        "closed": 299,
        "open": 264,
    }
    assert "&lt;script&gt;" in page


def test_an_interval_is_shown_closely_with_the_command_that_mends_it(visitor: TestClient) -> None:
    said = text_of(visitor, f"/intervals/{pipeline_of(0)}?at=2013-01-20T23:30Z")
    assert "2013-01-20 23:00:00 to 2013-01-21 00:00:00 UTC dirty" in said
    assert "--from 2013-01-20T23:00Z --to 2013-01-21T00:00Z --mode recompute --only dirty" in said
    assert "records were dropped" in said


_ENDS = ("month=0001-01", "month=9999-12", "at=0001-01-01T00:00%2B14:00", "at=9999-12-31T23:30Z")


@pytest.mark.parametrize("query", ["month=2013-1", "month=2013-13", "at=yesterday", "page=x", *_ENDS])
def test_a_question_that_nobody_understands_is_refused(visitor: TestClient, query: str) -> None:
    path = "/intervals" if query.startswith("page") else f"/intervals/{pipeline_of(0)}"
    assert visitor.get(f"{path}?{query}").status_code == 422


def test_quality_shows_cases_and_offers_the_replay_of_those_that_are_open(visitor: TestClient) -> None:
    assert text_of(visitor, "/quality").count("never checked") == UNITS
    open_one, closed_one = (visitor.get(f"/quality/{pipeline_of(n)}").text for n in (0, 1))
    assert ("Replay …" in open_one, "Replay …" in closed_one) == (True, False)
    assert "malformed 5" in open_one


def test_alerts_that_reached_nobody_are_said_first(visitor: TestClient) -> None:
    said = text_of(visitor, "/alerts")
    assert said.startswith("Alerts Of 2 alerts the delivery failed")
    assert "because" in text_of(visitor, "/alerts/00000003")


def test_objectives_begin_with_the_output_that_has_the_least_budget_left(visitor: TestClient) -> None:
    said = text_of(visitor, "/objectives")
    stalled, good = said.index(pipeline_of(STALLED)), said.index(pipeline_of(5))
    assert stalled < said.index("burns fast") < good
    assert said.count("burns fast") == 1
    assert "99.9 % over 30 days" in said
    assert "100.000 %" in said


def test_cost_is_processor_time_by_a_million_records(visitor: TestClient) -> None:
    said = text_of(visitor, "/cost")
    # Two streams of three batches: 20.2 s of the driver, 90 records each.
    assert "unit0000 112,222 20.2 180 2 2" in said
    assert said.index("unit0000") < said.index("unit0002"), "the most expensive first"


def test_cost_has_what_each_pipeline_used_over_the_last_days(visitor: TestClient) -> None:
    said = text_of(visitor, "/cost")
    lately = said[said.index("The last 7 days") :]
    assert "pipe0005 20.2 7.5 27.7" in lately
    assert lately.index("pipe0005") < lately.index("pipe0000"), "the most expensive first"
    assert "EUR" not in lately, "no prices are declared"


@pytest.mark.parametrize(
    ("dag_id", "leads_to"),
    [
        ("stream_unit0003", "/streams/pipe0003"),
        ("backfill_pipe0003", "/intervals/pipe0003"),
        ("quality_pipe0003", "/quality/pipe0003"),
        ("topics", "/topics"),
        ("topic_drift", "/topics"),
        ("keep_ledger", "/"),
        ("stream_nobody", "/"),
    ],
)
def test_a_run_in_airflow_leads_to_what_it_is_about(visitor: TestClient, dag_id: str, leads_to: str) -> None:
    assert visitor.get(f"/dags/{dag_id}").headers["location"] == leads_to


def test_what_is_not_there_is_a_page_for_people_and_json_for_programs(visitor: TestClient) -> None:
    page = visitor.get("/streams/nobody")
    assert (page.status_code, "<h1>Not shown</h1>" in page.text) == (404, True)
    program = visitor.get("/streams/nobody", headers={"accept": "application/json"})
    assert program.json() == {"detail": "There is no stream nobody, or it is not yours to see."}


@contextmanager
def counted(project: Project) -> Iterator[list[str]]:
    """Collect the statements that the control database is asked."""
    asked: list[str] = []

    def hear(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    event.listen(project.records.database, "before_cursor_execute", hear)
    try:
        yield asked
    finally:
        event.remove(project.records.database, "before_cursor_execute", hear)


PAGES = (
    "/",
    "/graph",
    f"/streams/{pipeline_of(3)}",
    "/intervals",
    f"/intervals/{pipeline_of(3)}",
    "/quality",
    f"/quality/{pipeline_of(3)}",
    "/alerts",
    "/cost",
    "/objectives",
    "/proofs",
    f"/proofs/{pipeline_of(3)}",
    "/topics",
    "/metrics",
)


def test_a_page_asks_the_database_as_often_however_many_streams_there_are(tmp_path: Path, clock: ManualClock) -> None:
    found: list[dict[str, int]] = []
    for size in (6, 30):
        fleet = build_fleet(tmp_path / str(size), size, clock)
        fresh = ReloadingProject(
            lambda place=fleet.settings: Project.open_strict(place), place=lambda place=fleet.settings: place
        )
        client = TestClient(create_console(fresh, login_free_gate, clock=clock), base_url="http://127.0.0.1")
        counts = {}
        for path in PAGES:
            with counted(fresh.current()) as asked:
                assert client.get(path).status_code == 200, path
            counts[path] = len(asked)
        found.append(counts)
    assert found[0] == found[1]
    assert max(found[0].values()) <= 18


def test_proofs_that_are_broken_come_first_and_each_pipeline_has_its_history(
    visitor: TestClient,
) -> None:
    found = re.findall(r'href="/proofs/(\w+)"', visitor.get("/proofs").text)
    assert found == [pipeline_of(number) for number in range(PROVEN)]
    assert f"{UNITS - PROVEN} further pipelines that you may see were never proven" in text_of(visitor, "/proofs")
    newest, *older = proof_ids(pipeline_of(0))
    said = text_of(visitor, f"/proofs/{pipeline_of(0)}")
    assert said.startswith(f"{pipeline_of(0)} broken An output breaks a promise.")
    assert said.count("shown above") == 1
    assert re.findall(rf'href="/proofs/{pipeline_of(0)}/([^"]+)"', visitor.get(f"/proofs/{pipeline_of(0)}").text) == [
        newest,
        *older,
    ]
    assert text_of(visitor, f"/proofs/{pipeline_of(0)}/{older[0]}").startswith(f"{pipeline_of(0)} proven")
    assert "It was never proven" in text_of(visitor, f"/proofs/{pipeline_of(PROVEN)}")


@pytest.mark.parametrize(
    "proof", [proof_ids(pipeline_of(1))[0], "%2e%2e", "%2e%2e%2fx", "pipe0000-20130115T000000-ffffffff"]
)
def test_a_proof_is_found_below_its_own_pipeline_only(visitor: TestClient, proof: str) -> None:
    assert visitor.get(f"/proofs/{pipeline_of(0)}/{proof}").status_code in {404, 422}


def test_a_report_that_cannot_be_read_is_said_and_hides_no_other(visitor: TestClient, fleet: ConsoleFleet) -> None:
    identity = proof_ids(pipeline_of(PROVEN - 1))[0]
    file = fleet.settings.folder.proofs / identity / REPORT
    kept = file.read_text(encoding="utf-8")
    file.write_text(f'{{"proof": "{HOSTILE}"}}', encoding="utf-8")
    try:
        for path in ("/proofs", f"/proofs/{pipeline_of(PROVEN - 1)}"):
            assert "report.json is no report of a proof" in text_of(visitor, path), path
            assert "<script>document" not in visitor.get(path).text
        rows = re.findall(r'href="/proofs/(\w+)"', visitor.get("/proofs").text)
        assert rows[:3] == [pipeline_of(0), pipeline_of(PROVEN - 1), pipeline_of(1)]
    finally:
        file.write_text(kept, encoding="utf-8")
