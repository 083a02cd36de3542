"""A command's output is its result alone: what modules log goes to stderr, and no configuration is taken away."""

from __future__ import annotations

import subprocess
import sys

LOGGED = "from sluice.observability.logs import get_logger; get_logger().info('read', records=7); print('{}')"
CONFIGURED = "import structlog, sys; structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stdout))"


def printed(code: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def test_messages_go_to_stderr() -> None:
    output, log = printed(LOGGED)
    assert output == "{}\n"
    assert "records=7" in log


def test_who_has_configured_the_log_keeps_it() -> None:
    output, log = printed(f"{CONFIGURED}; {LOGGED}")
    assert "records=7" in output
    assert log == ""


def test_stderr_is_what_it_is_when_something_is_logged() -> None:
    replaced = "import io, sys; from sluice.observability.logs import get_logger; log = get_logger()"
    output, log = printed(
        f"{replaced}; sys.stderr = io.StringIO(); log.info('read', records=8); print(sys.stderr.getvalue())"
    )
    assert "records=8" in output
    assert log == ""
