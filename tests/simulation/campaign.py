"""Many histories: seeds that failed before, then fresh ones; and what is said of one that fails.

A seed that fails is kept in `seeds.txt` and replayed first from then on. What it stands for changes with this model, so
a fault that was found and mended deserves a test of its own as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

from tests.simulation.choices import shrink
from tests.simulation.code import Code, Mutant, mutated, real
from tests.simulation.crew import Crew
from tests.simulation.history import Outcome, play, quietly
from tests.simulation.transitions import Tally

SEEDS = Path(__file__).with_name("seeds.txt")


@dataclass
class Report:
    """What a campaign found.

    Attributes:
        histories: how many were played.
        seconds: of one core.
        tally: the transitions that were seen.
        failed: the seed that failed; None if none did.
        story: what it did wrong, shrunk, line by line.
    """

    histories: int = 0
    seconds: float = 0.0
    tally: Tally = field(default_factory=Tally)
    failed: int | None = None
    story: str = ""

    def __str__(self) -> str:
        rate = 1_000 * self.seconds / max(1, self.histories)
        head = f"{self.histories:,} histories in {self.seconds:.1f} s of one core, {rate:.2f} ms each"
        return "\n".join([head, *self.tally.lines()])


def kept_seeds() -> list[int]:
    """Return the seeds that failed before; a line is a seed and, after a #, what it found."""
    lines = SEEDS.read_text(encoding="utf-8").splitlines()
    return [int(seed) for line in lines if (seed := line.partition("#")[0].strip())]


def run(seeds: Iterable[int], code: Code | None = None, *, explains: bool = True) -> Report:
    """Play histories until one fails.

    Args:
        seeds: of the histories.
        code: the code under test; omitted: the real one.
        explains: shrink what fails, and tell its story.
    """
    code = code or real()
    report, began = Report(), process_time()
    with Crew() as crew, quietly():
        for seed in seeds:
            outcome = play(crew, code, seed, report.tally)
            report.histories += 1
            if outcome.breach:
                report.failed = seed
                report.story = _story(crew, code, seed, outcome) if explains else outcome.breach
                break
    report.seconds = process_time() - began
    return report


def keep(report: Report) -> None:
    """Keep the seed that failed."""
    if report.failed is not None and report.failed not in kept_seeds():
        what = report.story.splitlines()[0]
        with SEEDS.open("a", encoding="utf-8") as seeds:
            seeds.write(f"{report.failed}  # {what}\n")


def caught(mutant: Mutant, seeds: Iterable[int]) -> Report:
    """Play histories of a mutant until one fails."""
    with mutated(mutant) as code:
        return run(seeds, code, explains=False)


def _story(crew: Crew, code: Code, seed: int, outcome: Outcome) -> str:

    def fails(choices: Sequence[int]) -> bool:
        return bool(play(crew, code, choices, Tally()).breach)

    choices = shrink(outcome.choices, fails)
    told = play(crew, code, choices, Tally(), tells=True)
    shrunk = f"shrunk from {len(outcome.choices)} choices to {len(choices)}: {list(choices)}"
    return "\n".join([f"{outcome.breach}", f"seed {seed}, {shrunk}", *told.told, f"BREACH: {told.breach}"])
