"""Airflow DAGs that run by the clock and look after what exists: `reconcile_streams`."""

from sluice.airflow.reconciler import build_reconcile_dag

build_reconcile_dag()
