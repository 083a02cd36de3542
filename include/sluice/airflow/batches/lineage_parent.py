"""Which run of Airflow's a batch belongs to, in the words and by the ids of Airflow's own OpenLineage provider.

The provider need not be installed. Where it is, it reports the same runs, and lineage shows a batch below its task.
"""

from __future__ import annotations

from airflow.sdk import Context
from airflow.sdk.configuration import conf

from sluice.lineage.identity import AirflowTask, variables_of
from sluice.settings import lineage_configured, lineage_namespace

_DEFAULT_NAMESPACE = "default"


def parent_variables(context: Context) -> dict[str, str]:
    """Return the variables that tell a batch whose it is; none where no lineage is collected."""
    return variables_of(task_of(context).parent) if lineage_configured() else {}


def task_of(context: Context) -> AirflowTask:
    """Return the try that is running."""
    task, run = context["ti"], context["dag_run"]
    mapped = getattr(task, "map_index", None)
    return AirflowTask(
        namespace=conf.get("openlineage", "namespace", fallback="") or lineage_namespace() or _DEFAULT_NAMESPACE,
        dag=task.dag_id,
        task=task.task_id,
        attempt=task.try_number,
        at=run.logical_date or run.run_after,
        clears=run.clear_number or 0,
        mapped=-1 if mapped is None else mapped,
    )
