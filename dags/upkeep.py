"""Airflow DAGs that run by the clock and look after what exists: streams, intervals, ledger, tables, throttles."""

from sluice.airflow.dags.ledger_upkeep import build_keep_ledger_dag
from sluice.airflow.dags.reconciler import build_reconcile_dag
from sluice.airflow.dags.record_upkeep import build_remove_old_records_dag
from sluice.airflow.dags.repair import build_repair_dag
from sluice.airflow.dags.table_upkeep import build_compact_tables_dag
from sluice.airflow.dags.throttle_upkeep import build_lift_throttles_dag

build_reconcile_dag()
build_repair_dag()
build_keep_ledger_dag()
build_compact_tables_dag()
build_remove_old_records_dag()
build_lift_throttles_dag()
