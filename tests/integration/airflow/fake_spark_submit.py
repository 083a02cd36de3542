"""Stands in for `spark-submit`: notes how it was called, then does what `sluice.spark` would do to the record.

It behaves as the file `behaviour.json` in the state folder says: `exit`, `say` (an error to log), `published`,
`cancelled` (by somebody, meanwhile), `hang`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from datetime import datetime, timedelta

import structlog

from sluice.delta.log import append_entry
from sluice.intervals.alignment import Interval
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.request import Mode, Only, Request
from sluice.intervals.entries import BackfillEntry, Content
from sluice.project.project import Project
from sluice.settings import settings
from sluice.spark.backfill.results import Result


def options(arguments: list[str]) -> Namespace:
    parser = ArgumentParser()
    for name in ("pipeline", "from", "to", "mode", "only", "by", "why", "accepts", "static", "key"):
        parser.add_argument(f"--{name}", dest=name.rstrip("_"))
    parser.add_argument("--submitted", action="store_true")
    return parser.parse_args(arguments)


def backfill(asked: Namespace, behaviour: dict[str, object]) -> None:
    project = Project.open_tolerant(settings())
    bounds = Interval(datetime.fromisoformat(vars(asked)["from"]), datetime.fromisoformat(asked.to))
    only, accepts = Only(asked.only), asked.accepts or ""
    request = Request(asked.pipeline, bounds, Mode(asked.mode), asked.by, asked.why, only, accepts)
    found = project.records.backfills().claim(request, asked.key, alive=lambda _: False, submitted=asked.submitted)
    state = BackfillState.FAILED if behaviour.get("exit") else BackfillState.DONE
    project.records.backfills().end(found.id, state, outcome="identical", why="All rows are the same.")
    folder = project.folder.backfill(found.id)
    folder.mkdir(parents=True, exist_ok=True)
    hours = int(str(behaviour.get("published", 0)))
    starts = tuple(bounds.start + number * timedelta(hours=1) for number in range(hours))
    (folder / "result.json").write_text(Result(found.id, "identical", published=starts).to_json(), encoding="utf-8")
    if starts:
        content = dict.fromkeys(starts, Content(1, "1"))
        code = project.code_of(asked.pipeline)
        entry = BackfillEntry(found.id, "recompute", asked.by, asked.why, {}, {}, content, code, "passed")
        append_entry(project.folder.table(project.catalog.pipelines[asked.pipeline].intervals.table), entry)
    if behaviour.get("cancelled"):
        project.records.backfills().claim(request, asked.key, alive=lambda _: False)
        project.records.backfills().ask_cancel(found.id, "bob")
        project.records.backfills().end(found.id, BackfillState.CANCELLED, outcome="cancelled", why="killed")


def main(arguments: list[str]) -> int:
    state = settings().state
    behaviour = json.loads((state / "behaviour.json").read_text(encoding="utf-8"))
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    call = {"arguments": arguments, "environment": dict(os.environ), "pid": os.getpid(), "niceness": niceness}
    draft = state / ".call.json"
    draft.write_text(json.dumps(call), encoding="utf-8")
    draft.replace(state / "call.json")
    if behaviour.get("hang"):
        signal.pause()
    main_at = next(place for place, argument in enumerate(arguments) if argument.endswith("batch.py"))
    command, *rest = arguments[main_at + 1 :]
    if command == "backfill" and not behaviour.get("claims_nothing"):
        backfill(options(rest), behaviour)
    if said := behaviour.get("say"):
        structlog.get_logger().error("batch cannot run", why=said)
    return int(behaviour.get("exit", 0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
