"""Proofs of real pipelines on Kafka and Spark: sound ones, and ones that break a promise each; Azure's rules beside.

`sabotaged`: promises that are broken; `convicted`: of which the proof finds what is broken in that very output;
`azure_convicted`: of which a rule of Azure's is broken there; `sound`: sound runs, `proven`: of which are proven.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.proving.azure_rules import broken_rules
from benchmarks.proving.real.worlds import RAW, SABOTAGED, SOUND, RealRun, RealSabotage, project_of
from sluice.devstack.kafka.broker import BrokerProcess
from sluice.launch.endpoints import Endpoints, write_endpoints
from sluice.project.project import Project
from sluice.proof.findings import ProofFault, ProofVerdict
from sluice.proof.journal import SendJournal
from sluice.proof.observations import ObservedKind, ObservedRecord, ObservedRecords, ObservedRows
from sluice.proof.running.place import PREFIX
from sluice.proof.running.request import ProofRequest, ProvenRun
from sluice.proof.running.run import prove
from sluice.proof.running.sending import checksum
from sluice.settings import Settings
from tests.integration.brokers import own_broker_in

RATE, SECONDS = 20.0, 10.0
_PATIENCE_SECONDS = 40.0
_SOUND = "sound"
_TIMED = frozenset({"latency", "throughput"})
"""Rules of Azure's about times, which rows do not have here."""
Azure = dict[str, frozenset[str]]


def run(*numbers: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and who convicts what.

    Args:
        numbers: of the sabotaged runs, from 0, and `sound` for the sound ones; omitted: all.
    """
    chosen = [SABOTAGED[int(number)] for number in numbers if number != _SOUND] if numbers else list(SABOTAGED)
    table: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, own_broker_in(Path(folder) / "broker") as broker:
        sound: dict[str, tuple[ProofVerdict, Azure]] = {}
        for each in SOUND if not numbers or _SOUND in numbers else ():
            shown = proven(each, broker, Path(folder) / f"sound-{each.pipeline}")
            sound[each.pipeline] = shown.proof.verdict, azure_of(shown)
            _tell(f"sound {each.pipeline}", [shown.proof.verdict, *map(str, shown.proof.findings)])
        for number, each in enumerate(chosen):
            shown = proven(each, broker, Path(folder) / f"broken-{number}")
            for sabotage in each.sabotages:
                table.append(_row(sabotage, shown, sound[each.pipeline][1] if each.pipeline in sound else {}))
                _tell(sabotage.name, [sabotage.output, *table[-1]["found"], "| Azure:", *table[-1]["azure"]])
    figures = {
        "sabotaged": len(table),
        "convicted": sum(row["convicted"] for row in table),
        "azure_convicted": sum(bool(row["azure"]) for row in table),
        "sound": len(sound),
        "proven": sum(verdict is ProofVerdict.PROVEN for verdict, _ in sound.values()),
    }
    return figures, {"size": "full", "table": table}


def proven(each: RealRun, broker: BrokerProcess, folder: Path) -> ProvenRun:
    """Run a proof in a project of its own."""
    begin = time.monotonic()
    place = Settings(home=project_of(each, folder / "project"), state=folder / "state")
    write_endpoints(place.folder, Endpoints((broker.bootstrap,), airflow_url=""))
    project = Project.open_strict(place)
    asked = ProofRequest(RATE, SECONDS, each.faults, each.bounds, patience_seconds=_PATIENCE_SECONDS)
    _, shown = prove(project, project.catalog.pipelines[each.pipeline], asked, lambda line: _tell("", [line]))
    _tell(each.pipeline, [f"{time.monotonic() - begin:.0f} s"])
    return shown


def _row(sabotage: RealSabotage, shown: ProvenRun, sound: Azure) -> dict[str, Any]:
    """Return what both find of a sabotage in its output; a rule of Azure's counts if the sound pipeline keeps it."""
    found = conviction(sabotage, shown)
    azure = azure_of(shown).get(sabotage.output, frozenset()) - sound.get(sabotage.output, frozenset())
    return {
        "name": sabotage.name,
        "output": sabotage.output,
        "convicted": shown.proof.verdict is ProofVerdict.BROKEN and sabotage.found <= found,
        "found": sorted(found),
        "azure": sorted(azure),
    }


def conviction(sabotage: RealSabotage, shown: ProvenRun) -> frozenset[ProofFault]:
    """Return what a proof has found in the output of a sabotage."""
    return frozenset(each.fault for each in shown.proof.findings if _is_of(each.where, sabotage.output))


def _is_of(where: str, output: str) -> bool:
    return where == output or (where.startswith(PREFIX) and where.endswith(f"_{output}"))


def azure_of(shown: ProvenRun) -> Azure:
    """Return the rules of Azure's that are broken in each output of records.

    They judge the raw table by all records, and another output by those that belong into it, so that what is late or
    refused is no gap. The rate that the best minute must reach is that of the producers' best minute.
    """
    found: Azure = {}
    rate = max(Counter(int(sent.sent_at // 60) for sent in shown.journal).values(), default=0) / 60
    for output in shown.seen.outputs:
        if output.kind is ObservedKind.RAW:
            found[RAW] = broken_rules(shown.journal, output, rate)
    for rows in shown.seen.rows:
        if rows.seen and any(row.made_of for row in rows.expected):
            journal, records = _as_records(shown.journal, rows)
            found[_plain(rows.name)] = broken_rules(journal, records, rate) - _TIMED
    return found


def _plain(name: str) -> str:
    return name.split("_", 2)[2] if name.startswith(PREFIX) else name


def _as_records(journal: SendJournal, rows: ObservedRows) -> tuple[SendJournal, ObservedRecords]:
    """Return an output's rows by the records that they are made of, and the journal of those that belong into it."""
    at = {sent.position: sent for sent in journal.acknowledged}
    made_of = {row.content: at[row.made_of] for row in rows.expected if row.made_of in at}
    due = {sent.id for sent in made_of.values()}
    records = tuple(
        ObservedRecord(made_of[row.content].id, checksum(row.content.encode()))
        for row in rows.seen
        if row.content in made_of
    )
    own = SendJournal(tuple(_numbered(sent for sent in journal if sent.id in due)))
    return own, ObservedRecords(rows.name, ObservedKind.ROWS, records)


def _numbered(sent: Iterable[Any]) -> Iterable[Any]:
    sequences: dict[str, int] = {}
    for each in sent:
        sequences[each.key] = sequences.get(each.key, -1) + 1
        yield replace(each, sequence=sequences[each.key])


def _tell(what: str, parts: Sequence[str]) -> None:
    print(f"{what:55} {' '.join(parts)}", file=sys.stderr, flush=True)
