"""The Spark provider's operator around `spark_jobs/batch.py`: what it is started with, and what its end means.

The process is a child of the task: Spark has no cluster mode for Python on a standalone cluster. It dies with the task,
however that dies, and a retry resumes it, because the main knows by its key what is done already.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from sluice.airflow import runtime
from sluice.airflow.batches.lineage_parent import parent_variables
from sluice.airflow.batches.owned_process import OwnedProcess, before_the_program
from sluice.airflow.batches.spark_connection import CONNECTION, at_connection
from sluice.airflow.failures import retried_only_if_unknown
from sluice.devstack.airflow.configuration import BATCH_POOL
from sluice.errors import CorruptionError, RefusedError, SluiceError, SpecError
from sluice.intervals.alignment import Interval
from sluice.launch.processes import STACK_MARK
from sluice.project.project import Project
from sluice.settings import environment, inherited
from sluice.spark.session.java_start import start_variables
from sluice.spark.session.preset import batch_settings
from sluice.spark.session.warm import NICENESS, choose_session
from sluice.specs.model.alerting import AlertClass

JUDGED = {SluiceError.exit_code, SpecError.exit_code, RefusedError.exit_code, CorruptionError.exit_code}
"""Exit codes of the main after which a second try finds the same, if it said why."""

_WHY = re.compile(r"""\bwhy=(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^ ]+)""")


_LAST_LINES = 200
"""Of a main's output, in which its reason is looked for."""
_CLASS = re.compile(r"\balert_class=([a-z-]+)")


class BatchOperator(SparkSubmitOperator):  # type: ignore[misc]  # the provider is not typed
    """Runs the batch main for a pipeline: through `spark-submit`, or beside the warm engine if it is small.

    A subclass says with which arguments. What the main judged (a failed gate, a difference, a refusal) fails the task
    at once, in the main's own sentence; anything else is retried.
    """

    template_fields = ("name",)
    """Nothing of it is a template; the log shows the rendered ones."""

    def __init__(self, *, pipeline: str, **arguments: Any) -> None:  # noqa: ANN401 - SparkSubmitOperator's
        super().__init__(**{"conn_id": CONNECTION, "pool": BATCH_POOL, "name": f"sluice-{pipeline}", **arguments})
        self.pipeline = pipeline
        self._process: OwnedProcess | None = None

    def batch_arguments(self, context: Context) -> Sequence[str]:
        """Return the main's arguments: a command and its options."""
        raise NotImplementedError

    def span(self, context: Context) -> Interval | None:  # noqa: ARG002 - a subclass may know it
        """Return the intervals that it is about; None: all there are."""
        return None

    def execute(self, context: Context) -> None:
        """Start the main and wait for it.

        Raises:
            AirflowFailException: the main judged; a second try would find the same.
            AirflowException: it could not say, or could not check; it is tried again.
        """
        with retried_only_if_unknown():
            project = at_connection(runtime.open_project())
            choice = choose_session(project, self.pipeline, self.span(context))
            self.conf = {} if choice.warm else submit_settings(project, self.pipeline)
        self.application = str(project.settings.home / "spark_jobs" / "batch.py")
        self.application_args = list(self.batch_arguments(context))
        self.log.info("It runs in %s: %s.", "the warm engine" if choice.warm else "a session of its own", choice.why)
        if choice.warm:
            self._run_beside_engine(project, context)
        else:
            self._submit(project, context)

    def on_kill(self) -> None:
        """End the main, whichever way it was started."""
        if self._process is not None:
            self._process.kill()
        else:
            super().on_kill()

    def _submit(self, project: Project, context: Context) -> None:
        hook = self._hook = self._submission(project, context)
        try:
            super().execute(context)
        except AirflowException as error:
            self._fail(hook.exit_code, str(error), error)

    def _run_beside_engine(self, project: Project, context: Context) -> None:
        """Run the main as a process of its own, which takes its session from the engine."""
        niceness = min(NICENESS, project.settings.batch_niceness)
        own = {**self._variables(project, context), "SLUICE_BATCH_NICENESS": str(niceness)}
        argv = (sys.executable, self.application, *self.application_args)
        process = self._process = OwnedProcess(argv, own, niceness)
        output = deque[str](maxlen=_LAST_LINES)
        for line in process.lines():
            self.log.info("%s", line)
            output.append(line)
        if code := process.wait():
            self._fail(code, "\n".join(output))

    def _fail(self, exit_code: int | None, output: str, error: AirflowException | None = None) -> NoReturn:
        """Fail as the main's exit code and the end of its output say."""
        reason = last_error(output)
        self.alert_class = class_in(output)
        raise failure(exit_code, reason) from (reason or error)

    def _variables(self, project: Project, context: Context) -> dict[str, str]:
        return {**batch_environment(project, self.pipeline), **parent_variables(context)}

    def _submission(self, project: Project, context: Context) -> OwnedSubmission:
        return OwnedSubmission(
            conf=self.conf,
            conn_id=self._conn_id,
            name=self.name,
            application_args=self.application_args,
            environment=self._variables(project, context),
            niceness=project.settings.batch_niceness,
        )


