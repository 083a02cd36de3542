"""The DAG `replay_case`: puts the records of a case into the results. One for all; its form names the case."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Context, Param

from sluice.airflow import runtime
from sluice.airflow.batches.backfill_tasks import run_of
from sluice.airflow.batches.spark_batch import BatchOperator
from sluice.airflow.dags.conventions import Tag, give_form, sluice_dag
from sluice.airflow.failures import retried_only_if_unknown
from sluice.errors import SpecError
from sluice.specs.catalog.dag_ids import REPLAY

LONGEST_REPLAY = timedelta(hours=24)


def build_replay_dag() -> DAG:
    """Build the DAG."""
    with sluice_dag(
        REPLAY,
        doc=_DOCUMENTATION,
        description="Validates the records of a case again, recomputes and verifies their intervals, closes the case.",
        tags=(Tag.QUALITY, Tag.BACKFILL),
        max_active_runs=4,
    ) as dag:
        ReplayOperator(
            task_id="replay",
            pipeline="",  # the case says
            execution_timeout=LONGEST_REPLAY,
            doc_md="One Spark application. A retry or a cleared run continues where it stopped.",
        )
    give_form(dag, _form())
    return dag


class ReplayOperator(BatchOperator):
    """Replays the case that the form names."""

    def execute(self, context: Context) -> None:
        """Replay it.

        Raises:
            AirflowFailException: there is no such case, or it is not closed by this; the main's sentence says why.
        """
        with retried_only_if_unknown():
            self.pipeline = runtime.open_project().records.cases().get(_case(context)).pipeline
        self.name = f"sluice-{self.pipeline}"
        super().execute(context)

    def batch_arguments(self, context: Context) -> Sequence[str]:
        """Return the main's arguments."""
        by = run_of(context["dag_run"]).by
        return ("replay", f"--pipeline={self.pipeline}", f"--case={_case(context)}", f"--by={by}")


def _case(context: Context) -> str:
    case: Any = context["params"].get("case")
    if not case:
        raise SpecError("the form names no case.", fix="trigger it with the id that `sluice quarantine cases` shows.")
    return str(case).strip()


def _form() -> dict[str, Param]:
    return {
        "case": Param(
            None,
            type=["null", "string"],  # not null, the form could not be sent as it is
            title="Case",
            description_md="Its id, as `sluice quarantine cases` shows it.",
        )
    }


_DOCUMENTATION = """# Replay of a case

A case holds quarantined records by their offsets (`sluice quarantine open`). When what was wrong is mended, this

1. validates them again by today's rules: if one of them is still refused, or one of their intervals is open, nothing is
   changed and the run is red;
2. recomputes the closed intervals in which they happened, through the quality gate;
3. verifies what it has published, and closes the case.

Killed anywhere and cleared, it continues; a case that is replayed is not replayed again.
"""
