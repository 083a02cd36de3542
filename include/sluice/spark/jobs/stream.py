"""Main of a streaming driver: runs the streams of one unit.

Started by a launcher, never by hand while another generation may be alive: `sluice streams start` does it right.
"""

from __future__ import annotations

import argparse

from sluice.alerts.redaction import Redaction
from sluice.launch.processes import lower_priority
from sluice.project.project import Project
from sluice.settings import environment, settings
from sluice.spark.driver.exit_report import ExitReport
from sluice.spark.driver.stopping import StopRequest
from sluice.specs.model.access import Role
from sluice.streams.failures.exits import ExitCode


def main(arguments: list[str]) -> int:
    """Run the unit and return the exit code that the launcher keeps."""
    stop = StopRequest()
    stop.listen()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unit", required=True, help="the driver's name in the specs")
    parser.add_argument("--generation", required=True, type=int, help="the attempt's number, which fences older ones")
    parser.add_argument("--rehearse", action="store_true", help="only check what a start needs, and change nothing")
    parser.add_argument("--available-now", action="store_true", help="read what is there now, then end")
    options = parser.parse_args(arguments)
    folder = settings().driver
    last_words = ExitReport(folder, redact=Redaction.of_environment(environment()))
    try:
        project = Project.open_tolerant(settings())
        project.refuse_broken(options.unit)
        project.processes.refuse_unconfigured(options.unit)
        from sluice.spark.driver.unit import rehearse_unit, run_unit  # noqa: PLC0415  seconds of imports, in which a stop may be asked for

        if stop.asked:
            return ExitCode.STOPPED
        known = {**environment(), **project.kafka.client(Role.STREAM)}
        last_words = ExitReport(folder, redact=Redaction.of_environment(known))
        if options.rehearse:
            lower_priority(settings().batch_niceness)
            rehearse_unit(project, options.unit, options.generation)
            return ExitCode.STOPPED
        return run_unit(
            project,
            options.unit,
            options.generation,
            stop=stop,
            exit_report=last_words,
            available_now=options.available_now,
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, the exit code and the last words keep it
        return last_words.write(error)
