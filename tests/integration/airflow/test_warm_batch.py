"""A small batch's task, whose main runs beside the warm engine: a stand-in for either."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from sluice.errors import SluiceError
from sluice.intervals.backfill.backfills import BackfillState
from sluice.launch.engine import WarmEngine
from sluice.project.project import Project
from sluice.settings import settings
from sluice.spark.session.warm import NICENESS, engine_of
from sluice.streams.life.launcher import Job
from tests.integration.airflow.spark import Spark, close, fake_spark
from tests.integration.airflow.test_backfill_dag import (
    CONTEXT,
    check_death_of_the_task,
    check_killing_the_task,
    operator,
)

pytestmark = pytest.mark.usefixtures("airflow_database")

MAIN = "import os, sys\nos.execv(sys.executable, [sys.executable, {fake!r}, *sys.argv])\n"


@pytest.fixture
def spark(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spark]:
    """A main that does what the file of the fake says, and an engine that lives."""
    monkeypatch.setenv("SLUICE_BATCH_NICENESS", "19")
    settings.cache_clear()
    fake = Path(__file__).with_name("fake_spark_submit.py")
    (project.settings.home / "spark_jobs" / "batch.py").write_text(MAIN.format(fake=str(fake)), encoding="utf-8")
    spark = fake_spark(project, monkeypatch, os.environ["PATH"])
    engine: WarmEngine = engine_of(project)
    engine.start(lambda _: Job((sys.executable, "-c", "import signal; signal.pause()")))
    close(project)
    yield spark
    engine.kill()


def test_it_runs_as_a_process_of_its_own_that_is_asked_the_same(project: Project, spark: Spark) -> None:
    task = operator()
    task.execute(CONTEXT)

    main = str(project.settings.home / "spark_jobs" / "batch.py")
    assert spark.call["arguments"][:2] == [main, "backfill"], "no option of spark-submit's is before it"
    assert spark.options()["key"] == "backfill_departures/r1"
    assert spark.call["environment"]["SLUICE_BATCH_NICENESS"] == str(NICENESS)
    assert not [name for name in spark.call["environment"] if name.startswith("AIRFLOW__")]
    (done,) = project.records.backfills().recent("departures")
    assert (done.state, task.backfill_id) == (BackfillState.DONE, done.id)


def test_what_it_judged_fails_at_once_in_its_own_words(spark: Spark) -> None:
    spark.behave(exit=1, say="the gate failed: 'EWR' is no airport. Fix: see quality.html.", claims_nothing=True)
    with pytest.raises(AirflowFailException) as raised:
        operator().execute(CONTEXT)
    assert str(raised.value) == "the gate failed: 'EWR' is no airport. Fix: see quality.html."
    assert isinstance(raised.value.__cause__, SluiceError)


def test_what_it_could_not_say_is_tried_again(spark: Spark) -> None:
    spark.behave(exit=4, say="Spark's JVM ended while the batch ran in it.")
    with pytest.raises(AirflowException) as raised:
        operator().execute(CONTEXT)
    assert type(raised.value) is AirflowException


def test_killing_the_task_kills_it_and_is_no_judgement(project: Project, spark: Spark) -> None:
    check_killing_the_task(project, spark)


def test_it_dies_with_a_task_that_was_killed_without_a_word(spark: Spark) -> None:
    check_death_of_the_task(spark)
