"""Changes of a topic that exists, or of a broker: more partitions, other configurations. Returns why it refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kafka.errors import UnknownTopicOrPartitionError, for_code

from sluice.errors import RefusedError
from sluice.topics.administration import TopicCreation

_NO_ERROR = 0
_DONE = "OK"
_CODE = re.compile(r"\[Error (\d+)\]")


def creation_request(creation: TopicCreation) -> dict[str, Any]:
    """Return what the client is given to create a topic."""
    configs = dict(creation.configs)
    if creation.assignment:
        return {"assignments": {p: list(on) for p, on in enumerate(creation.assignment)}, "configs": configs}
    shape = {"num_partitions": creation.partitions, "replication_factor": creation.replication}
    return {**shape, "configs": configs}


def add_partitions(
    client: Any,  # noqa: ANN401  untyped client
    topic: str,
    partitions: int,
    assignment: Sequence[tuple[int, ...]] = (),
) -> str:
    """Ask for so many partitions, the new ones on these brokers; return why that was refused, or nothing.

    Raises:
        KafkaError: it may be asked again.
    """
    placed = {"count": partitions, "assignments": [list(replicas) for replicas in assignment]}
    wanted = placed if assignment else partitions
    (answer,) = client.create_partitions({topic: wanted}, raise_errors=False).results
    return "" if answer.error_code == _NO_ERROR else _why(answer.error_code, answer.error_message or "")


def alter_configs(
    client: Any,  # noqa: ANN401  untyped client
    kind: ConfigResourceType,
    name: str,
    configs: Mapping[str, str | None],
) -> str:
    """Ask for configurations of a topic or a broker, None for the default, and return the answer as it is."""
    wanted = {
        config: (AlterConfigOp.DELETE, None) if value is None else (AlterConfigOp.SET, value)
        for config, value in configs.items()
    }
    # The broker says what it does not know. The client would say it of a topic that is not there, too.
    answers = client.alter_configs([ConfigResource(kind, name, wanted)], raise_on_unknown=False, incremental=True)
    return str(answers[kind.name.lower()][name])


def set_configs(
    client: Any,  # noqa: ANN401  untyped client
    name: str,
    configs: Mapping[str, str | None],
    kind: ConfigResourceType = ConfigResourceType.TOPIC,
) -> str:
    """Ask for configurations; return why that was refused, or nothing. All of them are set or none is.

    Raises:
        KafkaError: it may be asked again.
    """
    answer = alter_configs(client, kind, name, configs)
    if answer == _DONE:
        return ""
    code = _CODE.search(answer)
    return _why(int(code[1]), answer) if code else answer


def refuse(purpose: str, why: str) -> None:
    """Raise an error if the cluster gave a reason.

    Raises:
        RefusedError: it did.
    """
    if why:
        raise RefusedError(f"The cluster refused to {purpose} ({why}).", fix="correct the topic spec, and plan again.")


def _why(code: int, message: str) -> str:
    error = for_code(code)
    if error is UnknownTopicOrPartitionError:  # Kafka would have it asked again, for those who have just created it
        return "there is no such topic"
    if error.retriable:
        raise error(message)
    return message.rstrip(".") or str(error.__name__)
