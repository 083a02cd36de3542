"""Airflow DAGs of quality: the suites, one per sound pipeline that has one, and the replay of a case."""

from sluice.airflow.dags.quality import build_quality_dags
from sluice.airflow.dags.replays import build_replay_dag

build_quality_dags()
build_replay_dag()
