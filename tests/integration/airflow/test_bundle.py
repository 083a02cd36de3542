"""The bundle of DAG files beside Airflow's own database: what it asks for is what the DAG processor claims."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.manager import DagFileProcessorManager
from airflow.models.dag import DagModel
from airflow.models.dagbag import DagPriorityParsingRequest
from airflow.models.dagbundle import DagBundleModel
from airflow.utils.session import create_session

from sluice.airflow.bundle import LONGEST, SpecsBundle
from sluice.project.project import Project
from sluice.settings import settings
from tests.twins.clock import ManualClock

NAME = "of_this_test"
MODELS = (DagPriorityParsingRequest, DagModel, DagBundleModel)


@pytest.fixture
def bundle(airflow_database: Path, project: Project, tmp_path: Path) -> Iterator[SpecsBundle]:
    """A bundle with two files, over specs of its own, with one DAG in the database."""
    assert airflow_database.is_file()
    assert project.settings.home == tmp_path
    for file in ("streams.py", "upkeep.py"):
        (tmp_path / "dags").mkdir(exist_ok=True)
        (tmp_path / "dags" / file).write_text("from airflow.sdk import DAG\n", encoding="utf-8")
    forget()
    with create_session() as session:
        session.add(DagBundleModel(name=NAME))
        session.flush()
        session.add(DagModel(dag_id="of_this_test", bundle_name=NAME, is_stale=False, last_parsed_time=BEFORE))
    yield SpecsBundle(name=NAME, path=str(tmp_path / "dags"), clock=ManualClock(BEFORE + timedelta(minutes=1)))
    forget()


BEFORE = datetime(2026, 1, 1, tzinfo=UTC)


def forget() -> None:
    with create_session() as session:
        for model in MODELS:
            column = model.name if model is DagBundleModel else model.bundle_name
            session.query(model).filter(column == NAME).delete()


def claimed(bundle: SpecsBundle) -> list[str]:
    """Return the files that the DAG processor takes in hand, in its order."""
    processor = DagFileProcessorManager(max_runs=1)
    processor._dag_bundles = [bundle]
    processor._queue_requested_files_for_parsing()
    return [str(file.rel_path) for file in processor._file_queue]


def test_an_unchanged_folder_has_nothing_parsed(bundle: SpecsBundle) -> None:
    for _ in range(3):
        bundle.refresh()
    assert claimed(bundle) == []


def test_a_new_spec_has_all_files_parsed_those_first_in_which_it_shows(bundle: SpecsBundle) -> None:
    bundle.refresh()
    pipelines = settings().home / "include" / "pipelines"
    (pipelines / "more.yaml").write_bytes((pipelines / "departures.yaml").read_bytes())
    bundle.refresh()
    assert claimed(bundle) == ["streams.py", "upkeep.py"]
    bundle.refresh()
    assert claimed(bundle) == []


def test_files_that_wait_already_are_not_asked_for_twice(bundle: SpecsBundle) -> None:
    bundle.refresh()
    for name in ("one", "two"):
        (settings().home / "spark_jobs" / f"{name}.py").write_text("", encoding="utf-8")
        bundle.refresh()
    assert claimed(bundle) == ["streams.py", "upkeep.py"]


def test_a_dag_that_is_not_parsed_any_more_has_its_file_parsed_again_until_it_is_gone(bundle: SpecsBundle) -> None:
    clock = bundle._scheduler.clock
    bundle.refresh()
    (settings().home / "include" / "pipelines" / "departures.yaml").unlink()
    bundle.refresh()
    assert claimed(bundle)
    clock.sleep(30)
    bundle.refresh()
    assert claimed(bundle)
    clock.sleep(60)
    bundle.refresh()
    assert claimed(bundle)
    with create_session() as session:
        session.query(DagModel).filter(DagModel.bundle_name == NAME).update({"is_stale": True})
    clock.sleep((LONGEST - timedelta(minutes=2)).total_seconds())
    bundle.refresh()
    assert claimed(bundle) == []


def test_airflow_makes_it_from_the_configuration_of_the_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sluice.devstack.airflow.configuration import _options  # noqa: PLC0415 - what `sluice up` writes

    options = _options(settings(), 8080, {"fernet_key": "k", "secret_key": "s", "jwt_secret": "j"})["dag_processor"]
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", str(options["dag_bundle_config_list"]))
    monkeypatch.setenv("AIRFLOW__CORE__DAGS_FOLDER", str(tmp_path))
    made = list(DagBundlesManager().get_all_dag_bundles())
    assert [(type(each), each.name) for each in made] == [(SpecsBundle, "dags-folder")]
