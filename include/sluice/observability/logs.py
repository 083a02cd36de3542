"""Where log messages go: to stderr, so that a command's output is its result alone.

A process that has configured structlog before, as Airflow does, keeps what it said.
"""

from __future__ import annotations

import sys

import structlog


def _on_stderr(*_: object) -> structlog.PrintLogger:
    """Return a logger on what is stderr now: a test or a guard may have replaced it since."""
    return structlog.PrintLogger(sys.stderr)


if not structlog.is_configured():
    structlog.configure(logger_factory=_on_stderr)

get_logger = structlog.get_logger