class OwnedSubmission(SparkSubmitHook):  # type: ignore[misc]  # the same
    """A submission without Airflow's part of the environment, whose process ends with the task's."""

    def __init__(self, *, environment: Mapping[str, str], niceness: int, **arguments: Any) -> None:  # noqa: ANN401 - SparkSubmitHook's
        super().__init__(**arguments)
        self._environment = dict(environment)
        self._niceness = niceness

    def submit(self, application: str = "", **kwargs: Any) -> str | None:  # noqa: ANN401 - Popen's
        """Start `spark-submit`, log what it says, and wait for it."""
        kwargs = {"env": self._environment, "preexec_fn": before_the_program(self._niceness), **kwargs}
        driver_id: str | None = super().submit(application, **kwargs)
        return driver_id

    @property
    def exit_code(self) -> int | None:
        """What the process ended with; None if there is none."""
        return None if self._submit_sp is None else self._submit_sp.poll()


def submit_settings(project: Project, pipeline: str) -> dict[str, str]:
    """Return what spark-submit must be given before Python gets to speak, such as memory and jars.

    Not the master, which the connection says. Nor the archive for executors, which the main's session adds: given to
    spark-submit it would stand before the installed package in the driver too, without its templates and migrations.
    """
    ours = {"spark.master", "spark.submit.pyFiles"}
    return {name: value for name, value in batch_settings(project, pipeline).items() if name not in ours}


def batch_environment(project: Project, pipeline: str) -> dict[str, str]:
    """Return the variables of the main: it needs the control database, and none of Airflow's secrets."""
    stack = environment().get(STACK_MARK)
    variables = inherited(project.processes.inherited_by_batch(pipeline))
    return {
        **variables,
        **start_variables(variables, settings=project.processes.spark().settings),
        **({} if stack is None else {STACK_MARK: stack}),  # `sluice down` ends what carries it
        **project.processes.batch_settings(),
    }


def failure(exit_code: int | None, reason: SluiceError | None) -> AirflowException:
    """Return what the task fails with: final if the main judged and said why."""
    if reason is None:
        return AirflowException(f"the batch ended with exit code {exit_code} and did not say why: read the log above.")
    return AirflowFailException(str(reason)) if exit_code in JUDGED else AirflowException(str(reason))


def class_in(output: str) -> AlertClass | None:
    """Return what the main says that its failure is about; None if it says nothing."""
    known = set(AlertClass)
    classes = [name for name in _CLASS.findall(output) if name in known]
    return AlertClass(classes[-1]) if classes else None


def last_error(output: str) -> SluiceError | None:
    """Return the reason in the last error that the main logged; None if it logged none."""
    for line in reversed(output.splitlines()):
        if "[error" in line and (match := _WHY.search(line)):
            text = match["text"]
            message, _, fix = (str(ast.literal_eval(text)) if text[0] in "'\"" else text).partition(" Fix: ")
            return SluiceError(message, fix=fix)
    return None
