"""Main of the warm engine: a Spark session that small batches share, until it has been idle for a while.

Started by the first small batch, and ended by `sluice down`.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
from pathlib import Path

from sluice import __version__
from sluice.clock import SystemClock
from sluice.launch.engine_client import EngineAddress
from sluice.launch.processes import lower_priority
from sluice.observability.logs import get_logger
from sluice.project.project import Project
from sluice.settings import settings
from sluice.spark.session.engine_server import EngineServer
from sluice.spark.session.preset import engine_settings
from sluice.spark.session.session import session_with

log = get_logger()


def main(arguments: list[str]) -> int:
    """Serve batches, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True, type=Path, help="where it says how it is reached")
    folder: Path = parser.parse_args(arguments).folder
    lower_priority(settings().batch_niceness)
    project = Project.open_tolerant(settings())
    wanted = engine_settings(project)
    spark = session_with("sluice-engine", wanted)
    idle = project.deployment.spark.engine.idle.total_seconds()
    server = EngineServer(spark, secrets.token_hex(32), idle, SystemClock())
    signal.signal(signal.SIGTERM, lambda _number, _frame: server.drain())
    EngineAddress(server.port, server.token, wanted, __version__).write(folder)
    log.info("the warm engine serves", port=server.port)
    try:
        server.serve()
    finally:
        spark.stop()
    log.info("the warm engine ends")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
