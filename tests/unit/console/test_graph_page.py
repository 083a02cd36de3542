"""The page of the graph: each node once, with its state, its page and what takes its rows, as far as one may see."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from sluice.console.app import create_console
from sluice.project.project import Project
from sluice.project.reloading import ReloadingProject
from tests.twins.clock import ManualClock
from tests.twins.console_chains import CHAINS, add_chains
from tests.twins.console_fleet import (
    HALTED,
    LAGGING,
    RESTING,
    STALLED,
    ConsoleFleet,
    build_fleet,
    pipeline_of,
    topic_of,
    unit_of,
)
from tests.unit.console.conftest import FakeVisitor
from tests.unit.console.test_pages import text_of

UNITS = 6
DAYS, ARRIVALS, BALANCE = (chained.name for chained in CHAINS)


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> ConsoleFleet:
    clock = ManualClock()
    fleet = build_fleet(tmp_path_factory.mktemp("chained"), UNITS, clock)
    add_chains(fleet, clock.now())
    return fleet


@pytest.fixture
def page(chained: ConsoleFleet) -> Callable[..., TestClient]:
    fresh = ReloadingProject(lambda: Project.open_strict(chained.settings), place=lambda: chained.settings)

    def of(**may: tuple[str, ...]) -> TestClient:
        async def gate(_request: Request) -> FakeVisitor:
            return FakeVisitor(**may)

        return TestClient(create_console(fresh, gate, clock=ManualClock()), headers={"accept": "text/html"})

    return of


def drawn(client: TestClient, path: str = "/graph") -> dict[str, tuple[str, str]]:
    """Return of each node in the picture, by its words, the page that it links to and its colour."""
    text = client.get(path).text
    links = re.findall(r'<a class="(\w*)" href="([^"]+)" aria-label="([^"]+)" transform', text)
    others = re.findall(r'<g class="(\w*)"()[^>]* aria-label="([^"]+)" transform', text)
    return {unescape(words): (path, tone) for tone, path, words in [*links, *others]}


def node(nodes: dict[str, tuple[str, str]], name: str) -> tuple[str, tuple[str, str]]:
    (found,) = ((words, shown) for words, shown in nodes.items() if words.startswith(f"{name}, ") or words == name)
    return found


def test_each_node_links_to_its_page_and_says_its_state(page: Callable[..., TestClient]) -> None:
    nodes = drawn(page())
    assert len(nodes) == 3 * UNITS + 2 * len(CHAINS)
    assert node(nodes, f"topic {topic_of(0)}")[1][0] == f"/topics/{topic_of(0)}"
    words, shown = node(nodes, f"pipeline {pipeline_of(LAGGING)}")
    assert shown == (f"/streams/{pipeline_of(LAGGING)}", "warning")
    assert words == f"pipeline {pipeline_of(LAGGING)}, LAGGING, 2,000 records unread"
    assert node(nodes, f"pipeline {pipeline_of(STALLED)}")[1][1] == "bad"
    assert node(nodes, f"pipeline {pipeline_of(HALTED)}") == (
        f"pipeline {pipeline_of(HALTED)}, HALTED",
        (f"/streams/{pipeline_of(HALTED)}", "bad"),
    )
    assert node(nodes, f"pipeline {pipeline_of(RESTING)}")[1][1] == "quiet", "it shall not run"
    words, shown = node(nodes, f"table {ARRIVALS}")
    assert shown == (f"/intervals/{ARRIVALS}", "bad")
    assert words == f"table {ARRIVALS}, dirty, settled until 2013-01-21 00:00, 2 dirty, over 5 dirty of pipe0002"
    words, shown = node(nodes, f"table {BALANCE}")
    assert shown[1] == "warning"
    assert words.startswith(f"table {BALANCE}, over dirty, settled until 2013-01-21 00:00, over 2 dirty of {ARRIVALS}")
    assert "stale" in node(nodes, f"table {pipeline_of(1)}")[0]


def test_the_list_says_what_takes_the_rows_of_each(page: Callable[..., TestClient]) -> None:
    said = text_of(page(), "/graph")
    assert f"{pipeline_of(2)} pipeline only this LAGGING" in said
    assert f"over 5 dirty of pipe0002 pipeline {BALANCE}" in said
    assert "What flows where" in said


def test_only_what_is_around_a_pipeline_is_shown(page: Callable[..., TestClient]) -> None:
    assert f'href="/graph?pipeline={ARRIVALS}"' in page().get(f"/streams/{ARRIVALS}").text
    nodes = drawn(page(), f"/graph?pipeline={ARRIVALS}")
    assert sorted(words.partition(",")[0] for words in nodes) == sorted(
        [
            f"topic {topic_of(2)}",
            f"pipeline {pipeline_of(2)}",
            f"table {pipeline_of(2)}",
            f"pipeline {ARRIVALS}",
            f"table {ARRIVALS}",
            f"pipeline {BALANCE}",
            f"table {BALANCE}",
        ]
    )
    assert page().get("/graph?pipeline=nobody").status_code == 404


def test_what_hangs_together_with_a_name_is_found(page: Callable[..., TestClient]) -> None:
    nodes = drawn(page(), f"/graph?q={topic_of(5).upper()}")
    assert [words.partition(",")[0] for words in nodes] == [
        f"topic {topic_of(5)}",
        f"pipeline {pipeline_of(5)}",
        f"table {pipeline_of(5)}",
    ]
    assert "Nothing that you may see is called so" in text_of(page(), "/graph?q=nobody")


def test_who_may_see_one_unit_sees_its_part_and_the_names_beside_it(page: Callable[..., TestClient]) -> None:
    nodes = drawn(page(sees=(unit_of(4),)))
    assert sorted(words.partition(",")[0] for words in nodes) == sorted(
        [
            f"topic {topic_of(4)}",
            *(f"{kind} {name}" for name in (pipeline_of(4), ARRIVALS, BALANCE) for kind in ("pipeline", "table")),
            *(f"table {name}" for name in (pipeline_of(2), pipeline_of(3), DAYS)),
        ]
    )
    assert node(nodes, f"table {pipeline_of(2)}") == (f"table {pipeline_of(2)}", ("", ""))
    assert node(nodes, f"table {ARRIVALS}") == (f"table {ARRIVALS}", ("", "")), "its backfills are not his to see"
    assert node(nodes, f"topic {topic_of(4)}")[1][0] == f"/streams/raw_{topic_of(4)}", "nor are the pages of topics"
    assert page(sees=(unit_of(4),)).get(f"/graph?pipeline={DAYS}").status_code == 404
    assert "that you may see" in text_of(page(sees=("nothing",)), "/graph")


def test_a_large_project_is_shown_in_pages_of_what_hangs_together(tmp_path: Path, clock: ManualClock) -> None:
    fleet = build_fleet(tmp_path, 45, clock, intervals=2)
    fresh = ReloadingProject(lambda: Project.open_strict(fleet.settings), place=lambda: fleet.settings)

    async def gate(_request: Request) -> FakeVisitor:
        return FakeVisitor()

    client = TestClient(create_console(fresh, gate, clock=clock))
    pages = [drawn(client, f"/graph?page={number}") for number in (1, 2, 3, 99)]
    assert [len(nodes) for nodes in pages] == [60, 60, 15, 15]
    assert "Page 1 of 3" in text_of(client, "/graph")
