"""Whom the brokers of an embedded cluster let in: every process on this machine, or clients that authenticate.

Brokers that authenticate do so with all: clients and each other by SCRAM, the controller by a password that stands in
their configuration, because it keeps the users and cannot look for them before it is there. No client may do what was
not granted; the administrator may do everything. All that they say is encrypted, among each other too.
"""

from __future__ import annotations

from pathlib import Path

from sluice.devstack.kafka.admin import MECHANISM, USER, Administrator, authority_file, brokers_file
from sluice.devstack.kafka.properties import property_value
from sluice.errors import SpecError
from sluice.settings import Settings
from sluice.specs.deployments.kafka import EmbeddedKafka, ExternalKafka

_ENCRYPTED = "SASL_SSL"
"""What is kept of a secured cluster; of one that did not encrypt yet, an empty file."""
_OPEN = "listener.security.protocol.map=CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SECURED = """\
listener.security.protocol.map=CLIENTS:SASL_SSL,CONTROLLER:SASL_SSL
ssl.keystore.type=PEM
ssl.keystore.location={broker}
ssl.truststore.type=PEM
ssl.truststore.location={ca}
sasl.enabled.mechanisms={mechanism}
sasl.mechanism.inter.broker.protocol={mechanism}
sasl.mechanism.controller.protocol=PLAIN
listener.name.controller.sasl.enabled.mechanisms=PLAIN
listener.name.clients.{listener}.sasl.jaas.config={scram}
listener.name.controller.plain.sasl.jaas.config={plain}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=false
super.users=User:{user}
"""


def security_properties(admin: Administrator | None) -> str:
    """Return the lines of a broker's configuration for its listeners; without an administrator, the open ones."""
    if admin is None:
        return _OPEN
    return _SECURED.format(
        mechanism=MECHANISM,
        listener=MECHANISM.lower(),
        user=USER,
        broker=property_value(brokers_file(admin.folder)),
        ca=property_value(authority_file(admin.folder)),
        scram=admin.client["sasl.jaas.config"],
        plain=f'{_PLAIN} required username="{USER}" password="{admin.password}" user_{USER}="{admin.password}";',
    )


def is_secured(settings: Settings) -> bool:
    """Whether the embedded cluster asked who connects, and encrypted, when it was last brought up."""
    return is_stored(settings, secured=True)


def is_stored(settings: Settings, secured: bool) -> bool:
    """Whether this is how it was last brought up. A cluster that asked and did not encrypt was neither."""
    kept = _kept(settings)
    found = kept.read_text(encoding="utf-8") if kept.exists() else None
    return found == (_ENCRYPTED if secured else None)


def requested_security(settings: Settings, kafka: EmbeddedKafka | ExternalKafka, requested: bool | None) -> bool:
    """Return whether it shall ask: as requested, or as last time, at first not.

    Raises:
        SpecError: the deployment has a cluster of its own.
    """
    if requested and isinstance(kafka, ExternalKafka):
        raise SpecError(
            f"The deployment {settings.deployment!r} has brokers of its own, {', '.join(kafka.bootstrap)}.",
            fix="leave out --secure, or choose another deployment with SLUICE_DEPLOYMENT.",
        )
    return _kept(settings).exists() if requested is None else requested


def store_security(settings: Settings, secured: bool) -> None:
    """Keep this as the default of the next starts."""
    if secured:
        _kept(settings).write_text(_ENCRYPTED, encoding="utf-8")
    else:
        _kept(settings).unlink(missing_ok=True)


def _kept(settings: Settings) -> Path:
    return settings.folder.supervisor / "secured"
