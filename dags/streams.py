"""Airflow DAGs of the streams: one per unit in the specs. Adding a pipeline edits nothing here."""

from sluice.airflow.dags.streams import build_stream_dags

build_stream_dags()
