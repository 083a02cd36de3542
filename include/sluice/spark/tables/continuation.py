"""Calls of a transform in the order of time: each continues the state that the one before has left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from sluice.delta.carried_log import left_before
from sluice.intervals.carried import NO_STATE, Carried, LeftState
from sluice.spark.records.pipeline import PipelineCode, called, rows_of, table_rows
from sluice.spark.sinks.collected import brought
from sluice.spark.tables.carried_states import CarriedStates
from sluice.spark.tables.raw_table import frame_of
from sluice.specs.model.outputs import CarriedTable
from sluice.storage.folder import Folder


class Continuation:
    """The calls of one computation.

    Args:
        states: of the pipeline.
        left_before: returns the state that an interval continues, as far as the table's log says it.
        computed: the states that intervals continued and left which were computed before, by their starts; those of
            this computation are added. One of a later interval than the log says is continued instead.
    """

    def __init__(
        self,
        states: CarriedStates,
        left_before: Callable[[datetime], LeftState],
        computed: dict[datetime, Carried] | None = None,
    ) -> None:
        self._states = states
        self._left_before = left_before
        self._computed = {} if computed is None else computed
        self.carried: dict[datetime, Carried] = {}
        """Those of this computation."""

    def call(self, start: datetime, good: Mapping[str, DataFrame], code: PipelineCode) -> DataFrame:
        """Return the rows of one interval, and keep what it leaves.

        Args:
            start: of the interval.
            good: what the transform is given. Of an interval without records nothing is asked, and its state stays.
            code: the pipeline's.

        Raises:
            RefusedError: a state is gone, or no table with its keys.
        """
        if all(each.isEmpty() for each in good.values()):
            return rows_of(good, code).limit(0)
        before = self._left_before(start).or_newer(self._computed_before(start)).digests
        made = called(good, code.continuing(self._states.frames(before)))
        after = {name: self._states.keep(name, rows) for name, rows in made.after.items()}
        self.carried[start] = self._computed[start] = Carried(before, after)
        return table_rows(made.rows, good, code)

    def _computed_before(self, start: datetime) -> LeftState:
        newest = max((at for at in self._computed if at < start), default=None)
        return NO_STATE if newest is None else LeftState(newest, self._computed[newest].after)


def in_memory(good: Mapping[str, DataFrame], code: PipelineCode) -> dict[str, DataFrame]:
    """Return what a call is given, decoded once for rows and states; what outgrows the driver stays as it is.

    Args:
        good: see `Continuation.call`.
        code: the pipeline's.
    """
    held = dict[str, DataFrame]()
    for name, records in good.items():
        source = code.sources.get(name)
        taken = records if source is None else records.select(*source.taken_columns)
        table = brought(taken)
        held[name] = taken if table is None else frame_of(records.sparkSession, table)
    return held


def settling_continuation(
    spark: SparkSession, carries: Mapping[str, CarriedTable], folder: Folder, table: Folder
) -> Callable[[datetime], Continuation] | None:
    """Return what makes the calls of a settlement, by the start of its first interval; None without states.

    The log is asked once: what it says of later intervals was withdrawn.

    Args:
        spark: the session.
        carries: the tables that the pipeline's intervals hand on.
        folder: of the states.
        table: the folder of the interval table.
    """
    if not carries:
        return None
    states = CarriedStates(spark, folder, carries)

    def begun(start: datetime) -> Continuation:
        left = left_before(table, start)
        return Continuation(states, lambda _: left)

    return begun
