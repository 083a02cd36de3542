"""What people would write or take instead: PySpark by hand, Flink SQL and Kafka Streams, over the same ad events.

Each program drains one topic to its end and stops by itself, a fresh process each, interleaved: JSON, a filter, a join
with a static table, a count per window. Results are compared with an oracle first. What counts is processor time per
million records, as the slope between two sizes, so that starts cancel.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.draining import ads
from benchmarks.peers.figures import figures, slopes
from benchmarks.peers.installs import fault_of
from benchmarks.peers.programs import PROGRAMS, Place, ResultTopic, results, write_projects
from benchmarks.topics import private_topics
from sluice.settings import StateFolder

_EVENTS = {"full": (200_000, 2_000_000), "once": (200_000, 2_000_000), "small": (10_000, 40_000)}
_ROUNDS = {"full": 3, "once": 1, "small": 1}


def run(size: str = "full", *names: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `equal`, the ratios of processor time (ours ÷ theirs), and `events_per_s_core`.

    Args:
        size: `once` is one round of `full`.
        names: the programs that run; all if there are none. Ours is always among them.
    """
    chosen = {name: PROGRAMS[name] for name in PROGRAMS if not names or name in {*names, "full"}}
    missing = {name: fault for name, program in chosen.items() if (fault := fault_of(program.install))}
    order, found = [name for name in chosen if name not in missing], list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(prefix="sluice-peers-") as folder:
        bench = Bench(Path(folder))
        for count in _EVENTS[size]:
            found += bench.trials(count, order, _ROUNDS[size])
    cpu: defaultdict[str, defaultdict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in found:
        cpu[trial["program"]][trial["events"]].append(trial["cpu"])
    notes = {"size": size, "missing": missing, "trials": found, "cpu_s_per_million": _rounded(slopes(cpu))}
    return {"equal": all(trial["wrong"] == 0 for trial in found), **figures(cpu)}, notes


class Bench:
    """Trials over topics of several sizes, a broker for each.

    Args:
        folder: for brokers and state.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        write_projects(folder / "project")

    def trials(self, count: int, names: Sequence[str], rounds: int) -> Iterator[dict[str, Any]]:
        """Run all programs over so many events; who went first goes last in the next round."""
        include = self._folder / "project" / "include"
        with private_topics(self._folder / f"broker-{count}", include) as topics:
            ads.publish(topics.bootstrap, count)
            for number in range(rounds):
                for name in names[:: 1 if number % 2 == 0 else -1]:
                    trial = self._trial(topics.bootstrap, count, name)
                    print(trial, file=sys.stderr, flush=True)
                    yield trial

    def _trial(self, bootstrap: str, count: int, name: str) -> dict[str, Any]:
        state, program = StateFolder(self._folder / "state"), PROGRAMS[name]
        state.root.mkdir()
        place, topic = Place(bootstrap, self._folder / "project", state), ResultTopic(bootstrap)
        cost = program.run(place)
        wrong = ads.differences(results(program, place, topic), count)
        shutil.rmtree(state.root)
        return {"program": name, "events": count, "wrong": wrong, **asdict(cost)}


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in values.items()}
