"""Make the cluster what the specs declare, as far as that is safe, and look again to be sure."""

from __future__ import annotations

from collections.abc import Mapping

from sluice.errors import CorruptionError, RefusedError
from sluice.specs.outputs import TopicShape
from sluice.topics.administration import KafkaAdministration, TopicState
from sluice.topics.plan import Plan, plan


def current_plan(
    specs: Mapping[str, TopicShape], administration: KafkaAdministration, *, default_replication: int
) -> Plan:
    """Compare the specs with the cluster as it is now."""
    return plan(specs, administration.describe(specs), default_replication=default_replication)


def apply(
    specs: Mapping[str, TopicShape], administration: KafkaAdministration, *, default_replication: int
) -> tuple[Plan, Mapping[str, TopicState]]:
    """Create the declared topics that do not exist; a second run changes nothing.

    An existing topic is never altered: if one differs from its spec, nothing at all is created.

    Returns:
        What was done, and the declared topics as the cluster has them now.

    Raises:
        RefusedError: an existing topic differs (all differences, value by value), or the cluster refused.
        CorruptionError: a topic that was just created is not what was asked for.
    """
    todo = current_plan(specs, administration, default_replication=default_replication)
    _refuse_differences(todo)
    administration.create([item.creation for item in todo.creations])
    state = administration.describe(specs)
    left = plan(specs, state, default_replication=default_replication)
    if left:
        raise CorruptionError(
            f"After the topics were applied, the cluster still differs: {_sentence(left)}.",
            fix="look for another program that changes topics (`sluice topics describe`), then apply again.",
        )
    return todo, state


def _refuse_differences(todo: Plan) -> None:
    if todo.differences:
        raise RefusedError(
            f"Existing topics differ from their specs, so nothing was applied: {_sentence(todo)}.",
            fix="change the spec to what the topic has, or change the topic with Kafka's own tools; "
            "Sluice creates topics and never alters one.",
        )


def _sentence(found: Plan) -> str:
    return "; ".join(str(item) for item in (*found.differences, *found.creations))
