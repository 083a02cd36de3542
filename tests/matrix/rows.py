"""The rows of the fault matrix: what may happen, and what must be true afterwards. Tests declare which row they prove.

`@pytest.mark.proves("<name>")` declares it, and the fixture `faults` takes what the test has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MatrixRow:
    """One fault.

    Attributes:
        number: its place in the table.
        fault: what happens.
        expected: what must be true then.
        untried: why no test of this run tries it; empty: one does.
    """

    number: int
    fault: str
    expected: str
    untried: str = ""


def _numbered(rows: Mapping[str, tuple[str, ...]]) -> dict[str, MatrixRow]:
    return {name: MatrixRow(number, *texts) for number, (name, texts) in enumerate(rows.items(), start=1)}


MATRIX = _numbered(
    {
        "driver-killed": (
            "SIGKILL to a driver and its JVM around every step of a batch",
            "the next generation repeats the batch and writes nothing twice",
        ),
        "executor-killed": (
            "SIGKILL to an executor in the middle of a task",
            "its task is run again, the driver lives",
        ),
        "broker-killed": (
            "SIGKILL to one of three brokers that leads partitions being written",
            "the driver goes on without a restart; what was acknowledged is kept",
        ),
        "scheduler-killed": ("SIGKILL to Airflow's scheduler and DAG processor", "no driver is started or stopped"),
        "triggerer-killed": (
            "SIGKILL to a triggerer, and SIGSTOP for 65 s beside a second one",
            "another one watches; nothing is stopped, though two watch for a while",
        ),
        "worker-killed": (
            "SIGKILL to the process of a DAG run between submit, bind, watch and event",
            "the next run adopts the one driver",
        ),
        "run-cleared": (
            "a watch is cleared or marked, its run marked or deleted",
            "the driver lives, and is watched again",
        ),
        "records-silent": (
            "SIGKILL to Airflow's API server; the control database locked beside a stream",
            "the stream goes on; a start is refused, and nothing is decided",
        ),
        "second-driver": (
            "a second driver of the same stream, on one checkpoint and on two",
            "the older one is fenced",
        ),
        "zombie": (
            "a driver sleeps with a batch planned or written, and wakes up beside its successor",
            "it is fenced",
        ),
        "disk-full": (
            "the disk of tables, checkpoints and state is full, and later not",
            "it stops by name, and goes on",
        ),
        "poison-records": (
            "tombstones, empty, malformed, mistyped and incomplete records, while the driver dies",
            "each is quarantined with its reason, and told once",
        ),
        "schema-drift": (
            "a producer begins to write another type",
            "the circuit breaker stops the pipeline, not the raw stream",
        ),
        "late-records": (
            "flights of closed intervals come late",
            "exactly their intervals are marked, and repaired by themselves",
        ),
        "clock-skew": ("records of the year 2100 and of clocks ahead", "they are quarantined, and close nothing"),
        "retention-overtakes": (
            "records go before a stopped stream has read them",
            "DATA_LOSS; the gap is known by offset, and acknowledged by a person",
        ),
        "topic-recreated": ("a topic is deleted and created again", "DATA_LOSS, until a reset begins a new epoch"),
        "partitions-added": (
            "a topic grows from four to six partitions under a driver",
            "the new ones are read from their start",
        ),
        "checkpoint-damaged": (
            "metadata or offsets of a checkpoint are damaged, or all of it is lost",
            "CORRUPT, or read again",
        ),
        "backfill-races": (
            "backfills write intervals beside a stream that closes them",
            "no version of the table is a mix",
        ),
        "backfill-killed": ("SIGKILL to a backfill at every point", "its key resumes it, and one publication is there"),
        "kafka-silent": (
            "all brokers are stopped by SIGSTOP beneath a stream",
            "the driver waits; nobody submits another",
        ),
        "crash-loop": (
            "drivers that fail at once, every time",
            "waits double, the budget of the class ends them, and a person resumes it",
        ),
        "rights-revoked": (
            "a right of the stream's user is revoked",
            "AUTHORISATION; it goes on when the right is back",
        ),
        "gate-fails": (
            "an expectation cannot be evaluated, the engine raises, or there are no rows",
            "nothing is published",
        ),
        "planner-killed": (
            "an apply dies before any of its calls, on four brokers",
            "the next plan leads to what is declared",
        ),
        "secret-replaced": (
            "a password or a client's secret is replaced beneath a stream and a feed",
            "both go on with the new one",
        ),
        "certificate-replaced": (
            "a client's certificate is replaced, by half of a file first",
            "connections show the new one",
        ),
        "engine-killed": (
            "SIGKILL to the warm engine while a backfill runs in it",
            "the backfill fails by name, and its key resumes it",
        ),
        "mirror-killed": ("SIGKILL to MirrorMaker, three times while it copies", "every record is in the copy once"),
        "source-lost": ("SIGKILL to the broker that a mirrored stream reads", "the stream goes on in the copy"),
        "bucket-fails": ("a bucket refuses reads, and loses its answers to commits", "intervals are settled once"),
        "machine-lost": (
            "a machine is lost with all its folders; bucket and Kafka are left",
            "another one goes on exactly",
        ),
        "idle-end-raced": (
            "records come between a planned driver's decision to end and its end",
            "the next one reads them",
        ),
        "upkeep-killed": (
            "SIGKILL to the removal of old raw records, between the floor and the removal",
            "the floor stands, and the next round removes what lies below it",
        ),
        "jvm-killed": ("SIGKILL to the JVM beneath a driver", "the driver ends by a name of its own"),
        "workers-killed": (
            "SIGKILL to workers and the master of a Spark cluster",
            "the stream waits, says so, and goes on",
        ),
        "pairs": ("two faults at once, drawn by a seed, on one live stream", "as for each alone"),
        "machines-of-containers": (
            "containers are killed, paused and cut off from the network, alone and in pairs",
            "the week of flights is exact",
            'needs a Docker engine and half an hour: `make bench NAME="machines compose"` runs it',
        ),
    }
)
"""The rows by the names under which tests declare them. The first 26 are those of the design, in its order."""

TRIED = frozenset(name for name, row in MATRIX.items() if not row.untried)
"""The rows that a run of the matrix must see."""
