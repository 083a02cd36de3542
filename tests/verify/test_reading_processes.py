"""A process that has read a table ends as it should, each time."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.twins.departures_project import DeparturesProject

pytestmark = [pytest.mark.verify, pytest.mark.timeout(900)]

PROCESSES = 100
"""One in ten aborted where Arrow's threads called delta-rs: so many never all end well by chance."""

FORKING = """
import json, os, sys
import duckdb, pandas, pyarrow.dataset, deltalake, sluice, sluice.cli.sql, sluice.delta.sql, sluice.interactive.table
reader, number = sys.argv[1], int(sys.argv[2])
ends = {}
for _ in range(number):
    if (pid := os.fork()) == 0:
        exec(reader)
        sys.exit()  # an end as of any other process: Python ends its threads, and Arrow its own
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ends[code] = ends.get(code, 0) + 1
print(json.dumps(ends))
"""
"""Forks once everything is imported: a process then costs little more than its reading and its end."""

READERS = {
    "pandas": "assert len(sluice.table('departures').pandas()) == 800",
    "duckdb": "t = sluice.table('departures').dataset(); "
    "assert duckdb.sql('select count(*) from t').fetchall() == [(800,)]",
    "sluice sql": "from pathlib import Path; from sluice.settings import settings; "
    "t = {'departures': settings().folder.table('departures')}; "
    "assert len(sluice.delta.sql.query('select * from departures', t)) == 800",
}


@pytest.mark.parametrize("reader", READERS)
def test_every_process_that_reads_a_table_ends_with_zero(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, place = datetime(2013, 1, 1, tzinfo=UTC), DeparturesProject.create(tmp_path, monkeypatch)
    rows = {"hour": [start + timedelta(hours=n // 20) for n in range(800)], "text": ["x" * 50] * 800}
    write_deltalake(str(place.table), pa.table(rows), partition_by=["hour"])
    command = [sys.executable, "-c", FORKING, READERS[reader], str(PROCESSES)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=800, check=True)
    assert json.loads(ended.stdout) == {"0": PROCESSES}, ended.stderr
