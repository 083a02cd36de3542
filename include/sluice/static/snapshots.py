"""Static inputs that change while streams run: what was read is kept by its digest, before any row is made with it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyarrow import parquet

from sluice.clock import Clock, SystemClock
from sluice.errors import CorruptionError, RefusedError
from sluice.specs.model.model import PipelineSpec
from sluice.static.columns import schema_of
from sluice.static.places import StaticPlaces
from sluice.static.reading import StaticContent, content_of
from sluice.storage.folder import Folder
from sluice.storage.objects import Objects, objects_in


class ReloadedInputs:
    """The static inputs of a pipeline that say `reload`.

    Args:
        pipeline: its spec.
        places: where they are.
        folder: of all snapshots of the deployment.
        clock: says when one is read again.
    """

    def __init__(
        self, pipeline: PipelineSpec, places: StaticPlaces, folder: Folder, clock: Clock | None = None
    ) -> None:
        self._inputs = {name: static for name, static in pipeline.static.items() if static.reload is not None}
        self._places = places
        self._folder = folder / pipeline.name
        self._clock = clock or SystemClock()
        self._digests: dict[str, str] = {}
        self._read_at: dict[str, float] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs."""
        return tuple(self._inputs)

    def newest(self) -> Mapping[str, str]:
        """Return the digest of each, read again where its `reload` has passed; a new content is kept first.

        Raises:
            SluiceError: one cannot be read, see `sluice.static.reading.content_of`.
        """
        for name, static in self._inputs.items():
            now, read_at = self._clock.monotonic(), self._read_at.get(name)
            if static.reload is None or (read_at is not None and now - read_at < static.reload.total_seconds()):
                continue
            content = content_of(static, self._places)
            self._keep(name, content)
            self._digests[name], self._read_at[name] = content.digest, now
        return dict(self._digests)

    def rows(self, name: str, digest: str) -> pa.Table:
        """Return what an input held.

        Raises:
            RefusedError: its snapshot is gone, or was read for other columns than are declared now.
            CorruptionError: it cannot be read.
            UnreachableError: the storage does not answer.
        """
        snapshots, file = self._snapshots(name), _file(digest)
        place, content = snapshots.place(file), snapshots.read(file)
        newest = "compute with what it holds now: `--static newest`, in mode `recompute`"
        if content is None:
            raise RefusedError(
                f"the snapshot {digest[:12]} of the static input {name!r} is not there any more: {place}.",
                fix=f"restore the file, or {newest}.",
            )
        try:
            table = parquet.read_table(pa.BufferReader(content))
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptionError(f"{place} cannot be read: {error}.", fix=f"restore it, or {newest}.") from None
        declared = schema_of(self._inputs[name].column_types)
        if not all(
            field.name in table.schema.names and table.schema.field(field.name).equals(field) for field in declared
        ):
            raise RefusedError(
                f"the snapshot {digest[:12]} of the static input {name!r} was read for other columns than the spec "
                "declares now.",
                fix=f"{newest}.",
            )
        return table.select(declared.names)

    def _keep(self, name: str, content: StaticContent) -> None:
        """Write a snapshot, unless it is there, and return when it is kept durably."""
        snapshots, file = self._snapshots(name), _file(content.digest)
        if snapshots.has(file):
            return
        written = pa.BufferOutputStream()
        parquet.write_table(content.rows(), written)
        snapshots.put(file, written.getvalue().to_pybytes())

    def _snapshots(self, name: str) -> Objects:
        return objects_in(self._folder / name)


def _file(digest: str) -> str:
    return f"{digest}.parquet"
