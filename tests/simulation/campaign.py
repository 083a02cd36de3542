"""Many histories: seeds that failed before, then fresh ones; and what is said of one that fails.

A seed that fails is kept in `seeds.txt` and replayed first from then on. What it stands for changes with this model, so
a fault that was found and mended deserves a test of its own as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Protocol

from tests.simulation.choices import shrink
from tests.simulation.code import MODULES, Code, Mutant, mutated, real
from tests.simulation.crew import Crew
from tests.simulation.history import Outcome, play, quietly
from tests.simulation.transitions import Tally

SEEDS = Path(__file__).with_name("seeds.txt")


class Play(Protocol):
    """Plays one history: see `tests.simulation.history.play`."""

    def __call__(
        self, crew: Crew, code: Code, source: int | Sequence[int], tally: Tally, *, tells: bool = False
    ) -> Outcome:
        """Play it."""


@dataclass(frozen=True)
class Scenario:
    """What is simulated.

    Attributes:
        play: plays one history of it.
        modules: under test, in the order of import.
        seeds: the file with the seeds that failed before.
    """

    play: Play
    modules: Sequence[str]
    seeds: Path


LIFE = Scenario(play, MODULES, SEEDS)
"""A unit's life."""


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


def kept_seeds(file: Path | None = None) -> list[int]:
    """Return the seeds that failed before; a line is a seed and, after a #, what it found."""
    lines = (file or SEEDS).read_text(encoding="utf-8").splitlines()
    return [int(seed) for line in lines if (seed := line.partition("#")[0].strip())]


def run(seeds: Iterable[int], code: Code | None = None, *, explains: bool = True, scenario: Scenario = LIFE) -> Report:
    """Play histories until one fails.

    Args:
        seeds: of the histories.
        code: the code under test; omitted: the real one.
        explains: shrink what fails, and tell its story.
        scenario: what is simulated.
    """
    code = code or real(scenario.modules)
    report, began = Report(), process_time()
    with Crew() as crew, quietly():
        for seed in seeds:
            outcome = scenario.play(crew, code, seed, report.tally)
            report.histories += 1
            if outcome.breach:
                report.failed = seed
                report.story = _story(crew, code, seed, outcome, scenario) if explains else outcome.breach
                break
    report.seconds = process_time() - began
    return report


def keep(report: Report, file: Path | None = None) -> None:
    """Keep the seed that failed."""
    if report.failed is not None and report.failed not in kept_seeds(file):
        what = report.story.splitlines()[0]
        with (file or SEEDS).open("a", encoding="utf-8") as seeds:
            seeds.write(f"{report.failed}  # {what}\n")


def caught(mutant: Mutant, seeds: Iterable[int], scenario: Scenario = LIFE) -> Report:
    """Play histories of a mutant until one fails."""
    with mutated(mutant, scenario.modules) as code:
        return run(seeds, code, explains=False, scenario=scenario)


def _story(crew: Crew, code: Code, seed: int, outcome: Outcome, scenario: Scenario) -> str:

    def fails(choices: Sequence[int]) -> bool:
        return bool(scenario.play(crew, code, choices, Tally()).breach)

    choices = shrink(outcome.choices, fails)
    told = scenario.play(crew, code, choices, Tally(), tells=True)
    shrunk = f"shrunk from {len(outcome.choices)} choices to {len(choices)}: {list(choices)}"
    return "\n".join([f"{outcome.breach}", f"seed {seed}, {shrunk}", *told.told, f"BREACH: {told.breach}"])
