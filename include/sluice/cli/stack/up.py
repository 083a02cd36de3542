"""`sluice up` and `sluice down`: the embedded stack of this state folder."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli.terminal.output import err_lines, out
from sluice.devstack import stack
from sluice.devstack.kafka.admin import administrators_file
from sluice.devstack.kafka.cluster import MOST_BROKERS
from sluice.settings import settings


def up(
    spark_workers: Annotated[
        int | None,
        typer.Option(
            min=0, max=64, help="Workers of a Spark cluster, one core each; omitted: as last time, first none."
        ),
    ] = None,
    brokers: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_BROKERS, help="Kafka brokers, each in failure domains; omitted: as last time, first one."
        ),
    ] = None,
    secure: Annotated[
        bool | None,
        typer.Option(
            "--secure/--no-secure",
            help="Let Kafka ask who connects, and forbid what is not granted; omitted: as last time, first not.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start Kafka and Airflow on this machine, or complete what runs. Repeating it changes nothing.

    With a Spark cluster, drivers that start from now on take their cores from it. Another number of workers or brokers
    restarts the stack; drivers live on. With --secure, and without it again, they are stopped and started, too.

    Exit codes: 0 all components are healthy; 3 one of them is not, and what was started is gone again; 5 there would be
    fewer brokers than have data.
    """
    endpoints = stack.up(settings(), _tell, spark_workers=spark_workers, brokers=brokers, secure=secure)
    out.print(f"Airflow  {endpoints.airflow_url} (no login: only this machine reaches it)", soft_wrap=True)
    out.print(f"Kafka    {', '.join(endpoints.kafka_bootstrap)}", soft_wrap=True)
    if endpoints.kafka_secured:
        out.print(f"         asks who connects: {administrators_file(settings().folder.kafka)}", soft_wrap=True)
    if endpoints.spark_master:
        out.print(f"Spark    {endpoints.spark_master}, {endpoints.spark_page}", soft_wrap=True)


def down() -> None:
    """Stop the streams gracefully, then Airflow and Kafka. No process of this state folder remains; its data does.

    A stream that is wanted stays wanted: after the next `sluice up` the reconciler starts it again.

    Exit codes: 0 nothing runs any more; 3 the state folder cannot be used; 4 a driver could not be asked, or a process
    does not end.
    """
    stack.down(settings(), _tell)


def _tell(name: str, seconds: float | None) -> None:
    if seconds is not None:
        err_lines.print(f"{name}: {seconds:.1f} s")
