"""What a plan may change of a principal, one item per right or password: what is, what is wanted, why, what it risks.

The items have the attributes of those of topics (`sluice.provisioning.topics.changes`), so that one plan can hold both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sluice.provisioning.access.acl import Acl
from sluice.provisioning.access.administration import Credential
from sluice.provisioning.topics.changes import Risk

ABSENT, ALLOWED = "absent", "allowed"


@dataclass(frozen=True)
class Grant:
    """A right that a principal gets."""

    acl: Acl
    risk: Risk
    why: str

    @property
    def topic(self) -> str:
        """What it is about: the principal."""
        return self.acl.principal

    @property
    def value(self) -> str:
        """What of it changes."""
        return str(self.acl)

    @property
    def current(self) -> str:
        """What there is."""
        return ABSENT

    @property
    def wanted(self) -> str:
        """What is declared."""
        return ALLOWED


@dataclass(frozen=True)
class Revoke:
    """A right that a declared principal has and shall not have."""

    acl: Acl

    @property
    def topic(self) -> str:
        """What it is about: the principal."""
        return self.acl.principal

    @property
    def value(self) -> str:
        """What of it changes."""
        return str(self.acl)

    @property
    def current(self) -> str:
        """What there is."""
        return ALLOWED

    @property
    def wanted(self) -> str:
        """What is declared."""
        return ABSENT

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.APPROVAL

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        return "neither its role nor its spec asks for it: whoever makes use of it is refused from then on"


@dataclass(frozen=True)
class SetPassword:
    """A user that the cluster shall know, or know by another password.

    Attributes:
        credential: how it shall be kept.
        before: how it is kept; None if there is none.
        variable: the name of what holds the password.
    """

    credential: Credential
    before: Credential | None
    variable: str

    @property
    def topic(self) -> str:
        """What it is about: the principal."""
        return f"User:{self.credential.user}"

    @property
    def value(self) -> str:
        """What of it changes."""
        return "password"

    @property
    def current(self) -> str:
        """What there is."""
        return ABSENT if self.before is None else str(self.before)

    @property
    def wanted(self) -> str:
        """What is declared."""
        return f"{self.credential}, from {self.variable}"

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.SAFE if self.before is None else Risk.APPROVAL

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        if self.before is None:
            return "it is declared and has none"
        return "it is set anew: whoever connects with another one is refused from then on"


@dataclass(frozen=True)
class DropPassword:
    """A password of a declared principal that its spec does not name."""

    credential: Credential

    @property
    def topic(self) -> str:
        """What it is about: the principal."""
        return f"User:{self.credential.user}"

    @property
    def value(self) -> str:
        """What of it changes."""
        return f"password by {self.credential.mechanism}"

    @property
    def current(self) -> str:
        """What there is."""
        return str(self.credential)

    @property
    def wanted(self) -> str:
        """What is declared."""
        return ABSENT

    @property
    def risk(self) -> Risk:
        """What it risks."""
        return Risk.APPROVAL

    @property
    def why(self) -> str:
        """What it does, as a clause."""
        return "its spec does not name it: whoever connects with it is refused from then on"


Item: TypeAlias = Grant | Revoke | SetPassword | DropPassword
