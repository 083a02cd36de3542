"""Airflow DAG `topics`: creates what the topic specs declare, and verifies it."""

from sluice.airflow.topics import build_topics_dag

build_topics_dag()
