"""Reports the ends of what the tasks of a DAG alert about: by subject and class, and only what is proven to be over."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from sluice.airflow.alerts.dispatch import airflow_dispatcher
from sluice.airflow.alerts.failure import dag_url, new_id, printable
from sluice.alerts.alert import Alert, Level
from sluice.alerts.incidents import Incident, Key, open_incidents
from sluice.clock import Clock


@dataclass(frozen=True)
class Recovered:
    """The proof that an incident is over.

    Attributes:
        why: the reason.
        well: whether its subject is well; if not, something else is wrong with it.
    """

    why: str
    well: bool = True


def notify_recoveries(dag_id: str, over: Callable[[Key], Recovered | None], clock: Clock) -> None:
    """Report each open incident of a DAG's lasting states that is over. What fails is reported by the next check.

    Args:
        dag_id: whose alerts.
        over: returns the proof that an incident is over, by subject and class; None if there is none.
        clock: gives the time.
    """
    dispatcher = airflow_dispatcher(clock)
    for key, incident in open_incidents(dispatcher.read()).items():
        if incident.newest.dag_id == dag_id and incident.newest.subject and (proof := over(key)) is not None:
            dispatcher.notify_end(_recovery(incident, proof, clock))


def _recovery(incident: Incident, proof: Recovered, clock: Clock) -> Alert:
    known = incident.known_as
    subject = known.subject
    well = f"{subject[:1].upper()}{subject[1:]} is well again"
    return Alert(
        id=new_id(),
        at=clock.now(),
        level=Level.RECOVERY,
        what=well if proof.well else f"Over: {known.what.removeprefix('Still: ')}",
        why=printable(proof.why),
        evidence=(),
        where=dag_url(known.dag_id),
        what_to_do="Nothing.",
        dag_id=known.dag_id,
        host=socket.gethostname(),
        subject=subject,
        alert_class=known.alert_class,
    )
