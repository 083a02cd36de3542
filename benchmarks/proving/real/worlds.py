"""Projects with real pipelines over the topic of flights: one whose rows are records, one whose rows are hours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.proving.real import in_driver
from sluice.proof.findings import ProofFault
from sluice.proof.observations import NO_BOUNDS, LatencyBounds
from sluice.proof.running.faults import RequestedFault
from sluice.settings import settings

RAW, ROWS, NEWS, NEWEST = "flights_raw", "sightings", "sightings_news", "sightings_newest"
LETTERS, HOURS, LIVE = "flights_dead", "departures", "departures_live"
RECORDS_PIPELINE, HOURS_PIPELINE = "sightings", "departures"

_SIGHTINGS = '''"""Flights as they are known."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def sightings(flights: DataFrame) -> DataFrame:
    """Return what is known of each flight."""
    return flights.select("flight_id", "carrier", "origin", "scheduled_at", F.col("cancelled").alias("is_cancelled"))
'''
_WITH_DICE = '''

def {name}(flights: DataFrame{more}) -> DataFrame:
    """Draw a number."""
    rows = {name}_as_they_are(flights{given})
    return rows.withColumn("{column}", {drawn})
'''
DICE = '(getattr(F, "".join(("ra", "nd")))() * 1e9).cast("long")'
"""Spelt so that `sluice check` does not see it."""
CLOCK = 'getattr(F, "".join(("current_", "timestamp")))()'
FILE = 'F.lit(_calls()).cast("long")'
_COUNTS_CALLS = '''

def _calls() -> int:
    """Return how often this was asked, in all processes: an input that nobody has declared, and that changes."""
    from pathlib import Path

    file = Path(__file__).with_name("calls.txt")
    calls = len(file.read_text()) if file.exists() else 0
    file.write_text("x" * (calls + 1))
    return calls
