"""The topics of a proof, and the producers that send to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from sluice.clock import SystemClock
from sluice.errors import RefusedError
from sluice.kafka.client.session import RightMissingError
from sluice.kafka.producer import KafkaPythonProducer
from sluice.project.project import Project
from sluice.proof.running.place import PREFIX, ProofPlace
from sluice.proof.running.sending import ProofSender
from sluice.provisioning.apply import apply
from sluice.provisioning.plans.declared import Declared
from sluice.specs.model.access import Role

_PRODUCERS = 2
"""Of each topic."""


@contextmanager
def connected_sender(project: Project, place: ProofPlace) -> Iterator[ProofSender]:
    """Create the topics, and connect the producers.

    Args:
        project: the copy.
        place: of the proof.

    Raises:
        RefusedError: topics may not be created.
        UnreachableError: Kafka does not answer.
    """
    kafka = project.kafka
    with kafka.administration() as administration:
        declared = project.catalog.kafka_topics()
        topics = {topic: declared[topic] for topic in place.topics if topic in declared}
        try:
            apply(Declared(topics, replication=project.deployment.replication), administration)
        except RightMissingError as error:
            raise RefusedError(
                f"a proof needs topics of its own, such as {place.topics[0]}, and may not create them: {error}",
                fix=f"give the planner's principal the rights to create, write, read and delete {PREFIX}…",
            ) from error
    with ExitStack() as stack:
        producers = {
            topic: tuple(
                stack.enter_context(KafkaPythonProducer(kafka.bootstrap(), topic, kafka.client(Role.FEED)))
                for _ in range(_PRODUCERS)
            )
            for topic in place.read.values()
        }
        yield stack.enter_context(ProofSender(producers, place.journal, seconds_now))


def seconds_now() -> float:
    """Return the time in seconds since 1970."""
    return SystemClock().now().timestamp()
