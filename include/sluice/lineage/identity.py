"""Run ids that every watcher of an attempt, and Airflow's OpenLineage provider, derive alike.

An id is a UUID of version 7 whose time is when the run began, and whose rest is a digest: ids of later runs are
greater, and the same run has the same id wherever it is worked out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from sluice.errors import SpecError

_REST_BITS = 76
_DIGEST_BITS = 160


def run_id(at: datetime, name: str) -> UUID:
    """Return the id of the run that began at a moment under a name.

    It is `generate_static_uuid` of OpenLineage's client, which Airflow's provider uses: so the runs of Airflow that
    we name as parents are the runs that it reports. Written here, because a task that starts a batch imports no client.
    """
    at = at.astimezone(UTC)
    digest = hashlib.sha1(at.isoformat().encode() + name.encode(), usedforsecurity=False).digest()
    rest = int.from_bytes(digest, "big") >> (_DIGEST_BITS - _REST_BITS)
    milliseconds = int(at.timestamp() * 1000) & (1 << 48) - 1
    number = milliseconds << 80 | rest
    number = number & ~(0xF << 76) | 7 << 76  # the version
    return UUID(int=number & ~(0x3 << 62) | 0x2 << 62)  # the variant


@dataclass(frozen=True)
class Parent:
    """A run that has started another, and the run behind it.

    Attributes:
        namespace: of its job.
        job: its job's name.
        run: its id.
        root: the topmost run, such as that of a DAG; None if it is this one.
    """

    namespace: str
    job: str
    run: UUID
    root: Parent | None = None

    def as_text(self) -> str:
        """Return it as the variable `OPENLINEAGE_PARENT_ID` has it."""
        return f"{self.namespace}/{self.job}/{self.run}"


PARENT, ROOT = "OPENLINEAGE_PARENT_ID", "OPENLINEAGE_ROOT_PARENT_ID"
"""The variables that name the parent run of a process, set by what starts it."""


def variables_of(parent: Parent) -> dict[str, str]:
    """Return the variables that name a process's parent run."""
    root = parent if parent.root is None else parent.root
    return {PARENT: parent.as_text(), ROOT: root.as_text()}


def parent_in(variables: Mapping[str, str]) -> Parent | None:
    """Return the parent run that the variables name; None if they name none.

    Raises:
        SpecError: a variable is not `namespace/job/run id`.
    """
    if not variables.get(PARENT):
        return None
    root = _parent(ROOT, variables[ROOT]) if variables.get(ROOT) else None
    parent = _parent(PARENT, variables[PARENT])
    return parent if root is None or root == parent else Parent(parent.namespace, parent.job, parent.run, root)


def _parent(variable: str, text: str) -> Parent:
    parts = text.rsplit("/", 2)
    try:
        namespace, job, run = parts
        return Parent(namespace, job, UUID(run))
    except ValueError:
        raise SpecError(f"{variable} is {text!r}.", fix="write `namespace/job/run id`, the id as a UUID.") from None


@dataclass(frozen=True)
class AirflowTask:
    """A try of a task, as far as its ids depend on it.

    Attributes:
        namespace: of Airflow's jobs.
        dag: its DAG's id.
        task: its id.
        attempt: number of the try, from 1.
        mapped: index of a mapped task; -1 otherwise.
        at: the run's logical date; of a run that has none, the time after which it was to run.
        clears: how often the run was cleared.
    """

    namespace: str
    dag: str
    task: str
    attempt: int
    at: datetime
    clears: int = 0
    mapped: int = -1

    @property
    def parent(self) -> Parent:
        """The task's run, under the DAG's, by the ids that Airflow's OpenLineage provider gives them."""
        of_dag = Parent(self.namespace, self.dag, run_id(self.at, f"{self.namespace}.{self.dag}.{self.clears}"))
        name = f"{self.namespace}.{self.dag}.{self.task}.{self.attempt}.{self.mapped}"
        return Parent(self.namespace, f"{self.dag}.{self.task}", run_id(self.at, name), of_dag)
