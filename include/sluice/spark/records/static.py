"""Static inputs as data frames, made on the driver, so that executors need no file."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from sluice.specs.model.model import PipelineSpec
from sluice.static.places import StaticPlaces
from sluice.static.reading import read_static_input
from sluice.static.snapshots import ReloadedInputs


def read_static(
    spark: SparkSession, pipeline: PipelineSpec, places: StaticPlaces, *, without: tuple[str, ...] = ()
) -> dict[str, DataFrame]:
    """Return the static inputs of a pipeline by name, as they are now, but for some.

    Raises:
        SluiceError: one cannot be read, see `read_static_input`.
    """
    wanted = {name: static for name, static in pipeline.static.items() if name not in without}
    return {name: spark.createDataFrame(read_static_input(static, places)) for name, static in wanted.items()}


class ChangingStatic:
    """The static inputs of a pipeline that may change while its streams run, as data frames.

    Args:
        spark: the session.
        inputs: the snapshots of them.
    """

    def __init__(self, spark: SparkSession, inputs: ReloadedInputs) -> None:
        self._spark = spark
        self._inputs = inputs
        self._frames: dict[tuple[str, str], DataFrame] = {}

    def newest(self) -> Mapping[str, str]:
        """Return the digest of each, see `ReloadedInputs.newest`."""
        return self._inputs.newest()

    def frames(self, digests: Mapping[str, str]) -> dict[str, DataFrame]:
        """Return what they held.

        Raises:
            RefusedError: a snapshot is gone.
        """
        wanted = digests.items()
        self._frames = {each: self._frames[each] if each in self._frames else self._frame(*each) for each in wanted}
        return {name: frame for (name, _), frame in self._frames.items()}

    def _frame(self, name: str, digest: str) -> DataFrame:
        return self._spark.createDataFrame(self._inputs.rows(name, digest))
