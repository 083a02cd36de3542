"""What a person reads of a unit's attempts."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from sluice.streams.failures.failure import Failure, FailureClass
from sluice.streams.life.timeline import Timeline, duration_text, timeline
from tests.twins.project import InMemoryProject

ADDRESS = "http://127.0.0.1:4040"


@pytest.fixture
def project() -> InMemoryProject:
    return InMemoryProject()


def read(project: InMemoryProject, spark_ui: str | None = None) -> Timeline:
    return timeline(
        project.streams.life("flights").observe(),
        project.control.attempts("flights"),
        now=project.clock.now(),
        log=project.drivers.log,
        spark_ui=spark_ui,
    )


def fail(project: InMemoryProject, generation: int, kind: FailureClass, exit_code: int) -> None:
    failure = Failure(kind, "KeyError", "'dep_delay'", project.clock.now(), "departures")
    project.drivers.die(f"local.flights.g{generation}", exit_code, failure)


def test_what_never_ran_has_no_attempts_and_says_what_starts_it(project: InMemoryProject) -> None:
    found = read(project)
    assert list(found.entries) == []
    assert "sluice streams start" in found.next


def test_a_living_driver_has_lived_until_now_and_has_a_log_and_an_address(project: InMemoryProject) -> None:
    project.streams.life("flights").start("ada", "launch")
    project.clock.sleep(125)
    found = read(project, ADDRESS)
    assert list(found.lines()) == [
        (
            "Generation 1: started 2013-01-07 12:00:00 UTC, lived 2 min 05 s, bound. Log: local.flights.g1.log "
            f"Spark UI: {ADDRESS}"
        )
    ]
    assert (found.next, found.halted) == ("", "")


def test_attempts_are_told_newest_first_with_class_and_reason_and_what_comes_next(project: InMemoryProject) -> None:
    life = project.streams.life("flights")
    life.start("ada", "launch")
    project.clock.sleep(10)
    project.drivers.die("local.flights.g1", -9)
    claim = life.claim(governed=True)
    assert claim.attempt is not None
    life.submit(claim.attempt)
    project.clock.sleep(30)
    fail(project, 2, FailureClass.CODE, 15)

    newest, oldest, following = read(project, ADDRESS).lines()

    assert newest.startswith(
        "Generation 2: started 2013-01-07 12:00:10 UTC, lived 30 s, ended 2013-01-07 12:00:40, code: "
    )
    assert "(stream departures: KeyError: 'dep_delay'). Log: local.flights.g2.log" in newest
    assert "killed: was killed by signal 9. Log: local.flights.g1.log" in oldest
    assert following.startswith("Next: generation 2 failed")
    assert "the next starts at 12:01:" in following
    assert ADDRESS not in newest


def test_a_halt_is_told(project: InMemoryProject) -> None:
    project.streams.life("flights").start("ada", "launch")
    fail(project, 1, FailureClass.DATA_LOSS, 11)
    found = read(project)
    why = (
        "generation 1 failed: records that it never read are gone from the topic (stream departures: KeyError: "
        "'dep_delay') (data loss), and another attempt would only repeat that. To resume: find out which records "
        "are gone, and decide that it may continue without them, then run `sluice streams stop flights`, "
        '`sluice streams reset flights --stream departures --to earliest --why "the records are gone"`, '
        "`sluice streams start flights`"
    )
    assert (found.halted, found.next) == (why, f"HALTED: {why}")


def test_what_cannot_be_seen_starts_nothing(project: InMemoryProject) -> None:
    project.streams.life("flights").start("ada", "launch")
    project.drivers.reachable = False
    assert "cannot say whether generation 1 lives" in read(project).next


def test_the_rest_of_a_long_history_is_counted(project: InMemoryProject) -> None:
    life = project.streams.life("flights")
    for _ in range(4):
        life.restart("ada", "again", 60)
    assert list(read(project).lines(most=1))[1:] == ["... and 3 earlier attempts"]


def test_json_has_the_record_and_what_is_added(project: InMemoryProject) -> None:
    project.streams.life("flights").start("ada", "launch")
    project.clock.sleep(10)
    fail(project, 1, FailureClass.CODE, 15)
    (entry,) = read(project).entries
    values = json.loads(json.dumps(entry.as_dict(), default=str))
    assert (values["generation"], values["state"], values["exit_code"], values["failure"]) == (1, "ended", 15, "code")
    assert (values["lived_seconds"], values["log"], values["spark_ui"]) == (10, "local.flights.g1.log", None)


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (timedelta(seconds=9.9), "9 s"),
        (timedelta(seconds=61), "1 min 01 s"),
        (timedelta(minutes=125), "2 h 05 min"),
        (timedelta(hours=49), "2 d 1 h"),
    ],
)
def test_a_duration_is_told_in_two_units(duration: timedelta, words: str) -> None:
    assert duration_text(duration) == words
