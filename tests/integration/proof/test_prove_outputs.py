"""Proofs with a real broker and real drivers: outputs of every kind, a paused broker, and a cluster with logins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.proving.real.real import conviction, proven
from benchmarks.proving.real.worlds import LETTERS, NEWEST, NEWS, RAW, ROWS, SABOTAGED, SOUND, project_of
from sluice.clock import SystemClock
from sluice.devstack.kafka.admin import Administrator, administrator
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.errors import RefusedError
from sluice.kafka.access import KafkaPythonAccess
from sluice.kafka.administration import KafkaPythonAdministration
from sluice.kafka.client.login import LoginRefusedError, refuse_login
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.launch.processes import wait_until
from sluice.project.project import Project
from sluice.proof.findings import ProofVerdict
from sluice.proof.generation.made import RecordFate
from sluice.proof.running.faults import RequestedFault
from sluice.proof.running.request import ProofRequest
from sluice.proof.running.run import prove
from sluice.provisioning.access.administration import Credential
from sluice.settings import Settings, settings
from sluice.specs.model.access import Mechanism
from tests.integration.brokers import free_ports, running

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]
RECORDS, HOURS = SOUND


def test_rows_topics_newest_values_and_dead_letters_are_proven_though_the_driver_is_killed(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    shown = proven(RECORDS, broker, tmp_path)
    assert (shown.proof.verdict, shown.proof.findings) == (ProofVerdict.PROVEN, ())
    own = {name: next(each for each in shown.covered if each.endswith(name)) for name in (NEWS, LETTERS)}
    assert shown.covered == (RAW, ROWS, own[NEWS], NEWEST, own[LETTERS])
    assert shown.uncovered == ()
    fates = {fate: sum(sent.fate is fate for sent in shown.journal) for fate in RecordFate}
    assert min(fates[RecordFate.LATE], fates[RecordFate.QUARANTINED]) >= 4
    rows = {output.name: output for output in shown.seen.rows}
    assert len(rows[ROWS].seen) == len(rows[own[NEWS]].seen) == fates[RecordFate.GOOD] > 150
    assert len(rows[NEWEST].seen) == 3
    assert len(shown.seen.outputs[1].records) == fates[RecordFate.QUARANTINED]


def test_hours_and_open_values_are_proven_though_the_broker_stands_still(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "broker", *free_ports(), settings().jars)
    broker.prepare()
    with running(broker):
        home = project_of(HOURS, tmp_path / "project")
        deployment = home / "include/deployments/local.yaml"
        text = deployment.read_text(encoding="utf-8")
        deployment.write_text(text.replace("kind: embedded", "kind: embedded\n  may_pause: true"), encoding="utf-8")
        place = Settings(home=home, state=tmp_path / "state")
        write_endpoints(place.folder, Endpoints((broker.bootstrap,), airflow_url=""))
        project = Project.open_strict(place)
        asked = ProofRequest(20, 10, (RequestedFault.PAUSE_BROKER,))
        _, shown = prove(project, project.catalog.pipelines["departures"], asked, print)
    assert (shown.proof.verdict, shown.proof.findings) == (ProofVerdict.PROVEN, ())
    (fault,) = shown.seen.faults
    assert "were in state T" in fault.evidence
    live = next(output for output in shown.seen.rows if output.name == "departures_live")
    assert live.expected  # some hours were still open


def test_each_broken_output_is_convicted_of_what_was_done_to_it(broker: BrokerProcess, tmp_path: Path) -> None:
    shown = proven(SABOTAGED[0], broker, tmp_path)
    assert {each.output: conviction(each, shown) >= each.found for each in SABOTAGED[0].sabotages} == {
        ROWS: True,
        NEWS: True,
        NEWEST: True,
        LETTERS: True,
    }


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[BrokerProcess, Administrator]]:
    """A stack's own broker, which asks who connects."""
    folder = Settings(state=tmp_path / "state").folder
    admin = administrator(folder.kafka)
    broker = BrokerProcess(folder.kafka, *free_ports(), settings().jars, admin=admin)
    broker.prepare()
    with running(broker):
        admin.admit()
        write_endpoints(folder, Endpoints((broker.bootstrap,), airflow_url="", kafka_secured=True))
        yield broker, admin


EXTERNAL = """name: local
kafka:
  kind: external
  bootstrap: [{bootstrap}]
  tls: {{ca: {ca}, verify_hostname: false}}
  login: {{user: guest, password_variable: SLUICE_PASSWORD_GUEST}}
"""


def test_a_cluster_with_logins_is_used_as_its_administrator_and_refuses_who_has_no_right(
    secured: tuple[BrokerProcess, Administrator], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, admin = secured
    home = project_of(RECORDS, tmp_path / "project")
    project = Project.open_strict(Settings(home=home, state=tmp_path / "state"))
    spec = project.catalog.pipelines[RECORDS.pipeline]
    _, shown = prove(project, spec, ProofRequest(20, 5, patience_seconds=60), print)
    assert (shown.proof.verdict, shown.proof.findings) == (ProofVerdict.PROVEN, ())

    with_password = _guest(broker, admin)
    monkeypatch.setenv("SLUICE_PASSWORD_GUEST", "a guest's")
    text = EXTERNAL.format(bootstrap=broker.bootstrap, ca=with_password["ssl.ca.location"])
    (home / "include/deployments/local.yaml").write_text(text, encoding="utf-8")
    guests = Project.open_strict(Settings(home=home, state=tmp_path / "guests"))
    with pytest.raises(RefusedError, match=r"a proof needs topics of its own, .* and may not create them"):
        prove(guests, spec, ProofRequest(20, 5), print)
    with KafkaPythonAdministration((broker.bootstrap,), admin.client) as administration:
        assert [name for name in administration.names() if name.startswith("prove_")] == []


def _guest(broker: BrokerProcess, admin: Administrator) -> Mapping[str, str]:
    """Make a user without rights, and return how it connects."""
    with KafkaPythonAccess((broker.bootstrap,), admin.client) as access:
        access.set_password(Credential("guest", Mechanism.SHA_512, 4096), "a guest's")
    jaas = admin.client["sasl.jaas.config"].replace('"admin"', '"guest"').replace(admin.password, "a guest's")
    client = {**admin.client, "sasl.jaas.config": jaas}

    def is_known() -> bool:
        try:
            refuse_login((broker.bootstrap,), client)
        except LoginRefusedError:
            return False
        return True

    assert wait_until(is_known, SystemClock(), deadline_seconds=60)
    return client
