"""What the DAGs of upkeep do each half hour and each night, done each minute: days are minutes here."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

from deltalake import DeltaTable

from benchmarks.soaking.place import NEWEST, RAW
from sluice.airflow.dags.ledger_upkeep import keep_entries, refresh_index
from sluice.airflow.dags.table_upkeep import retain_raw
from sluice.delta.table import ensure_table
from sluice.delta.upkeep import UpkeepPolicy, join_small_files, look_after
from sluice.launch.run_folders import remove_ended, unit_of
from sluice.project.project import Project
from sluice.storage.folder import Folder, files_in

_LEFT_ALONE = timedelta(seconds=20)
_NEVER = timedelta(days=1)
_OLD = timedelta(days=2)
"""More than the hour for which a table of newest values keeps its log."""


def policy_of(kept: timedelta) -> UpkeepPolicy:
    """Return when what is done, if versions can be read for so long.

    Files are removed by whole hours, so at once; that is why a round removes before it joins, and what it has joined
    goes with the next one, when no reader is at it any more.
    """
    return UpkeepPolicy(_NEVER, kept, removals_known=2 * kept, entries_kept=2 * kept, fewest_commits=20)


def look_after_all(project: Project, now: datetime, kept: timedelta) -> None:
    """Join, remove, forget and index, as the DAGs do.

    Args:
        project: at whose tables no backfill is.
        now: the time (UTC).
        kept: how long versions, verdicts and copied entries are kept.
    """
    raw, policy = project.folder.table(RAW), policy_of(kept)
    ensure_table(raw, DeltaTable(str(raw)).schema().to_json(), configuration=policy.properties())
    look_after(raw, now, policy=policy)
    join_small_files(raw, now - _LEFT_ALONE)
    retain_raw(project, now)
    keep_entries(project)
    refresh_index(project)
    project.records.registry().forget_verdicts(now - kept)
    remove_ended(project.folder.drivers, now - kept, unit_of)
    _cut_newest_values(project.folder.table(NEWEST), now, kept)


def _cut_newest_values(table: Folder, now: datetime, kept: timedelta) -> None:
    """Cut the log of newest values, and remove their old files, as the driver does after some changes.

    Entries of the log that are older than what a round keeps get the age at which the driver would remove them.
    """
    log = list(files_in(table / "_delta_log"))
    old = [Path(str(file.place)) for file in log if file.modified < now - kept]
    if not old or len(old) == len(log):  # its newest entry must stay
        return
    for file in old:
        os.utime(file, ((now - _OLD).timestamp(),) * 2)
    newest = DeltaTable(str(table))
    newest.create_checkpoint()
    newest.cleanup_metadata()
    newest.vacuum(0, dry_run=False, enforce_retention_duration=False)
