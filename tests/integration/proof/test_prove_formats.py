"""Every format of values is proven with a real broker and real drivers: what is made is read as it was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from sluice.devstack.kafka.broker import BrokerProcess
from sluice.proof.findings import ProofVerdict
from sluice.proof.generation.made import RecordFate
from sluice.proof.running.faults import RequestedFault
from tests.integration.proof.proven_projects import proven
from tests.proof_projects import FORMATS, ORDERS, of_format

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]


@pytest.mark.parametrize("name", FORMATS)
def test_records_in_a_format_are_rows_or_dead_letters_as_they_were_made(
    broker: BrokerProcess, tmp_path: Path, name: str
) -> None:
    home = of_format(tmp_path / "home", name)
    faults = (RequestedFault.KILL_DRIVER,) if name == "framed_avro" else ()
    shown = proven(home, ORDERS, broker, tmp_path / "state", faults=faults)
    assert (shown.proof.verdict, shown.proof.findings) == (ProofVerdict.PROVEN, ())
    assert shown.covered[:2] == ("orders_raw", "orders_rows")
    (rows,) = shown.seen.rows
    assert len(rows.seen) == sum(sent.fate is RecordFate.GOOD for sent in shown.journal) > 150
    judged = {(each.topic, each.position): each.reason for each in shown.seen.judged or ()}
    refused = [sent for sent in shown.journal if sent.fate is RecordFate.QUARANTINED]
    assert {judged[sent.topic, sent.position] for sent in refused if sent.position} == {sent.reason for sent in refused}
    assert len({sent.reason for sent in refused}) >= 3
