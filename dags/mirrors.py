"""Airflow DAGs of the mirrors: one each, and one that looks after all; none without a mirror in the specs."""

from sluice.airflow.dags.mirrors import build_mirror_dags

build_mirror_dags()
