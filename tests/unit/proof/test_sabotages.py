"""Every pipeline that breaks a promise is convicted of just that, and no sound one ever is."""

from __future__ import annotations

import pytest

from benchmarks.proving.azure_rules import broken_rules
from benchmarks.proving.pipeline import ModelPipeline
from benchmarks.proving.sabotages import SABOTAGES, LosesTheTail, RepeatsOnRestart, WritesWhatWasRefused
from benchmarks.proving.world import Load, World
from sluice.proof.findings import ProofVerdict
from sluice.proof.judgement import judge
from sluice.proof.observations import ObservedRecords


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda each: each.__name__)
def test_a_sabotage_is_convicted_of_what_it_does(sabotage: type[ModelPipeline], seed: int) -> None:
    world = World(Load(seed=seed, records=1_000))
    proof = judge(world.journal, sabotage(world).run())
    assert proof.verdict is ProofVerdict.BROKEN
    assert SABOTAGES[sabotage] <= {finding.fault for finding in proof.findings}


@pytest.mark.parametrize("seeds", [range(50), pytest.param(range(50, 1_050), marks=pytest.mark.verify)])
def test_a_sound_pipeline_is_proven(seeds: range) -> None:
    found = {}
    for seed in seeds:
        world = World(Load(seed=seed))
        found[seed] = judge(world.journal, ModelPipeline(world).run())
    assert {seed: proof.findings for seed, proof in found.items() if proof.verdict is not ProofVerdict.PROVEN} == {}
    assert all(proof.latencies["raw"].worst_minute > 0 for proof in found.values())


def rules(sabotage: type[ModelPipeline], load: Load) -> frozenset[str]:
    """Return what Azure's rules say of the raw records."""
    world = World(load)
    return broken_rules(world.journal, raw_of(world, sabotage), load.records / load.seconds)


def raw_of(world: World, sabotage: type[ModelPipeline]) -> ObservedRecords:
    (raw,) = (output for output in sabotage(world).run().outputs if output.name == "raw")
    return raw


def test_azures_rules_see_repetitions_and_no_lost_tail() -> None:
    load = Load(seed=1, records=1_000, failed=0, unknown=0)
    assert rules(ModelPipeline, load) == set()
    assert rules(RepeatsOnRestart, load) == {"duplicates"}
    assert rules(LosesTheTail, load) == set()


def test_azures_rules_take_a_refused_record_for_a_loss() -> None:
    load = Load(seed=1, records=1_000, failed=0.01, unknown=0)
    assert rules(ModelPipeline, load) == {"missing"}
    world = World(load)
    assert judge(world.journal, WritesWhatWasRefused(world).run()).verdict is ProofVerdict.BROKEN


def test_azures_rules_judge_speed_by_the_best_minute() -> None:
    world = World(Load(seed=1, records=1_000, failed=0, unknown=0))
    raw = raw_of(world, ModelPipeline)
    assert broken_rules(world.journal, raw, rate=20) == {"throughput"}
    assert "latency" in broken_rules(world.journal, ObservedRecords("raw", raw.kind, ()), rate=5)