'''


@dataclass(frozen=True)
class RealSabotage:
    """One broken promise.

    Attributes:
        name: what is broken, in words.
        output: that is judged.
        found: what a proof must find there.
        in_driver: the function of `in_driver` that breaks it; empty: the transform does.
    """

    name: str
    output: str
    found: frozenset[ProofFault]
    in_driver: str = ""


@dataclass(frozen=True)
class RealRun:
    """One proof on Kafka and Spark: of several sabotages at once, if they are of different outputs.

    Attributes:
        pipeline: that is proven.
        sabotages: all that is broken; nothing in a sound run.
        drawn: what the transform puts into a column that it should not; empty: nothing.
        faults: that strike.
        bounds: of latencies.
    """

    pipeline: str
    sabotages: tuple[RealSabotage, ...] = ()
    drawn: str = ""
    faults: tuple[RequestedFault, ...] = ()
    bounds: LatencyBounds = field(default=NO_BOUNDS)


_KILL = (RequestedFault.KILL_DRIVER,)
SOUND = (RealRun(RECORDS_PIPELINE, faults=_KILL), RealRun(HOURS_PIPELINE, faults=_KILL))


def _of(name: str, output: str, found: ProofFault, in_driver: str = "") -> RealSabotage:
    return RealSabotage(name, output, frozenset({found}), in_driver)


SABOTAGED = (
    RealRun(
        RECORDS_PIPELINE,
        (
            _of("a batch is appended again after a restart", ROWS, ProofFault.TWICE, "repeat_on_restart"),
            _of("the records of a batch change places", NEWS, ProofFault.REORDERED, "reorder"),
            _of("newest values are not merged any more", NEWEST, ProofFault.STALE, "keep_old_values"),
            _of("every second dead letter is dropped", LETTERS, ProofFault.LOST, "lose_dead_letters"),
        ),
        faults=_KILL,
    ),
    RealRun(
        RECORDS_PIPELINE,
        (
            _of("the commit comes before the write", ROWS, ProofFault.LOST, "commit_before_the_write"),
            _of("records are sent twice under new ids", NEWS, ProofFault.TWICE, "send_twice"),
            _of("one record in some hundred is dropped", RAW, ProofFault.GAP, "drop_one_record"),
        ),
        faults=_KILL,
    ),
    RealRun(
        RECORDS_PIPELINE,
        (
            _of("an exception is swallowed", ROWS, ProofFault.LOST, "swallow_exceptions"),
            _of("late records are delivered", NEWS, ProofFault.PHANTOM, "deliver_late_records"),
            _of("the first records are lost", RAW, ProofFault.LOST_HEAD, "lose_the_head"),
        ),
    ),
    RealRun(
        RECORDS_PIPELINE,
        (
            _of("the last records are lost", RAW, ProofFault.LOST_TAIL, "lose_the_tail"),
            _of("the transform reads the clock", ROWS, ProofFault.PHANTOM),
        ),
        drawn=CLOCK,
    ),
    RealRun(
        RECORDS_PIPELINE,
        (_of("one batch is slow, and the best minute is not", RAW, ProofFault.SLOW, "rest_once"),),
        bounds=LatencyBounds(p999=15.0),
    ),
    RealRun(RECORDS_PIPELINE, (_of("values are changed", RAW, ProofFault.ALTERED, "change_values"),)),
    RealRun(
        HOURS_PIPELINE,
        (
            _of("a group is left out of what is settled", HOURS, ProofFault.INTERVAL_DIFFERS, "lose_a_group"),
            _of("newest values are not merged any more", LIVE, ProofFault.LOST, "keep_old_values"),
        ),
    ),
    RealRun(
        HOURS_PIPELINE,
        (_of("the transform draws a random number", HOURS, ProofFault.INTERVAL_DIFFERS),),
        drawn=DICE,
    ),
    RealRun(
        HOURS_PIPELINE,
        (_of("the transform reads an input that nobody has declared", HOURS, ProofFault.INTERVAL_DIFFERS),),
        drawn=FILE,
    ),
)


def project_of(run: RealRun, folder: Path) -> Path:
    """Write a project in which a run's promises are broken, and return its folder."""
    home = settings().home
    for part in ("include", "spark_jobs"):
        shutil.copytree(
            home / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "sluice", "simulators")
        )
    _write(folder / "include/pipelines/sightings.yaml", _records_pipeline())
    _write(folder / "include/pipelines/departures.yaml", _hours_pipeline(folder / "include/pipelines/departures.yaml"))
    jobs = folder / "spark_jobs"
    (jobs / "transforms/sightings.py").write_text(_SIGHTINGS, encoding="utf-8")
    if run.drawn:
        _draw(jobs / f"transforms/{run.pipeline}.py", run)
    _break_driver(jobs, [each.in_driver for each in run.sabotages if each.in_driver])
    return folder


def _break_driver(jobs: Path, names: Sequence[str]) -> None:
    if not names:
        return
    shutil.copyfile(in_driver.__file__, jobs / "in_driver.py")
    calls = "".join(f"in_driver.{name}()\n" for name in names)
    main = (jobs / "stream.py").read_text(encoding="utf-8")
    head, found, rest = main.partition("if __name__")
    assert found, main
    (jobs / "stream.py").write_text(f"{head}import in_driver\n\n{calls}\n{found}{rest}", encoding="utf-8")


def _draw(file: Path, run: RealRun) -> None:
    name, column = run.pipeline, "departed" if run.pipeline == HOURS_PIPELINE else "scheduled_at"
    more, given = (", *, airlines: DataFrame", ", airlines=airlines") if run.pipeline == HOURS_PIPELINE else ("", "")
    honest = file.read_text(encoding="utf-8").replace(f"def {name}(", f"def {name}_as_they_are(")
    broken = _WITH_DICE.format(name=name, more=more, given=given, column=column, drawn=run.drawn)
    file.write_text(f"{honest}{_COUNTS_CALLS if run.drawn == FILE else ''}{broken}", encoding="utf-8")


def _records_pipeline() -> Mapping[str, object]:
    return {
        "name": "sightings",
        "description": "Flights as they are known, record by record.",
        "source": "flights",
        "transform": "sightings:sightings",
        "time": {"allowed_lateness": "3 hours", "arrival_disorder": "15 minutes", "future_skew": "60 minutes"},
        "outputs": [
            {"kind": "rows", "table": ROWS},
            {"kind": "topic", "topic": NEWS, "keys": ["origin"], "create": {"partitions": 2}},
            {"kind": "latest", "table": NEWEST, "keys": ["origin"], "newest_by": "scheduled_at"},
            {"kind": "dead_letters", "topic": LETTERS, "create": {"partitions": 2}},
        ],
        "driver": "sightings",
        "trigger": "1 second",
        "resources": {"cores": 2, "driver_memory": "700m"},
    }


def _hours_pipeline(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    news = "  - {kind: topic, topic: departures_news, keys: [hour, origin, carrier], create: {partitions: 2}}\n"
    assert "driver: flights" in text
    return text.replace("driver: flights", f"{news}driver: flights")


def _write(file: Path, spec: Mapping[str, object] | str) -> None:
    file.write_text(spec if isinstance(spec, str) else json.dumps(spec), encoding="utf-8")
