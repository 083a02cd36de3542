"""Airflow DAGs of the quality suites: one per sound pipeline that has a suite."""

from sluice.airflow.quality import build_quality_dags

build_quality_dags()
