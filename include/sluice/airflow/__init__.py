"""Everything that runs inside Airflow: DAG builders, operators, the trigger and its watcher."""
