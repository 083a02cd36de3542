"""Access control lists as a broker sends them, also with entries of which this client has never heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka.errors import ClusterAuthorizationFailedError, SecurityDisabledError
from kafka.protocol.admin import DescribeAclsResponse

from sluice.errors import NotReadyError, UnreachableError
from sluice.kafka.access import KafkaPythonAccess
from sluice.provisioning.access.acl import Acl, Resource, Right
from sluice.provisioning.access.administration import UnknownRight
from sluice.specs.model.access import Operation, Pattern, ResourceKind

TOPIC, SENDER = (2, "orders", 3), (5, "sender", 4)
"""Kind, name and pattern of resources, as Kafka numbers them."""
READ, WRITE, TWO_PHASE_COMMIT = 3, 4, 15
DENY, ALLOW = 2, 3


class Client:
    """A client whose broker has some entries."""

    def __init__(self, *entries: tuple[tuple[int, str, int], int, int], error: int = 0) -> None:
        self._entries, self._error = entries, error
        self._manager = self

    def run(self, send: Callable[[Any], Any], request: object) -> Any:  # noqa: ANN401 - as the client has it
        return send(request)

    def send(self, _request: object) -> Any:  # noqa: ANN401 - likewise
        kind_of = DescribeAclsResponse.DescribeAclsResource
        resources = [
            kind_of(
                resource_type=kind,
                resource_name=name,
                pattern_type=pattern,
                acls=[
                    kind_of.AclDescription(principal="User:eve", host="*", operation=operation, permission_type=allowed)
                ],
            )
            for (kind, name, pattern), operation, allowed in self._entries
        ]
        return DescribeAclsResponse(
            throttle_time_ms=0, error_code=self._error, error_message="so it is", resources=resources
        )


def access(client: Client) -> KafkaPythonAccess:
    found = KafkaPythonAccess(["nowhere:9"])
    found._connected = client
    return found


def test_an_entry_of_an_unknown_kind_is_told_apart_and_the_others_are_read() -> None:
    cluster = access(
        Client(
            (TOPIC, READ, ALLOW),
            (SENDER, TWO_PHASE_COMMIT, ALLOW),
            (SENDER, WRITE, DENY),
            ((9, "thing", 3), READ, ALLOW),
        )
    )
    orders = Resource(ResourceKind.TOPIC, "orders")
    sender = Resource(ResourceKind.TRANSACTIONAL_ID, "sender", Pattern.PREFIXED)
    assert cluster.acls() == {
        Acl("User:eve", Right(orders, Operation.READ), "*"),
        Acl("User:eve", Right(sender, Operation.WRITE), "*", denied=True),
    }
    assert {right for right in cluster.rights() if isinstance(right, UnknownRight)} == {
        UnknownRight("User:eve", "sender from * (operation 15, resource type 5)"),
        UnknownRight("User:eve", "thing from * (operation 3, resource type 9)"),
    }


def test_what_the_broker_refuses_is_no_empty_list() -> None:
    with pytest.raises(NotReadyError, match="it has no authorizer"):
        access(Client(error=SecurityDisabledError.errno)).acls()
    with pytest.raises(UnreachableError, match=r"does not allow us to list who may do what \(ClusterAuth"):
        access(Client(error=ClusterAuthorizationFailedError.errno)).acls()
