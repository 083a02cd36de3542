"""What the cluster is told of a topic that exists: more partitions, other configurations. Returns why it refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kafka.admin import AlterConfigOp, ConfigResource, ConfigResourceType
from kafka.errors import UnknownTopicOrPartitionError, for_code

_NO_ERROR = 0
_DONE = "OK"
_CODE = re.compile(r"\[Error (\d+)\]")


def add_partitions(client: Any, topic: str, partitions: int) -> str:  # noqa: ANN401  untyped client
    """Ask for so many partitions; return why that was refused, or nothing.

    Raises:
        KafkaError: it may be asked again.
    """
    (answer,) = client.create_partitions({topic: partitions}, raise_errors=False).results
    return "" if answer.error_code == _NO_ERROR else _why(answer.error_code, answer.error_message or "")


def set_configs(client: Any, topic: str, configs: Mapping[str, str | None]) -> str:  # noqa: ANN401  untyped client
    """Ask for configurations; return why that was refused, or nothing. All of them are set or none is.

    Raises:
        KafkaError: it may be asked again.
    """
    wanted = {
        name: (AlterConfigOp.DELETE, None) if value is None else (AlterConfigOp.SET, value)
        for name, value in configs.items()
    }
    resource = ConfigResource(ConfigResourceType.TOPIC, topic, wanted)
    # The broker says what it does not know. The client would say it of a topic that is not there, too.
    answer = str(client.alter_configs([resource], raise_on_unknown=False, incremental=True)["topic"][topic])
    if answer == _DONE:
        return ""
    code = _CODE.search(answer)
    return _why(int(code[1]), answer) if code else answer


def _why(code: int, message: str) -> str:
    error = for_code(code)
    if error is UnknownTopicOrPartitionError:  # Kafka would have it asked again, for those who have just created it
        return "there is no such topic"
    if error.retriable:
        raise error(message)
    return message.rstrip(".") or str(error.__name__)
