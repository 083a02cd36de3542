"""`sluice up` and `sluice down`: start and stop the embedded stack of this state folder."""

from __future__ import annotations

from typing import Annotated

import typer

from sluice.cli.terminal.output import err_lines, out_lines
from sluice.devstack import stack
from sluice.devstack.airflow.configuration import USER, password_file
from sluice.devstack.kafka.admin import administrators_file
from sluice.devstack.kafka.cluster import MAX_BROKERS
from sluice.launch.endpoints import Endpoints
from sluice.settings import settings


def up(
    spark_workers: Annotated[
        int | None,
        typer.Option(
            min=0, max=64, help="Workers of a Spark cluster, one core each. Default: as last time, initially none."
        ),
    ] = None,
    brokers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_BROKERS,
            help="Kafka brokers, spread over failure domains. Default: as last time, initially 1.",
        ),
    ] = None,
    secure: Annotated[
        bool | None,
        typer.Option(
            "--secure/--no-secure",
            help="Require logins, encryption and, in Kafka, grants. Default: as last time, initially not.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start Kafka and Airflow on this machine, or their missing components. A second run changes nothing.

    With a Spark cluster, new drivers take their cores from it. A change of the number of workers or brokers restarts
    the stack; drivers keep running. Switching --secure on or off restarts the drivers, too.

    Exit codes: 0 all components are healthy; 3 a component is not, and those that were started are stopped again; 5
    there would be fewer brokers than hold data.
    """
    endpoints = stack.up(settings(), print_component, spark_workers=spark_workers, brokers=brokers, secure=secure)
    out_lines.print(f"Airflow  {endpoints.airflow_url} ({_login(endpoints)})")
    out_lines.print(f"Kafka    {', '.join(endpoints.kafka_bootstrap)}")
    if endpoints.kafka_secured:
        out_lines.print(f"         encrypted, requires authentication: {administrators_file(settings().folder.kafka)}")
    if endpoints.spark_master:
        out_lines.print(f"Spark    {endpoints.spark_master}, {endpoints.spark_page}")


def _login(endpoints: Endpoints) -> str:
    if endpoints.kafka_secured:
        return f"user {USER}, password in {password_file(settings())}"
    return "no login: only this machine can reach it"


def down() -> None:
    """Stop the streams gracefully, then Airflow and Kafka. All processes of this state folder end; its data stays.

    The desired state of streams does not change: after the next `sluice up` the reconciler starts them again.

    Exit codes: 0 everything is stopped; 3 the state folder cannot be used; 4 a driver did not answer, or a process does
    not end.
    """
    stack.down(settings(), print_component)


def print_component(name: str, seconds: float | None) -> None:
    """Report on stderr that a component of the stack has started or stopped, and how long that took."""
    if seconds is not None:
        err_lines.print(f"{name}: {seconds:.1f} s")
