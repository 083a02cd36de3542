"""The terms of Sluice's design, each in one clause. Specs, tables, pages and messages use the same ones."""

from __future__ import annotations

from collections.abc import Mapping

TERMS: Mapping[str, tuple[str, str]] = {
    "pipeline": ("a spec in `include/pipelines`: source topic, transform, outputs, time rules, quality", ""),
    "transform": ("a pipeline's function from DataFrames to a DataFrame; stream and backfill run the same one", ""),
    "output": ("what a pipeline writes: an interval table, rows, the newest row of each key, or a Kafka topic", ""),
    "topic spec": ("a spec in `include/topics`: partitions, retention, settings, and the schema of the values", ""),
    "deployment": ("a named set of settings: where Kafka, Spark, storage and the control database are", ""),
    "feed": ("a source of records; `sluice feed send` sends each of them to a topic exactly once", ""),
    "heartbeat": ("a record that carries only a time; it closes the last intervals of a feed that ends", ""),
    "stream": ("the long-running query of a pipeline, or of a topic's raw table, in a deployment", ""),
    "unit": (
        "the streams that share one driver; they start, stop and restart together",
        "`sluice streams list` shows the units; `driver` in a spec names one",
    ),
    "driver": ("the process of a unit that runs Spark; it outlives Airflow's tasks and the terminal", ""),
    "attempt": ("one driver process of a unit, from its start to its end", "`sluice streams show` lists them"),
    "generation": (
        "the number of an attempt: every start of a unit's driver gets the next one and fences all older ones",
        "",
    ),
    "fencing": ("a driver of an older generation that wakes up can no longer publish anything", ""),
    "desired state": ("whether a unit should run, with who requested it and why; Sluice enforces it", ""),
    "claim": ("the check before a start: a living driver is adopted, and only proof of death starts another", ""),
    "adopted": ("the driver was already alive and is now watched; nothing was started", ""),
    "keeper": ("the small process beside a driver that records how it ended", ""),
    "reconciler": ("the DAG `reconcile_streams`: each minute it starts what should run and is proven dead", ""),
    "watch": ("the Airflow task that observes a running driver; stopping the task stops no stream", ""),
    "halted": (
        "the driver failed in a way, or so often, that nothing starts it until a person resumes it",
        "fix the cause; `sluice streams resume`",
    ),
    "checkpoint": ("where Spark keeps a stream's position and state", ""),
    "epoch": ("the time of a stream since its last reset; each epoch has its own checkpoint", "`sluice streams reset`"),
    "raw table": ("one Delta table per topic that holds every record exactly once, valid or not", ""),
    "validation": ("the step before every transform that makes each record good, quarantined, late or control", ""),
    "quarantine": ("the records that validation rejects, each with its reason; nothing is deleted", ""),
    "case": ("quarantined records that are handled together, from open to replayed or discarded", ""),
    "event time": ("when something happened, as a field of the record says", ""),
    "arrival time": ("when a record became known: a field of it, or the broker's time; never a driver's clock", ""),
    "allowed lateness": ("how long after its event time a record may arrive and still count in the stream", ""),
    "future skew": ("how far its event time may be ahead of its arrival time", ""),
    "watermark": ("the event time up to which a stream expects no more records", ""),
    "interval": ("an hour or a day of event time in UTC: the unit of ownership, backfill, quality and publishing", ""),
    "interval ledger": ("who wrote each interval, from which offsets, with which code, and its state", ""),
    "backfill": ("a batch over closed intervals: recompute, compare, check, publish", "`sluice backfill plan`"),
    "verify": ("the backfill mode that compares stream and batch, and the raw table with Kafka; publishes nothing", ""),
    "correct": ("the backfill mode that adds late records and may change nothing else", ""),
    "recompute": ("the backfill mode that publishes the result of today's code, with a report of differences", ""),
    "parity": ("the row-by-row comparison of what the stream wrote with what a batch computes", ""),
    "quality gate": (
        "the expectations that must hold before a backfill publishes; a gate that did not run has failed",
        "",
    ),
    "suite": ("the expectations on one pipeline's results, in `include/expectations`", ""),
    "publish": ("one commit by which readers see new intervals instead of the old ones", ""),
    "code hash": (
        "identifies the code: the transform with all its imports, validation, and the meaning of the spec",
        "",
    ),
    "verdict": ("the health of a stream, with the evidence and what to do", "`sluice explain OK` and so on"),
    "plan": ("the differences between specs and cluster, with the risk of each change", "`sluice topics plan`"),
    "principal": ("a user of the Kafka cluster that a file in `include/access` declares, with its rights", ""),
    "contract": ("the published versions of a topic's schema; each later version must be compatible with them", ""),
    "deadline": ("what a spec promises of a running stream, such as its largest delay", ""),
    "objective": ("for which share of the time an output shall be fresh and correct", "`sluice status`"),
    "error budget": ("how long an output may be bad in the window of its objective", "`sluice status`"),
    "burn rate": ("how fast an error budget is used up: at 1 it lasts for exactly one window", ""),
    "incident": ("alerts about the same problem, from the first one until it ends", "`sluice alerts open`"),
    "control database": (
        "desired states, attempts, verdicts, backfills and cases; `sluice control rebuild` rebuilds its index",
        "",
    ),
}
"""Term -> (its meaning, what to do; empty if nothing)."""
