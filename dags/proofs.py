"""The Airflow DAG of proofs: weekly of the pipelines that ask for it, and of any by its form."""

from sluice.airflow.dags.proofs import build_prove_dag

build_prove_dag()
