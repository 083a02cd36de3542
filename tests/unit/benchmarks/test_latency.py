"""What the latencies of a program come to, and which programs the benchmark `latency` measures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import latency
from benchmarks.latency_trial import Latencies
from benchmarks.peers import latency_peers
from benchmarks.peers.latency_peers import Contender
from sluice.errors import NotReadyError


def test_a_share_is_what_so_many_records_did_not_exceed() -> None:
    found = Latencies(list(range(1, 101)))
    assert [found.share(part) for part in (0.0, 0.5, 0.99, 1.0)] == [1, 51, 100, 100]


@given(st.lists(st.integers(0, 10_000), min_size=1).map(sorted), st.floats(0, 1))
def test_at_least_so_many_records_do_not_exceed_a_share(milliseconds: list[int], part: float) -> None:
    within = sum(each <= Latencies(milliseconds).share(part) for each in milliseconds)
    assert within >= int(part * len(milliseconds))


def test_notes_are_of_all_records() -> None:
    notes = Latencies([1, 2, 3, 10]).notes()
    assert notes == {"records": 4, "mean_ms": 4.0, "median_ms": 2.5, "p99_ms": 10, "max_ms": 10}


def _absent() -> None:
    raise NotReadyError("there is no way to the repository.", fix="open one.")


def _measuring(milliseconds: list[int]) -> Contender:
    return Contender(lambda seconds: Latencies([each * seconds for each in milliseconds]), {"full": 2, "small": 1})


def test_each_program_has_both_figures_and_one_that_is_absent_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Contender(lambda _: pytest.fail("it is not there"), {"full": 1}, _absent)
    contenders = {"micro": _measuring([7]), "flink": absent, "kstreams": _measuring([1, 2, 3])}
    monkeypatch.setattr(latency_peers, "CONTENDERS", contenders)
    figures, notes = latency.run("peers")
    assert figures == {"micro_p50_ms": 14, "micro_p99_ms": 14, "kstreams_p50_ms": 4, "kstreams_p99_ms": 6}
    assert "no way to the repository" in notes["missing"]["flink"]
    assert set(notes["programs"]) == {"micro", "kstreams"}


def test_only_programs_that_are_named_run(monkeypatch: pytest.MonkeyPatch) -> None:
    contenders: dict[str, Any] = {"micro": _measuring([7]), "kstreams": _measuring([1])}
    monkeypatch.setattr(latency_peers, "CONTENDERS", contenders)
    figures, notes = latency.run("peers", "small", "kstreams")
    assert figures == {"kstreams_p50_ms": 1, "kstreams_p99_ms": 1}
    assert notes["size"] == "small"


def test_every_contender_has_the_same_sizes() -> None:
    assert {tuple(contender.seconds) for contender in latency_peers.CONTENDERS.values()} == {("full", "small")}
