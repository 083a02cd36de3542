#!/usr/bin/env bash
# Brings both databases up to date and creates the pool of the batches, then ends. Repeating it changes nothing.
set -euo pipefail
airflow db migrate
# One slot, so that a stream's watch finds a worker. A pool that is there keeps the size that somebody gave it.
airflow pools get spark_batch >/dev/null 2>&1 || airflow pools set spark_batch 1 "Tasks that start Spark."
python -c 'from sluice.project.project import Project; from sluice.settings import settings; Project.open(settings()).registry()'
