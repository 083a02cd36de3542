"""Airflow DAGs of the topics: one makes them what their specs declare, one reports when they are not."""

from sluice.airflow.dags.topic_drift import build_topic_drift_dag
from sluice.airflow.dags.topics import build_topics_dag

build_topics_dag()
build_topic_drift_dag()
