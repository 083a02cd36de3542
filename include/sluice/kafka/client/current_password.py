"""A password that each connection reads where it is, so that one that was changed there needs no restart.

kafka-python takes a text once, when a client is made, and makes the object that logs in with each connection: ours asks
for the password then. A broker that wants clients to log in again (`connections.max.reauth.ms`) gets the newest, too.
"""

from __future__ import annotations

import logging
from typing import Any

from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.plain import SaslMechanismPlain
from kafka.net.sasl.scram import SaslMechanismScram

from sluice.errors import NotConfiguredError
from sluice.secrecy.secret_values import SecretSource

log = logging.getLogger(__name__)


class CurrentPassword:
    """A password as it is now.

    Args:
        first: as it was when the client was made.
        source: where it is read; None: it stays what it is.
    """

    def __init__(self, first: str, source: SecretSource | None = None) -> None:
        self._last, self._source = first, source

    def now(self) -> str:
        """Return it; the one of before if none can be read, which is logged."""
        if self._source is not None:
            try:
                self._last = self._source.read()
            except NotConfiguredError as why:
                log.warning("The newest password for Kafka cannot be had, so the one before is used: %s", why)
        return self._last


class CurrentPlain(SaslMechanismPlain):  # type: ignore[misc]  # untyped client
    """A login by PLAIN with the password as it is now."""

    def __init__(self, **config: Any) -> None:  # noqa: ANN401  untyped client
        super().__init__(**_with_text(config))


class CurrentScram(SaslMechanismScram):  # type: ignore[misc]  # untyped client
    """A login by SCRAM with the password as it is now."""

    def __init__(self, **config: Any) -> None:  # noqa: ANN401  untyped client
        super().__init__(**_with_text(config))


def use_current_passwords() -> None:
    """Have the clients of this process log in with a `CurrentPassword`, and with texts as before."""
    register_sasl_mechanism("PLAIN", CurrentPlain, overwrite=True)
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        register_sasl_mechanism(mechanism, CurrentScram, overwrite=True)


def _with_text(config: dict[str, Any]) -> dict[str, Any]:
    password = config.get("sasl_plain_password")
    return {**config, "sasl_plain_password": password.now()} if isinstance(password, CurrentPassword) else config
