"""Batches of a proof: the batch main in the copy of the project, with its control database and without lineage."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from sluice.errors import UnreachableError
from sluice.launch.processes import carrying, end_marked
from sluice.project.project import Project
from sluice.secrecy.secret_values import forms
from sluice.settings import CONTROL_URL, inherited, lineage_variables

BATCH_SECONDS = 900.0
PROOF_MARK = "SLUICE_PROOF"
"""Set to the proof's state folder in its batches and what they start: the next proof ends what is left of them."""
_END_SECONDS = 10.0


def run_batch(project: Project, pipeline: str, arguments: Sequence[str], log_name: str) -> Path:
    """Run a batch to its end, however that is, and return the file with what it said.

    Args:
        project: the copy.
        pipeline: whose batch it is.
        arguments: of the batch main.
        log_name: of the file.

    Raises:
        UnreachableError: it took more than `BATCH_SECONDS`.
    """
    job = project.processes.batch(pipeline, arguments)
    project.folder.backfills.mkdir(parents=True, exist_ok=True)
    log = project.folder.backfills / log_name
    mark = str(project.settings.state)
    names = job.inherits - lineage_variables() - frozenset(forms(CONTROL_URL))
    try:
        with log.open("wb") as output:
            subprocess.run(
                job.argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**inherited(names), **job.environment, **carrying(PROOF_MARK, mark)},
                cwd=job.folder,
                check=False,
                timeout=BATCH_SECONDS,
            )
    except subprocess.TimeoutExpired as error:
        end_marked(PROOF_MARK, mark, project.clock, deadline_seconds=_END_SECONDS)
        raise UnreachableError(
            f"the batch `{arguments[0]}` of a proof took more than {BATCH_SECONDS:.0f} s.",
            fix=f"read {log}; send less, or give the pipeline more cores.",
        ) from error
    return log
