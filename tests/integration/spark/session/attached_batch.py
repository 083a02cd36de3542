"""A batch in a process of its own that attaches to an engine: says what it finds there, and waits to be released.

attached_batch.py PORT TOKEN counts|works
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sluice.launch.engine_client import EngineAddress, EngineClient
from sluice.spark.session.attached import attached_session

SHUFFLED = "spark.sql.shuffle.partitions"


def main(port: str, token: str, what: str) -> None:
    """Attach, say on stdout what is found, and do what is asked."""
    with EngineClient(EngineAddress(int(port), token, {SHUFFLED: "2"}, "0")).attached() as door:
        wanted = {SHUFFLED: "7", "spark.master": "ignored", "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent)}
        spark = attached_session(door, "test", wanted)
        found = {"views": [table.name for table in spark.catalog.listTables()], "shuffled": spark.conf.get(SHUFFLED)}
        spark.range(3).createOrReplaceTempView("mine")
        doubled = spark.sparkContext.parallelize([1, 2], 2).map(lambda number: 2 * number).collect()
        print(json.dumps({"group": door.group, **found, "doubled": doubled}), flush=True)  # noqa: T201
        if what == "works":
            spark.range(0, 10**13, 1, 100_000).selectExpr("sum(id % 7)").collect()  # its tasks are short
        sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
