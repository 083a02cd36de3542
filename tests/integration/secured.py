"""A broker of a test's own that asks everybody who it is, and lets nobody do anything that is not granted.

It has a second listener for the test itself: who connects there may do all, and is no user of any spec. With
certificates it has a third one, for TLS, where a client shows its own, or a token that an issuer has signed.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import UnreachableError
from sluice.kafka.access import KafkaPythonAccess
from tests.certificates import TestAuthority
from tests.integration.brokers import end, free_ports
from tests.integration.wiretap import Wiretap, advertise, wiretapped
from tests.token_issuer import AUDIENCE, ISSUER

_HOST = "127.0.0.1"
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=OPEN://{host}:{open},SECURED://{host}:{secured},TLS://{host}:{tls},CONTROLLER://{host}:{controller}
advertised.listeners=OPEN://{host}:{open},SECURED://{host}:{secured},TLS://{host}:{tls}
listener.security.protocol.map=OPEN:PLAINTEXT,SECURED:SASL_PLAINTEXT,TLS:{tls_protocol},CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=OPEN
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secured.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={folder}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=1
num.io.threads=2
log.cleaner.dedupe.buffer.size=8388608
"""
_TLS = """\
listener.name.tls.ssl.keystore.type=PEM
listener.name.tls.ssl.keystore.location={broker}
listener.name.tls.ssl.truststore.type=PEM
listener.name.tls.ssl.truststore.location={ca}
"""
_BY_CERTIFICATE = """\
listener.name.tls.ssl.client.auth=required
super.users=User:ANONYMOUS;User:CN=client
"""
_OAUTH = "org.apache.kafka.common.security.oauthbearer"
_BY_TOKEN = f"""\
listener.name.tls.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.tls.oauthbearer.sasl.jaas.config={_OAUTH}.OAuthBearerLoginModule required;
listener.name.tls.oauthbearer.sasl.server.callback.handler.class={_OAUTH}.OAuthBearerValidatorCallbackHandler
sasl.oauthbearer.jwks.endpoint.url={{keys}}
sasl.oauthbearer.expected.audience={AUDIENCE}
sasl.oauthbearer.expected.issuer={ISSUER}
super.users=User:ANONYMOUS;User:sluice
"""


@dataclass(frozen=True)
class SecuredBroker:
    """Where it answers: `everything` without a password, `bootstrap` to users, `tls` to whoever shows a certificate."""

    everything: str
    bootstrap: str
    tls: str
    taps: tuple[Wiretap, ...] = ()

    def cut(self) -> None:
        """End the connections of all clients that go through a proxy."""
        for tap in self.taps:
            tap.cut()

    def client(self, user: str, password: str) -> Mapping[str, str]:
        """Return the settings with which a user connects, under Kafka's names."""
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
        }


@contextmanager
def running_secured(
    folder: Path,
    jars: Path,
    authority: TestAuthority | None = None,
    *,
    token_keys: Path | None = None,
    tapped: bool = False,
    further: str = "",
) -> Iterator[SecuredBroker]:
    """Run one; on the way out it is gone, whatever happened.

    Args:
        folder: of its own.
        jars: the folder with `kafka/`.
        authority: signs the certificates of its third listener; None: that is as open as the first.
        token_keys: by which it verifies the tokens that clients show there instead of a certificate.
        tapped: whether clients of the second and third listener go through proxies, whose addresses are given then.
        further: lines of its configuration.
    """
    ports = dict(zip(("open", "secured", "tls", "controller"), free_ports(4), strict=True))
    properties = folder / "server.properties"
    protocol = "PLAINTEXT" if authority is None else "SSL" if token_keys is None else "SASL_SSL"
    text = _PROPERTIES.format(host=_HOST, folder=folder, tls_protocol=protocol, **ports)
    properties.write_text(text + ("" if authority is None else _encrypted(authority, token_keys)) + further)
    allowed = [] if token_keys is None else _allowed(token_keys)
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *allowed, "-cp", f"{jars / 'kafka'}/*"]
    format_ = ["kafka.tools.StorageTool", "format", "--cluster-id=MkU3OEVBNTcwNTJENDM2Qg", f"--config={properties}"]
    subprocess.run([*java, *format_], check=True, capture_output=True)
    with ExitStack() as stack:
        names = ("secured", "tls") if tapped else ()
        taps = {name: stack.enter_context(wiretapped(f"{_HOST}:{ports[name]}")) for name in names}
        for name, tap in taps.items():
            advertise(properties, name.upper(), tap.address)
        reached = {name: f"{_HOST}:{port}" for name, port in ports.items()}
        reached |= {name: tap.address for name, tap in taps.items()}
        broker = SecuredBroker(reached["open"], reached["secured"], reached["tls"], tuple(taps.values()))
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(
                [*java, "kafka.Kafka", str(properties)], stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        stack.callback(end, process)
        _wait(broker, process, folder / "output")
        yield broker


def _encrypted(authority: TestAuthority, token_keys: Path | None) -> str:
    certificate = _TLS.format(broker=authority.issue("broker").both, ca=authority.ca)
    return certificate + (_BY_CERTIFICATE if token_keys is None else _BY_TOKEN.format(keys=token_keys.as_uri()))


def _allowed(keys: Path) -> list[str]:
    """Return the options without which Kafka reads no keys, from wherever."""
    known = {"urls": keys.as_uri(), "files": str(keys)}
    return [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.{kind}={where}" for kind, where in known.items()]


def _wait(broker: SecuredBroker, process: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + 90
    while True:
        try:
            with KafkaPythonAccess([broker.everything], patience_seconds=5) as access:
                access.acls()
                return
        except UnreachableError:
            assert process.poll() is None, output.read_text()[-2_000:]
            assert time.monotonic() < deadline, "the broker does not answer"
            time.sleep(0.1)
