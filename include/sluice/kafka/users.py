"""Users that a cluster keeps itself, with a salted hash of the password."""

from __future__ import annotations

from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from sluice.errors import RefusedError
from sluice.kafka.session import AdminSession

_ITERATIONS = 8192


class Users(AdminSession):
    """One cluster; see `AdminSession`."""

    def set_password(self, user: str, password: str) -> None:
        """Add a user who logs in by SCRAM-SHA-512, or give him another password.

        Raises:
            RefusedError: the cluster refused; says why.
            UnreachableError: no broker answered.
        """
        change = UserScramCredentialUpsertion(user, ScramMechanism.SCRAM_SHA_512, password, _ITERATIONS)
        purpose = f"set the password of {user}"
        why = self._ask(purpose, lambda client: client.alter_user_scram_credentials([change]))[user]
        if why:
            raise RefusedError(f"The cluster refused to {purpose} ({why}).", fix="use a user that may alter it.")
