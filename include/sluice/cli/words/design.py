"""The words in which Sluice is described, each in one clause: the same in specs, tables, pages and messages."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, tuple[str, str]] = {
    "pipeline": ("one spec in `include/pipelines`: source topic, transform, outputs, time rules, quality", ""),
    "transform": (
        "a pipeline's function from DataFrames to a DataFrame; stream and backfill run the same one",
        "",
    ),
    "output": ("what a pipeline writes: an interval table, rows, the newest row of each key, or a Kafka topic", ""),
    "topic spec": ("one spec in `include/topics`: partitions, retention, settings, and the schema of the values", ""),
    "deployment": ("a named set of settings: where Kafka, Spark, storage and the control database are", ""),
    "feed": ("a source of records that `sluice feed send` puts into a topic, each once", ""),
    "heartbeat": ("a record that says only how late it is; it closes the last intervals of a feed that ends", ""),
    "stream": ("the long-running query of a pipeline, or of a topic's raw table, in a deployment", ""),
    "unit": (
        "the streams that share one driver; they are started, stopped and restarted together",
        "`sluice streams list` shows which there are; `driver` in a spec names it",
    ),
    "driver": ("the process of a unit that runs Spark; it outlives Airflow's tasks and the terminal", ""),
    "attempt": ("one driver process of a unit, from its start to its end", "`sluice streams show` lists them"),
    "generation": (
        "the number of an attempt: every start of a unit's driver gets the next one, and fences all older ones",
        "",
    ),
    "fencing": ("a driver of an older generation that wakes up can publish nothing any more", ""),
    "desired state": ("who last asked for a unit to run or to be stopped, and why; Sluice makes it true", ""),
    "claim": ("the look before a start: a driver that lives is adopted, and only proof of death starts another", ""),
    "adopted": ("the driver lives already, and is watched as it is: nothing was started", ""),
    "keeper": ("the small process beside a driver that puts its end on record", ""),
    "reconciler": ("the DAG `reconcile_streams`: each minute it starts what should run and is proven dead", ""),
    "watch": ("the Airflow task that looks at a running driver; stopping the task stops no stream", ""),
    "halted": (
        "the driver failed in a way, or so often, that nothing starts it until a person asks for it",
        "mend the cause; `sluice streams resume`",
    ),
    "checkpoint": ("where Spark keeps how far a stream has read, and its state", ""),
    "epoch": ("a stream's story since its last reset; each has a checkpoint of its own", "`sluice streams reset`"),
    "raw table": ("one Delta table per topic that holds every record exactly once, also those that are no good", ""),
    "validation": ("the step before every transform that makes each record good, quarantined, late or control", ""),
    "quarantine": ("the records that validation refuses, with the reason of each; nothing is deleted", ""),
    "case": ("quarantined records that somebody deals with together, from open to replayed or discarded", ""),
    "event time": ("when something happened, as a field of the record says", ""),
    "arrival time": (
        "when a record became known: a field of it, or the broker's time; never a driver's clock",
        "",
    ),
    "allowed lateness": ("how long after its event time a record may arrive and still count in the stream", ""),
    "future skew": ("how far its event time may lie after its arrival time", ""),
    "watermark": ("the event time up to which a stream waits for no further records", ""),
    "interval": ("an hour or a day of event time in UTC: the unit of ownership, backfill, quality and publishing", ""),
    "interval ledger": ("who wrote each interval, from which offsets, with which code, and its state", ""),
    "backfill": ("a batch over closed intervals: recompute, compare, check, publish", "`sluice backfill plan`"),
    "verify": ("the mode of a backfill that compares stream and batch row by row, and publishes nothing", ""),
    "correct": ("the mode of a backfill that brings late records in and may change nothing else", ""),
    "recompute": ("the mode of a backfill that publishes what today's code gives, with a report of differences", ""),
    "parity": ("the comparison, row by row, of what the stream wrote with what a batch computes", ""),
    "quality gate": (
        "the expectations that must hold before a backfill publishes; a gate that did not run failed",
        "",
    ),
    "suite": ("the expectations on one pipeline's results, in `include/expectations`", ""),
    "publish": ("one commit by which readers see new intervals instead of the old ones", ""),
    "code hash": ("what names the code: the transform with all it imports, validation, and what the spec means", ""),
    "verdict": ("how a stream is, with the evidence and what to do", "`sluice explain OK` and so on"),
    "plan": ("the difference between specs and cluster, with the risk of each change", "`sluice topics plan`"),
    "principal": ("a user of the Kafka cluster that a file in `include/access` declares, with its rights", ""),
    "contract": ("a published version of a topic's schema that later versions must be compatible with", ""),
    "deadline": ("what a spec promises of a running stream, such as how late it may be", ""),
    "incident": ("alerts about the same thing, from the first until it is over", "`sluice alerts open`"),
    "control database": (
        "wishes, attempts, verdicts, backfills, cases; `sluice control rebuild` rebuilds its index",
        "",
    ),
}
"""The meaning of each, and what to do with it; empty where there is nothing."""
