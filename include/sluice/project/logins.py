"""Who a process of Sluice connects to Kafka as: the user of its role, where the deployment names one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.devstack.kafka.admin import kafka_client
from sluice.devstack.kafka.passwords import drawn_password, kept_password
from sluice.errors import NotReadyError
from sluice.kafka.client.credentials import as_user
from sluice.launch.endpoints import read_endpoints
from sluice.settings import is_set, password
from sluice.specs.model.access import Role

if TYPE_CHECKING:
    from sluice.project.project import Project


def client_of(project: Project, role: Role) -> Mapping[str, str]:
    """Return the settings with which a process connects, under Kafka's names; they may hold a password.

    Args:
        project: in its deployment.
        role: the process's.

    Raises:
        NotReadyError: the embedded stack is not up, or the password or a file of the client is not there.
        CorruptionError: a file of the stack cannot be understood.
    """
    kafka = project.deployment.kafka
    principal = project.catalog.users.get(kafka.users.get(role, ""))
    if kafka.kind == "embedded":
        if principal is None or not read_endpoints(project.folder).kafka_secured:
            return kafka_client(project.folder)
        plain: Mapping[str, str] = {}
    else:
        plain = _with_its_files(kafka.client)
        if principal is None:
            login = kafka.login
            return (
                plain
                if login is None
                else as_user(plain, login.user, password(login.password_variable), login.mechanism)
            )
    if principal.scram is None:
        return plain  # it proves who it is in another way
    found = _password(project, principal.scram.password_variable)
    return as_user(plain, principal.user, found, principal.scram.mechanism)


def _with_its_files(client: Mapping[str, str]) -> Mapping[str, str]:
    """Return client settings whose files can be read here: a client without them says that nobody answers."""
    missing = [f"{key} ({file})" for key, file in client.items() if key.endswith(".location") and not _readable(file)]
    if missing:
        raise NotReadyError(
            f"this process cannot read what `kafka.client` of the deployment names: {', '.join(missing)}.",
            fix="put the file there, on every machine that connects, or correct the deployment.",
        )
    return client


def _readable(file: str) -> bool:
    try:
        with Path(file).open("rb"):
            return True
    except OSError:
        return False


def passwords_of(project: Project) -> Callable[[str], str]:
    """Return where the passwords of declared users come from: on the embedded cluster, drawn if nobody has set them."""
    return lambda variable: _password(project, variable, drawn_password)


def _password(project: Project, variable: str, drawn: Callable[[Path, str], str] = kept_password) -> str:
    if project.deployment.kafka.kind == "external" or is_set(variable):
        return password(variable)
    return drawn(project.folder.kafka, variable)
