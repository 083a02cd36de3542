"""Main of a streaming driver: runs the streams of one unit.

Started by a launcher, never by hand while another generation may be alive: `sluice streams start` does it right.
"""

from __future__ import annotations

import argparse
import sys

import structlog

from sluice.errors import SluiceError
from sluice.project import Project
from sluice.settings import settings
from sluice.spark.driver import exit_code
from sluice.spark.unit import run_unit


def main(arguments: list[str]) -> int:
    """Run the unit and return the exit code that the launcher keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unit", required=True, help="the driver's name in the specs")
    parser.add_argument("--generation", required=True, type=int, help="the attempt's number, which fences older ones")
    parser.add_argument("--available-now", action="store_true", help="read what is there now, then end")
    options = parser.parse_args(arguments)
    try:
        project = Project.open_sound(settings())
        project.refuse_broken(options.unit)
        return run_unit(project, options.unit, options.generation, available_now=options.available_now)
    except SluiceError as error:
        structlog.get_logger().error("driver cannot run", why=str(error))
        return exit_code(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
