"""One trial of the benchmark `parse`, in a process of its own: parse one file as Airflow's DAG processor does.

Usage: python -m benchmarks.records.parse_trial <file>

What the processor does once in its parent (starting Python, importing Airflow, freezing what the collector would
check) is done before the clock starts.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from airflow.dag_processing.dagbag import DagBag
from airflow.dag_processing.manager import DagFileProcessorManager
from airflow.serialization.serialized_objects import DagSerialization


def main(file: str) -> None:
    """Print the CPU-seconds, what was found, and whether PySpark or Kafka were imported for it."""
    _ = DagFileProcessorManager  # the parent has imported what it takes to be one
    gc.freeze()
    before = time.process_time()
    found = DagBag(file)
    parsed = time.process_time()
    for dag in found.dags.values():
        DagSerialization.to_dict(dag)
    seconds = {"parse": parsed - before, "serialize": time.process_time() - parsed}
    counts = {"dags": len(found.dags), "tasks": sum(len(dag.tasks) for dag in found.dags.values())}
    heavy = sorted({"pyspark", "kafka", "deltalake"} & set(sys.modules))
    print(json.dumps({**seconds, **counts, "imports": heavy, "errors": list(found.import_errors.values())}))


if __name__ == "__main__":
    main(sys.argv[1])
