"""Whether what a stream remembers fits its code: Spark says so when it plans a batch, so one is planned on a copy.

The copy holds what Spark checks before it runs a batch: the newest plan, and the schemas of the state. It has no
state and no commit of that plan, so Spark plans the batch once more, checks everything, and hands it to a sink that
does nothing. The checkpoint itself is only read.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from pyspark.sql import DataFrame

from sluice.clock import SystemClock
from sluice.errors import CorruptionError, UnreachableError
from sluice.launch.processes import wait_until
from sluice.spark.session.session import settings_for
from sluice.streams.position.checkpoint import Checkpoint, location

_STATE_SCHEMAS = ("_metadata", "_stateSchema", "0/_metadata", "0/*/_metadata", "0/_stateSchema")
"""Where Spark's state stores keep what their rows look like, below the folder of an operator: beside their partitions
or in the first of them."""
_WITHOUT_EXECUTION = {
    "spark.sql.streaming.stateStore.commitValidation.enabled": "false",  # no state is committed
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # Spark executes what it broadcasts while it plans, state and all
}
_SECONDS = 120.0


def refuse_incompatible(rows: DataFrame, checkpoint: Path, output_mode: str) -> None:
    """Make sure that a stream can go on from its checkpoint; one that has planned nothing yet can.

    Args:
        rows: the stream's result, with whatever columns its outputs take; only its plan is used.
        checkpoint: its folder.
        output_mode: `append` or `update`.

    Raises:
        CorruptionError: the checkpoint lacks a file that Spark always writes, or one cannot be read.
        Exception: what Spark has against it.
        UnreachableError: Spark has not planned the batch in time.
    """
    newest = max(
        (int(file.name) for file in (checkpoint / "offsets").glob("[0-9]*") if file.name.isdigit()), default=-1
    )
    if newest < 0:
        return
    _refuse_damaged(checkpoint, newest)
    with TemporaryDirectory(prefix="sluice-rehearsal-", ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch) / "checkpoint"
        _copy(checkpoint, copy, newest)
        _plan_a_batch(rows, copy, output_mode)


def _refuse_damaged(checkpoint: Path, newest: int) -> None:
    """Read what Spark would read first: of a file that is cut off it says no more than `next on empty iterator`."""
    reader = Checkpoint(checkpoint)
    if reader.lineage() is None:
        raise CorruptionError(
            f"{checkpoint} holds the plan of batch {newest} and no file `metadata`, which Spark writes first.",
            fix="keep a copy of the checkpoint; see the runbook for a damaged checkpoint.",
        )
    for batch_id in range(max(0, newest - 1), newest + 1):
        reader.planned(batch_id)


def _copy(checkpoint: Path, copy: Path, newest: int) -> None:
    beginnings = [str(found.relative_to(checkpoint)) for found in checkpoint.glob("sources/*/0")]
    plans = ["metadata", *beginnings, f"offsets/{newest}", f"offsets/{newest - 1}", f"commits/{newest - 1}"]
    schemas = [found for below in _STATE_SCHEMAS for found in checkpoint.glob(f"state/*/{below}")]
    for source in (*(checkpoint / name for name in plans), *schemas):
        target = copy / source.relative_to(checkpoint)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copyfile(source, target)


def _plan_a_batch(rows: DataFrame, checkpoint: Path, output_mode: str) -> None:
    planned = Event()
    writer = (
        rows.writeStream.outputMode(output_mode)
        .option("checkpointLocation", location(checkpoint))
        .trigger(processingTime="1 hour")  # one batch, and then nothing until it is stopped
        .foreachBatch(lambda _rows, _batch_id: planned.set())
    )
    with settings_for(rows.sparkSession, _WITHOUT_EXECUTION):
        query = writer.start()
    try:
        wait_until(lambda: planned.is_set() or not query.isActive, SystemClock(), deadline_seconds=_SECONDS)
        refusal = None if planned.is_set() else query.exception()
    finally:
        query.stop()
    if refusal is not None:
        raise refusal
    if not planned.is_set():
        raise UnreachableError(
            f"Spark has planned no batch of this stream within {_SECONDS:.0f} s.", fix="see the log; start it again."
        )
