"""Where a sink of a project keeps which batch it holds, in the database of its rows, whatever database that is."""

from __future__ import annotations

from typing import Protocol

import sqlalchemy as sa

from sluice.streams.position.fencing import FencedError

_positions = sa.Table(
    "sluice_positions",
    sa.MetaData(),
    sa.Column("stream", sa.String(400), primary_key=True),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
)


class StoredBatch(Protocol):
    """What is put on record of a batch; see `sluice.spark.sinks.own.SinkBatch`."""

    @property
    def stream(self) -> str:
        """Of which it is."""

    @property
    def generation(self) -> int:
        """Of the driver that writes it."""

    @property
    def token(self) -> str:
        """Says which batch it is."""

    @property
    def after(self) -> str | None:
        """The token that must be on record before."""


def newest_token(connection: sa.Connection, stream: str) -> str | None:
    """Return the token of the newest batch of a stream that the database holds."""
    if not sa.inspect(connection).has_table(_positions.name):
        return None
    return connection.execute(sa.select(_positions.c.token).where(_positions.c.stream == stream)).scalar()


def store_token(connection: sa.Connection, batch: StoredBatch) -> None:
    """Put a batch on record, in the transaction that writes its rows.

    Args:
        connection: within a transaction, which is rolled back if this raises.
        batch: whose rows it writes.

    Raises:
        FencedError: the database holds another batch than the one before: another driver has written.
    """
    _positions.metadata.create_all(connection)
    mine = _positions.c.stream == batch.stream
    held = connection.execute(sa.select(_positions).where(mine).with_for_update()).one_or_none()
    if held is None and batch.after is None:
        connection.execute(_positions.insert().values(stream=batch.stream, generation=0, token=""))
    elif held is None or held.generation > batch.generation or held.token != batch.after:
        raise FencedError.of(f"the sink of {batch.stream}", -1 if held is None else held.generation, batch.generation)
    connection.execute(_positions.update().where(mine).values(generation=batch.generation, token=batch.token))
