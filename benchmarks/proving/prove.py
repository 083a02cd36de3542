"""Proofs of pipelines in memory: 24 sabotaged ones, and 1,000 sound ones; Azure's published rules judge the same runs.

`sabotaged`: pipelines that break a promise; `convicted`: of which the proof names what they break; `azure_convicted`:
of which a rule of Azure's is broken in any output of records; `false_convictions`: sound runs that were not proven.
Every run has one crash and late records, a sound one also failed sendings, a sabotaged one 10,000 records.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.proving.azure_rules import broken_rules
from benchmarks.proving.pipeline import ModelPipeline
from benchmarks.proving.real import real
from benchmarks.proving.sabotages import SABOTAGES, WritesWhatWasRefused
from benchmarks.proving.world import Load, World
from sluice.proof.findings import ProofFault, ProofVerdict
from sluice.proof.judgement import judge
from sluice.proof.observations import Observations

_HEALTHY = {"full": 1_000, "small": 20}
_RECORDS = {"full": 10_000, "small": 1_000}


def run(size: str = "full", *numbers: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and who convicts what.

    Args:
        size: `full`, or `small` to try the machinery; `real`: pipelines on Kafka and Spark instead.
        numbers: of the real runs, from 0; omitted: all.
    """
    if size == "real":
        return real.run(*numbers)
    table = {sabotage.__name__: _tried(sabotage, _RECORDS[size]) for sabotage in SABOTAGES}
    sound = [_is_proven(seed) for seed in range(_HEALTHY[size])]
    for name, row in table.items():
        line = f"{name:26} {', '.join(row['found']) or '-':60} {', '.join(row['azure']) or '-'}"
        print(line, file=sys.stderr)
    figures = {
        "sabotaged": len(table),
        "convicted": sum(row["convicted"] for row in table.values()),
        "azure_convicted": sum(bool(row["azure"]) for row in table.values()),
        "false_convictions": sound.count(False),
    }
    return figures, {"size": size, "healthy": len(sound), "table": table}


def _tried(sabotage: type[ModelPipeline], records: int) -> dict[str, Any]:
    """Return what both find of a sabotaged pipeline; a rule counts if the sound one keeps it in the same world.

    A failed sending leaves a gap that Azure's rules cannot tell from a loss, so there is none where none is needed.
    """
    load = Load(seed=7, records=records, failed=0.002 if sabotage is WritesWhatWasRefused else 0.0, unknown=0.0)
    world = World(load)
    seen, sound = sabotage(world).run(), ModelPipeline(World(load)).run()
    proof = judge(world.journal, seen)
    faults: set[ProofFault] = {finding.fault for finding in proof.findings}
    is_convicted = proof.verdict is ProofVerdict.BROKEN and SABOTAGES[sabotage] <= faults
    azure = _azure(world, seen) - _azure(world, sound)
    return {"convicted": is_convicted, "found": sorted(faults), "azure": sorted({rule for _, rule in azure})}


def _azure(world: World, seen: Observations) -> set[tuple[str, str]]:
    """Return which rules of Azure's are broken in which output."""
    rate, outputs = world.load.records / world.load.seconds, [each for each in seen.outputs if each.name != "late"]
    return {(output.name, rule) for output in outputs for rule in broken_rules(world.journal, output, rate)}


def _is_proven(seed: int) -> bool:
    world = World(Load(seed=seed))
    return judge(world.journal, ModelPipeline(world).run()).verdict is ProofVerdict.PROVEN
