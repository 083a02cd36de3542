"""How many deliberate faults in the core no test notices: a seeded sample of mutmut's mutants, and those made by hand.

`mutants_survived`: of the sample, those that neither a test nor the type checker noticed, with a reason or without.
`equivalent`: those of them that `equivalent.yaml` explains. `by_hand`: mutants of what crosses processes, tried by the
simulations.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.mutants.attempts import CodeMutant, Noticed, all_mutants, try_all
from benchmarks.mutants.by_hand import missed
from benchmarks.mutants.explained import explained, refuse_stale

SEED = 20_130_101
_SAMPLES = {"full": 300, "small": 5}
_BY_HAND = {"full": None, "small": 1}


def run(size: str = "full", seed: str = str(SEED)) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the figures, and the survivors.

    Args:
        size: how many are tried.
        seed: which ones; the same seed and code give the same sample.

    Raises:
        TrialError: tests fail without a mutant, or a reason is about code that has changed.
    """
    everything, reasons = all_mutants(), explained()
    refuse_stale(reasons, {mutant.key for mutant in everything})
    chosen = sample(everything, _SAMPLES[size], int(seed))
    print(f"{len(chosen)} of {len(everything)} mutants, seed {seed}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="sluice-mutants-") as folder:
        noticed = try_all(chosen, Path(folder))
    survivors = [mutant for mutant, outcome in noticed.items() if outcome is Noticed.SURVIVED]
    by_hand, unnoticed = missed(_BY_HAND[size])
    counts = Counter(noticed.values())
    figures = {
        "mutants": len(chosen),
        "killed": counts[Noticed.KILLED],
        "killed_by_types": counts[Noticed.TYPES],
        "timeouts": counts[Noticed.TIMEOUT],
        "survived": len(survivors),
        "equivalent": sum(mutant.key in reasons for mutant in survivors),
        "mutants_survived": round(len(survivors) / len(chosen), 4),
        "by_hand": by_hand,
        "by_hand_survived": len(unnoticed),
    }
    told = [_described(mutant, reasons.get(mutant.key)) for mutant in survivors]
    return figures, {"size": size, "seed": int(seed), "of": len(everything), "survivors": told, "unnoticed": unnoticed}


def sample(mutants: list[CodeMutant], count: int, seed: int) -> list[CodeMutant]:
    """Return some mutants, each of another key, in the order of the text."""
    by_key: dict[tuple[str, str, str], CodeMutant] = {}
    for mutant in mutants:
        by_key.setdefault(mutant.key, mutant)
    different = list(by_key.values())
    chosen = random.Random(seed).sample(range(len(different)), count)  # noqa: S311  nothing to keep secret
    return [different[index] for index in sorted(chosen)]


def _described(mutant: CodeMutant, reason: str | None) -> dict[str, str | None]:
    return {"module": mutant.module.name, "function": mutant.function, "change": mutant.change, "reason": reason}
