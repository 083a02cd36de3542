"""The source of each kind of live output, as a project says where it is."""

from __future__ import annotations

from sluice.live.source import LiveSource
from sluice.project.project import Project
from sluice.serve.hub import LiveOutput
from sluice.settings import connection_url
from sluice.specs.model.access import Role
from sluice.specs.model.outputs import LatestOutput


def open_source(project: Project, output: LiveOutput) -> LiveSource:
    """Open the source of an output.

    Raises:
        SluiceError: it cannot be read now.
    """
    if not isinstance(output, LatestOutput):
        from sluice.kafka.live_records import KafkaLiveRecords  # noqa: PLC0415 - who has no topic does not load it

        return KafkaLiveRecords(project.kafka.bootstrap(), project.kafka.client(Role.SERVER), output.topic)
    if output.store == "postgres" and output.connection is not None:
        from sluice.postgres.latest import connect  # noqa: PLC0415 - the same
        from sluice.postgres.live_table import PostgresLiveTable  # noqa: PLC0415

        return PostgresLiveTable(connect(connection_url(output.connection), output.connection), output.table)
    from sluice.delta.live_table import DeltaLiveTable  # noqa: PLC0415

    return DeltaLiveTable(project.folder.table(output.table))
