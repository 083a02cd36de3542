"""Kafka of a project's deployment: its addresses, and the user that a process connects as."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.devstack.kafka.admin import encrypted_client, kafka_client
from sluice.devstack.kafka.passwords import generated_password, stored_password, stored_source
from sluice.errors import SluiceError
from sluice.kafka.client.credentials import as_user
from sluice.launch.endpoints import read_endpoints
from sluice.secrecy.secret_values import SecretSource
from sluice.settings import StateFolder, is_set, password, password_source
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka
from sluice.specs.model.access import PrincipalSpec, Role

if TYPE_CHECKING:
    from sluice.kafka.access import KafkaPythonAccess
    from sluice.kafka.administration import KafkaPythonAdministration
    from sluice.kafka.records import KafkaPythonRecords
    from sluice.kafka.stored_records import KafkaPythonStoredRecords


@dataclass(frozen=True)
class ProjectKafka:
    """How the processes of a project connect.

    Attributes:
        spec: what the deployment says of it.
        users: the declared principals by the names of their specs.
        folder: where the embedded stack keeps its endpoints and passwords.
    """

    spec: EmbeddedKafka | ExternalKafka
    users: Mapping[str, PrincipalSpec]
    folder: StateFolder

    def bootstrap(self) -> tuple[str, ...]:
        """Return the addresses of brokers.

        Raises:
            NotReadyError: the embedded stack is not up.
        """
        return self.spec.bootstrap if self.spec.kind == "external" else read_endpoints(self.folder).kafka_bootstrap

    def is_secured(self) -> bool:
        """Whether the embedded stack is up and requires logins."""
        try:
            return self.spec.kind == "embedded" and read_endpoints(self.folder).kafka_secured
        except SluiceError:
            return False

    def client(self, role: Role = Role.PLANNER) -> Mapping[str, str]:
        """Return the settings with which a process of a role connects, under Kafka's names; they may hold a password.

        Raises:
            NotReadyError: the embedded stack is not up, the password is missing, or a file of TLS cannot be used.
            CorruptionError: a file of the stack cannot be understood.
        """
        principal = self.users.get(self.spec.users.get(role, ""))
        if self.spec.kind == "embedded":
            if principal is None or not read_endpoints(self.folder).kafka_secured:
                return kafka_client(self.folder)
            plain = encrypted_client(self.folder.kafka)
        else:
            from sluice.kafka.deployment_client import connection_settings, logged_in  # noqa: PLC0415 - see `Project`

            plain, login = connection_settings(self.spec), self.spec.login
            if principal is None and login is not None:
                return logged_in(plain, login)
        if principal is None or principal.scram is None:
            return plain  # it authenticates in another way
        variable = principal.scram.password_variable
        secret, source = self._password(variable, stored_password), self._source(variable)
        return as_user(plain, principal.user, secret, principal.scram.mechanism, source=source)

    def administration(self, role: Role = Role.PLANNER, *, patience_seconds: float = 15) -> KafkaPythonAdministration:
        """Return the administration of the cluster. It connects on first use.

        Args:
            role: of the process that connects.
            patience_seconds: how long to search for a broker that answers.

        Raises:
            NotReadyError: see `client`.
        """
        from sluice.kafka.administration import KafkaPythonAdministration  # noqa: PLC0415 - see `Project`

        return KafkaPythonAdministration(self.bootstrap(), self.client(role), patience_seconds=patience_seconds)

    def reader(self, *, patience_seconds: float) -> KafkaPythonRecords:
        """Return a reader of records that uses no consumer group. It connects on first use.

        Raises:
            NotReadyError: see `client`.
        """
        from sluice.kafka.records import KafkaPythonRecords  # noqa: PLC0415 - see `Project`

        return KafkaPythonRecords(self.bootstrap(), self.client(), patience_seconds=patience_seconds)

    def stored_records(self, topic: str, *, patience_seconds: float) -> KafkaPythonStoredRecords:
        """Return the reader of a topic's committed records for a backfill. It connects on first use.

        Raises:
            NotReadyError: see `client`.
        """
        from sluice.kafka.stored_records import KafkaPythonStoredRecords  # noqa: PLC0415 - see `Project`

        client = self.client(Role.BACKFILL)
        return KafkaPythonStoredRecords(self.bootstrap(), client, topic, patience_seconds=patience_seconds)

    def access(self) -> KafkaPythonAccess:
        """Return the administration of the cluster's users and rights. It connects on first use.

        Raises:
            NotReadyError: see `client`.
        """
        from sluice.kafka.access import KafkaPythonAccess  # noqa: PLC0415 - see `Project`

        return KafkaPythonAccess(self.bootstrap(), self.client())

    def password(self, variable: str) -> str:
        """Return the password of a declared user; for the embedded cluster one is drawn where none is set.

        Raises:
            NotReadyError: the variable is not set.
        """
        return self._password(variable, generated_password)

    def _password(self, variable: str, embedded: Callable[[Path, str], str]) -> str:
        if self.spec.kind == "external" or is_set(variable):
            return password(variable)
        return embedded(self.folder.kafka, variable)

    def _source(self, variable: str) -> SecretSource | None:
        if self.spec.kind == "external" or is_set(variable):
            return password_source(variable)
        return stored_source(self.folder.kafka, variable)
