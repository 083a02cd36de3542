"""A broker of a test's own that asks everybody who it is, and lets nobody do anything that is not granted.

It has a second listener for the test itself: who connects there may do all, and is no user of any spec. With
certificates it has a third one, for TLS, where a client shows its own.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sluice.errors import UnreachableError
from sluice.kafka.access import KafkaPythonAccess
from tests.integration.brokers import free_ports
from tests.integration.certificates import Certificates

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
listener.name.tls.ssl.client.auth=required
super.users=User:ANONYMOUS;User:CN=client
"""


@dataclass(frozen=True)
class SecuredBroker:
    """Where it answers: `everything` without a password, `bootstrap` to users, `tls` to whoever shows a certificate."""

    everything: str
    bootstrap: str
    tls: str

    def client(self, user: str, password: str) -> Mapping[str, str]:
        """Return the settings with which a user connects, under Kafka's names."""
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
        }


@contextmanager
def running_secured(folder: Path, jars: Path, certificates: Certificates | None = None) -> Iterator[SecuredBroker]:
    """Run one; on the way out it is gone, whatever happened."""
    ports = dict(zip(("open", "secured", "tls", "controller"), free_ports(4), strict=True))
    properties = folder / "server.properties"
    protocol = "PLAINTEXT" if certificates is None else "SSL"
    tls = "" if certificates is None else _TLS.format(broker=certificates.broker, ca=certificates.ca)
    properties.write_text(_PROPERTIES.format(host=_HOST, folder=folder, tls_protocol=protocol, **ports) + tls)
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{jars / 'kafka'}/*"]
    format_ = ["kafka.tools.StorageTool", "format", "--cluster-id=MkU3OEVBNTcwNTJENDM2Qg", f"--config={properties}"]
    subprocess.run([*java, *format_], check=True, capture_output=True)
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)], stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    broker = SecuredBroker(*(f"{_HOST}:{ports[name]}" for name in ("open", "secured", "tls")))
    try:
        _wait(broker, process, folder / "output")
        yield broker
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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
