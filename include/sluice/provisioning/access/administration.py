"""The port to what a Kafka cluster knows of its users. The real adapter and its in-memory twin pass one suite."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from sluice.provisioning.access.acl import Acl
from sluice.specs.model.access import Mechanism


@dataclass(frozen=True, order=True)
class Credential:
    """How a cluster keeps a user's password: never the password, and not its hash."""

    user: str
    mechanism: Mechanism
    iterations: int

    def __str__(self) -> str:
        """Return how it is kept."""
        return f"{self.mechanism}, {self.iterations} iterations"


@dataclass(frozen=True, order=True)
class UnknownRight:
    """An entry of an access control list whose kind no client here knows: it can be shown, and not be changed.

    Attributes:
        principal: `User:` and a name.
        what: what the entry says, by Kafka's numbers.
    """

    principal: str
    what: str


class AccessAdministration(Protocol):
    """Every method may raise UnreachableError, also where we may not ask."""

    def acls(self) -> frozenset[Acl]:
        """Return all entries of all principals, but for those of a kind that is not known here.

        Raises:
            NotReadyError: the cluster has no authorizer, so that every client may do everything.
        """
        ...

    def rights(self) -> frozenset[Acl | UnknownRight]:
        """Return all entries, also those of a kind that is not known here: newer versions of Kafka have further ones.

        Raises:
            NotReadyError: as for `acls`.
        """
        ...

    def grant(self, acls: Collection[Acl]) -> None:
        """Add entries, and return when the cluster shows them. Existing ones stay.

        Raises:
            RefusedError: the cluster refused some; says which and why. The others were added.
        """
        ...

    def revoke(self, acls: Collection[Acl]) -> None:
        """Remove exactly these entries, and return when the cluster no longer shows them. Missing ones are skipped.

        Raises:
            RefusedError: the cluster refused some; says which and why.
        """
        ...

    def credentials(self) -> frozenset[Credential]:
        """Return the users of which the cluster has a password, once for each mechanism."""
        ...

    def set_password(self, credential: Credential, password: str) -> None:
        """Add a user, or give it another password, and return when the cluster shows it. Connections stay open.

        Raises:
            RefusedError: the cluster refused; says why, without the password.
        """
        ...

    def drop_password(self, user: str, mechanism: Mechanism) -> None:
        """Remove a user's password, and return when the cluster no longer shows it. Connections stay open.

        Raises:
            RefusedError: the cluster refused (there is none); says why.
        """
        ...
