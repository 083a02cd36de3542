"""Reports of proofs as a deployment keeps them: of each pipeline three, of which the first pipeline's newest is broken.

Whatever an output, a record or a process may be called is what the caller says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sluice.proof.findings import ProofFault, ProofVerdict
from sluice.proof.report import REPORT

SECONDS = 180
"""How long records were sent."""
_DAYS = ("20130101", "20130108", "20130115")


def proof_ids(pipeline: str) -> list[str]:
    """Return the ids of its proofs, the newest first."""
    return [f"{pipeline}-{day}T000000-0000abcd" for day in reversed(_DAYS)]


def newest_proof(pipeline: str) -> str:
    return proof_ids(pipeline)[0]


def add_proofs(folder: Path, pipelines: Sequence[str], says: Callable[[str], str], now: datetime) -> None:
    """Write the reports.

    Args:
        folder: of all proofs.
        pipelines: that were proven: the first one is broken, the second one inconclusive, all others hold.
        says: puts a text as somebody has said it.
        now: when the newest ended.
    """
    for number, pipeline in enumerate(pipelines):
        for week, identity in enumerate(proof_ids(pipeline)):
            verdict = ProofVerdict.PROVEN
            if week == 0 and number < 2:
                verdict = (ProofVerdict.BROKEN, ProofVerdict.INCONCLUSIVE)[number]
            report = report_of(identity, pipeline, verdict, says, now - timedelta(days=7 * week))
            file = folder / identity / REPORT
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps(report), encoding="utf-8")


def report_of(
    identity: str, pipeline: str, verdict: ProofVerdict, says: Callable[[str], str], ended: datetime
) -> dict[str, Any]:
    """Return a report as its file has it."""
    begun = ended - timedelta(seconds=SECONDS + 60)
    raw, at = says(f"{pipeline}_raw"), begun.timestamp()
    fault = {
        ProofVerdict.BROKEN: ProofFault.LOST_TAIL,
        ProofVerdict.INCONCLUSIVE: ProofFault.NOT_COMPARED,
    }.get(verdict)
    lost = 7 if verdict is ProofVerdict.BROKEN else 0
    return {
        "proof": identity,
        "pipeline": pipeline,
        "verdict": verdict.value,
        "begun": begun.isoformat(),
        "ended": ended.isoformat(),
        "covered": [raw, pipeline],
        "uncovered": [says("latest live")],
        "rate": 50.0,
        "seconds": float(SECONDS),
        "bounds": {"worst_minute": 5.0, "p999": None, "fresh": None},
        "sent": {"acknowledged": 9000, "failed": 0, "unknown": 3},
        "faults": [
            {"name": "kill-driver", "at": at + 60, "evidence": says("process 7 is gone"), "healed": True},
            {"name": "pause-driver", "at": at + 120, "evidence": "", "healed": True},
        ],
        "findings": [] if fault is None else [_finding(fault, raw, says)],
        "latencies": {raw: {"records": 9000, "worst_minute": 2.5, "p999": 11.5, "slowest": says("p0-7")}},
        "intervals_compared": 6,
        "looks": 25,
        "figures": _figures(at, raw, pipeline, lost),
    }


def _finding(fault: ProofFault, where: str, says: Callable[[str], str]) -> Mapping[str, Any]:
    said = {"example": says("p1-4499"), "detail": says("key key-3, acknowledged at 2/1499")}
    return {
        "fault": fault.value,
        "where": where,
        "count": 7,
        **said,
        "meaning": fault.meaning,
        "what_to_do": fault.what_to_do,
    }


def _figures(at: float, raw: str, table: str, lost: int) -> Mapping[str, Any]:
    moments = range(0, SECONDS + 1, 3)
    read = [50 * (60 if 60 < second < 72 else max(0, second - 1)) for second in moments]
    partitions = [
        {"partition": each, "sent": 3000, "found": 3000 - lost, "lost": lost, "twice": 0, "phantom": 0}
        for each in range(3)
    ]
    return {
        "timeline": {
            "at": [at + second for second in moments],
            "sent": [50 * second for second in moments],
            "acknowledged": [50 * second for second in moments],
            "read": {raw: read},
            "waiting": {raw: [50 * second - count for second, count in zip(moments, read, strict=True)]},
        },
        "spans": [
            {"name": "kill-driver", "at": at + 60, "until": at + 72},
            {"name": "pause-driver", "at": at + 120, "until": at + 127},
        ],
        "minutes": {
            raw: [
                {"at": at + 60 * n, "records": 3000, "mean": mean, "slowest": slowest}
                for n, (mean, slowest) in enumerate(((0.9, 1.4), (2.5, 12.0), (1.0, 1.6)))
            ]
        },
        "partitions": {raw: partitions},
        "intervals": {table: {"equal": 6, "different": 0, "not_compared": 0}},
    }
