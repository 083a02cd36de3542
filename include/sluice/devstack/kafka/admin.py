"""The administrator of an embedded cluster that asks who connects: the one user that it has from the beginning.

His password is drawn here. It is in a file of this user's own, from which Sluice's processes read it themselves, as
Kafka's tools can (`--command-config`): it travels in no argument, no variable and no record. Brokers have it in their
configuration, by which they know each other.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sluice.devstack.kafka.properties import property_value
from sluice.errors import CorruptionError, NotReadyError
from sluice.kafka.client.credentials import as_user, encrypted
from sluice.launch.endpoints import read_endpoints
from sluice.launch.private import write_private
from sluice.settings import StateFolder
from sluice.specs.deployments.kafka import ADMINISTRATOR

USER = ADMINISTRATOR
MECHANISM = "SCRAM-SHA-512"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_JAAS = re.compile(rf'{re.escape(_SCRAM)} required username="{USER}" password="([\w-]+)";')
_TLS = "tls"
_FILE = "admin.properties"
_DRAFT = "admin.properties.new"
_HEADING = "# The administrator of this folder's Kafka: who reads this may do everything there.\n"


@dataclass(frozen=True)
class Administrator:
    """Who may do everything.

    Attributes:
        folder: where his file is; the first broker's.
        password: letters, digits, `-` and `_`.
    """

    folder: Path
    password: str = field(repr=False)

    @property
    def client(self) -> Mapping[str, str]:
        """Return the settings with which he connects, under Kafka's names."""
        return as_user(encrypted_client(self.folder), USER, self.password, MECHANISM)

    @property
    def file(self) -> Path:
        """Return where his settings are, as Kafka's tools read them, once he is admitted."""
        return administrators_file(self.folder)

    def is_admitted(self) -> bool:
        """Whether he has logged in to this cluster once; until then it may not know him."""
        return self.file.exists()

    def admit(self) -> None:
        """Put on record that he has logged in. Repeating it changes nothing."""
        if not self.is_admitted():
            (self.folder / _DRAFT).replace(self.file)


def authority_file(folder: Path) -> Path:
    """Return where the certificate is by which clients of a cluster know its brokers."""
    return folder / _TLS / "ca.pem"


def brokers_file(folder: Path) -> Path:
    """Return where the private key and the certificate of a cluster's brokers are."""
    return folder / _TLS / "broker.pem"


def encrypted_client(folder: Path) -> Mapping[str, str]:
    """Return the settings by which clients of a cluster encrypt, under Kafka's names; without a login."""
    return encrypted({}, ca=str(authority_file(folder)))


def administrators_file(folder: Path) -> Path:
    """Return where the settings of a cluster's administrator are, as Kafka's tools read them."""
    return folder / _FILE


def administrator(folder: Path) -> Administrator:
    """Return the administrator of a cluster, drawn the first time.

    Raises:
        CorruptionError: his file cannot be understood.
        OSError: the folder cannot be written.
    """
    for path in (administrators_file(folder), folder / _DRAFT):
        if path.exists():
            known = Administrator(folder, _password(path))
            if path.read_text(encoding="utf-8") != (
                text := _for_tools(known)
            ):  # from before connections were encrypted
                write_private(path, text)
            return known
    drawn = Administrator(folder, secrets.token_urlsafe(32))
    folder.mkdir(parents=True, exist_ok=True)
    write_private(folder / _DRAFT, _for_tools(drawn))
    return drawn


def _for_tools(admin: Administrator) -> str:
    """Return his settings as Kafka's own tools read them, which know no class of ours."""
    ca = {"ssl.truststore.type": "PEM", "ssl.truststore.location": property_value(authority_file(admin.folder))}
    settings = {name: value for name, value in admin.client.items() if name != "ssl.ca.location"} | ca
    return _HEADING + "".join(f"{name}={value}\n" for name, value in settings.items())


def administrators_client(folder: Path) -> Mapping[str, str]:
    """Return the settings with which the administrator of a cluster that is up connects, under Kafka's names.

    Raises:
        NotReadyError: his file is not there.
        CorruptionError: it cannot be understood.
    """
    file = administrators_file(folder)
    try:
        return Administrator(folder, _password(file)).client
    except FileNotFoundError:
        raise NotReadyError(
            f"Kafka requires a login, and {file} is not there.",
            fix="run `sluice down`, then `sluice up`: it draws a new password.",
        ) from None


def _password(path: Path) -> str:
    match = _JAAS.search(path.read_text(encoding="utf-8", errors="replace"))
    if match is None:
        raise CorruptionError(
            f"{path} holds no password of Kafka's administrator.",
            fix="run `sluice down`, remove the file, then run `sluice up`: it draws a new one.",
        )
    return match[1]


def kafka_client(folder: StateFolder) -> Mapping[str, str]:
    """Return the settings with which Sluice connects to the brokers of a state folder, under Kafka's names.

    Raises:
        NotReadyError: the stack is not up, or the administrator's password is gone.
        CorruptionError: a file cannot be understood.
    """
    return administrators_client(folder.kafka) if read_endpoints(folder).kafka_secured else {}
