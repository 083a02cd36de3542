"""Builds no Airflow DAG: shows the faults of all specs at once, as this file's import error."""

from sluice.airflow.dags.specs import raise_spec_errors

raise_spec_errors()
