"""What all tests share: a required test that is skipped fails the run."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

import tests.airflow_home  # noqa: F401  before anything imports airflow
from sluice.project import reloading
from sluice.settings import settings
from sluice.storage.bucket_folder import forget_stores
from sluice.storage.folder import Folder
from tests.buckets import BucketServer, bucket_server
from tests.matrix.recording import ReportFile, faults, pytest_pyfunc_call  # noqa: F401  for all tests
from tests.signals import restore_default_signals

restore_default_signals()

# Two runs on one machine must not starve each other's batches.
os.environ.setdefault("SLUICE_BATCH_NICENESS", "0")

# No JVM of a test lives long enough for the optimizing compiler to pay: without it a driver takes a third less CPU.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")

# A commit passes `make test` each time or never: few examples, always the same. `make verify` looks for new ones.
hypothesis_settings.register_profile("quick", max_examples=15, deadline=None, derandomize=True, database=None)
hypothesis_settings.register_profile("fresh", max_examples=15, deadline=None, print_blob=True)
hypothesis_settings.register_profile("thorough", max_examples=1_000, deadline=None, print_blob=True)
hypothesis_settings.load_profile("quick")


@pytest.fixture(autouse=True)
def _own_settings() -> Iterator[None]:
    """Settings are read once a process: what another test has set or cached must not be this one's."""
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def anyio_backend() -> str:
    """Tests that are coroutines run in a loop of asyncio, each in its own."""
    return "asyncio"


@pytest.fixture(scope="session")
def running_store() -> Iterator[BucketServer]:
    """An S3 server for all tests of this process; `store` is the one to ask for."""
    with bucket_server() as server:
        yield server


@pytest.fixture
def store(running_store: BucketServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    """An S3 server without faults, which this process reaches by the variables of AWS."""
    for name, value in running_store.variables.items():
        monkeypatch.setenv(name, value)
    running_store.make_faults()
    forget_stores()
    yield running_store
    running_store.make_faults()
    forget_stores()


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """A folder of a deployment's storage: a test that asks for it holds for both kinds."""
    if request.param == "folder":
        return tmp_path
    server: BucketServer = request.getfixturevalue("store")
    return server.new_bucket() / "a storage" / "of ü=1"


@pytest.fixture(autouse=True, scope="session")
def _no_collections() -> None:
    """A console sets its specs apart from the garbage collector's rounds: here that visits what all tests have made."""
    reloading.set_apart = lambda: None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips", action="store_true", help="fail what is skipped: a test that did not run proves nothing"
    )
    parser.addoption("--fault-reports", type=Path, help="append what tests of the fault matrix report to this file")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--fault-reports")
    if file and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ReportFile(file))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        _refuse_skip(report, item.config)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report, collector.config)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> None:
    if report.skipped and config.getoption("--no-skips"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"required, but skipped: {reason}"
