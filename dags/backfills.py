"""Airflow DAGs of the backfills: one per sound pipeline. Adding a pipeline edits nothing here."""

from sluice.airflow.dags.backfills import build_backfill_dags

build_backfill_dags()
