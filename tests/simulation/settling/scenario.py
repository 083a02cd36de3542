"""The simulation of settling: what is played, over which code."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.simulation.campaign import Scenario
from tests.simulation.settling.history import play
from tests.simulation.settling.mutants import MODULES

SETTLING = Scenario(play, MODULES, Path(__file__).with_name("seeds.txt"))
LOSING = Scenario(partial(play, loses=True), MODULES, Path(__file__).with_name("seeds_losing.txt"))
"""The same, and records are lost before they are read."""

SEEN = (
    *(f"call: {call}" for call in ("open", "read", "pin", "listed_ends", "examine", "compute", "commit", "holds")),
    *(f"round: {outcome}" for outcome in ("settled", "waiting", "examining", "raced", "raw_behind")),
    *(f"fault: {fault}" for fault in ("crash", "poison", "new topic", "transaction", "quiet")),
    *("fault: commit is lost", "fault: answer is lost"),
    *("two topics", "settled past an empty topic", "begins late"),
    *("settled", "settled in silence", "marked", "settler: fenced", "backfill: published", "backfill: refused"),
    *("person withdraws", "person confirms", "person refuses"),
)
"""What a campaign must have seen."""
