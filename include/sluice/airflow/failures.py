"""Which of our errors Airflow may retry: what could not be checked, never what was refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowFailException

from sluice.errors import CorruptionError, NotConfiguredError, RefusedError, SpecError

FINAL = (SpecError, RefusedError, CorruptionError, NotConfiguredError)
"""A second try finds the same: a person has to act. Everything else (not ready, unreachable) is retried."""


@contextmanager
def retried_only_if_unknown() -> Iterator[None]:
    """Turn a final error into a failure without retries; its message and fix are the task's last words."""
    try:
        yield
    except FINAL as error:
        raise AirflowFailException(str(error)) from error
