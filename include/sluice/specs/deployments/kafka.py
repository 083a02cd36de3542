"""Where Kafka is, and who Sluice's own processes connect as."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from sluice.specs.deployments.services import APACHE, SERVICES, KafkaService, ServiceName
from sluice.specs.model.access import Role
from sluice.specs.model.spec import ADDRESS_PATTERN, MEMORY_PATTERN, VARIABLE_PATTERN, Name, Spec

ADMINISTRATOR = "admin"
"""The user that an embedded cluster which asks has from the beginning: it may do everything."""


Address = Annotated[str, StringConstraints(pattern=ADDRESS_PATTERN)]
"""Where a broker listens."""


class EmbeddedKafka(Spec):
    """One KRaft broker that `sluice up` starts on free ports of this machine."""

    kind: Literal["embedded"] = "embedded"
    heap: Annotated[str, StringConstraints(pattern=MEMORY_PATTERN)] = "256m"
    users: dict[Role, Name] = Field(default_factory=dict)
    """Role → the principal that Sluice's own processes of that role connect as, where the cluster asks (`sluice up
    --secure`). A role that is not named connects as the administrator."""

    @property
    def service(self) -> KafkaService:
        """What it can do."""
        return APACHE


class Login(Spec):
    """A user, and where its password is."""

    user: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    password_variable: Annotated[str, StringConstraints(pattern=VARIABLE_PATTERN)]
    """The variable that holds it; or the same with `_FILE` behind it holds the path of a file that does."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"


class ExternalKafka(Spec):
    """A cluster that Sluice does not run."""

    kind: Literal["external"] = "external"
    bootstrap: tuple[Address, ...] = Field(min_length=1)
    client: dict[str, str] = Field(default_factory=dict)
    """Client settings without secrets, under Kafka's names."""
    login: Login | None = None
    """Who Sluice's own processes connect as; omitted: no user, or the one that a certificate names."""
    users: dict[Role, Name] = Field(default_factory=dict)
    """Role → the principal that processes of that role connect as instead."""
    profile: ServiceName = "apache"
    """Which service it is: what that cannot do, plans list, and nothing of it is attempted."""

    @property
    def service(self) -> KafkaService:
        """What it can do."""
        return SERVICES[self.profile]
