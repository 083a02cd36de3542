"""The base of the tasks that ask the project.

They are operators and no functions under `@task`: that costs a DAG file three times the time, for every DAG in it.
"""

from __future__ import annotations

from typing import Any

from airflow.providers.standard.utils.skipmixin import SkipMixin
from airflow.sdk import BaseOperator, Context


class ProjectOperator(BaseOperator):
    """A task of one unit or pipeline."""

    template_fields = ("subject",)
    """Nothing of it is a template; the log shows the rendered ones."""

    def __init__(self, *, subject: str, **arguments: Any) -> None:  # noqa: ANN401 - BaseOperator's
        super().__init__(**arguments)
        self.subject = subject


class DecidingOperator(ProjectOperator, SkipMixin):  # type: ignore[misc]  # the provider is not typed
    """A task that may find that there is nothing left to do in its run."""

    inherits_from_skipmixin = True

    def skip_rest(self, context: Context) -> None:
        """Skip all tasks after this one but teardowns, whatever their trigger rules. It does not return if any are."""
        rest = self.get_flat_relatives(upstream=False)
        self.skip(ti=context["ti"], tasks=[task for task in rest if not task.is_teardown])
