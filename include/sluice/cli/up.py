"""`sluice up` and `sluice down`: the embedded stack of this state folder."""

from __future__ import annotations

from sluice.cli.console import err, out
from sluice.local import stack
from sluice.settings import settings


def up() -> None:
    """Start Kafka and Airflow on this machine, or complete what runs. Repeating it changes nothing.

    Exit codes: 0 all components are healthy; 3 one of them is not, and what was started is gone again.
    """
    endpoints = stack.up(settings(), _tell)
    out.print(f"Airflow  {endpoints.airflow_url} (no login: only this machine reaches it)", soft_wrap=True)
    out.print(f"Kafka    {', '.join(endpoints.kafka_bootstrap)}", soft_wrap=True)


def down() -> None:
    """Stop the streams gracefully, then Airflow and Kafka. No process of this state folder remains; its data does.

    A stream that is wanted stays wanted: after the next `sluice up` the reconciler starts it again.
    """
    stack.down(settings(), _tell)


def _tell(name: str, seconds: float | None) -> None:
    if seconds is not None:
        err.print(f"{name}: {seconds:.1f} s", markup=False)
