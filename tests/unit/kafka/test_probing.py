"""What answers at an address, told apart by real sockets on this machine."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from sluice.connectivity.facts import AdvertisedBroker, Contact, Probe
from sluice.connectivity.findings import diagnose
from sluice.kafka.client.credentials import as_user
from sluice.kafka.examination import examine
from sluice.kafka.probing import Prober
from tests.unit.kafka.wire import METADATA, QUORUM, SPOKEN, Wire, serving, wired

PLAIN: dict[str, str] = {}
TLS = {"security.protocol": "SSL"}
SECONDS = 0.4


class Cut(Wire):
    """Ends the conversation when it is asked for the cluster, as one does that asks for another login."""

    def answer(self, key: int, version: int, body: bytes) -> object:
        if key == METADATA:
            raise ConnectionAbortedError
        return super().answer(key, version, body)


def probe(port: int, client: dict[str, str] | None = None, host: str = "127.0.0.1") -> Probe:
    return Prober(client or PLAIN, SECONDS).probe(f"{host}:{port}")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a key and its certificate for 127.0.0.1, signed by nobody else."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate")
    file = tmp_path_factory.mktemp("tls") / "own.pem"
    key, made = file.with_suffix(".key"), file.with_suffix(".crt")
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]
    subprocess.run([*command, *subject, "-keyout", key, "-out", made], check=True, capture_output=True)
    file.write_text(key.read_text() + made.read_text())
    return file


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_a_broker_that_answers_names_its_cluster_its_brokers_and_the_time() -> None:
    with wired(Wire(cluster="abc", ahead=timedelta(minutes=2))) as port:
        found = probe(port)
    assert (found.contact, found.cluster, found.reached) == (Contact.KAFKA, "abc", "127.0.0.1")
    assert found.brokers == (AdvertisedBroker(1, f"127.0.0.1:{port}"),)
    assert found.clock is not None
    assert found.clock.ahead_seconds == pytest.approx(120, abs=found.clock.error_seconds + 0.01)


@pytest.mark.parametrize("versions", [{k: v for k, v in SPOKEN.items() if k != QUORUM}, {**SPOKEN, QUORUM: (0, 0)}])
def test_the_clock_is_not_asked_of_a_broker_that_does_not_say_it(versions: dict[int, tuple[int, int]]) -> None:
    wire = Wire(versions=versions)
    with wired(wire) as port:
        assert probe(port).clock is None
    assert QUORUM not in wire.asked


def test_a_broker_that_ends_the_conversation_is_not_well() -> None:
    with wired(Cut()) as port:
        assert probe(port).contact is Contact.BROKEN_OFF


def test_an_old_protocol_is_spoken_to_in_its_own_version() -> None:
    with wired(Wire(versions={**SPOKEN, METADATA: (0, 1)})) as port:
        found = probe(port)
    assert found.contact is Contact.KAFKA
    assert found.cluster == ""
    assert found.brokers


def test_a_name_that_does_not_resolve() -> None:
    found = probe(9092, host="no-such-host.invalid")
    assert found.contact is Contact.UNRESOLVED
    assert found.detail
    assert probe(9092, host="a" * 70).contact is Contact.UNRESOLVED  # longer than a label may be


def test_a_port_where_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        found = probe(free.getsockname()[1])
    assert found.contact is Contact.REFUSED
    assert found.detail == "127.0.0.1: Connection refused"


def test_a_port_whose_packets_are_dropped() -> None:
    with socket.socket() as full:  # whose queue of connections is full, so that further ones get no answer
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        found = probe(port)
        for each in waiting:
            each.close()
    assert found.contact is Contact.TIMEOUT


def answers_with(text: bytes) -> Callable[[socket.socket], None]:
    def handle(connection: socket.socket) -> None:
        connection.recv(4)
        connection.sendall(text)

    return handle


def web(connection: socket.socket) -> None:
    """Read a line, as a web server does before it says anything."""
    received = b""
    while b"\n" not in received and (more := connection.recv(1024)):
        received += more
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def stays_silent(connection: socket.socket) -> None:
    while connection.recv(1024):
        pass


@pytest.mark.parametrize("client", [PLAIN, TLS], ids=["without TLS", "with TLS"])
@pytest.mark.parametrize(
    ("handle", "contact"),
    [
        (web, Contact.HTTP),
        (answers_with(b"HTTP/1.0 400 Bad request\r\n"), Contact.HTTP),
        (stays_silent, Contact.SILENT),
        (lambda _connection: None, Contact.CLOSED),
    ],
    ids=["web server", "hasty web server", "silent", "closes"],
)
def test_what_is_not_kafka(handle: Callable[[socket.socket], None], contact: Contact, client: dict[str, str]) -> None:
    with serving(handle) as port:
        assert probe(port, client).contact is contact


def test_another_protocol_is_shown_by_its_first_bytes_and_as_text() -> None:
    with serving(answers_with(b"SSH-2.0-OpenSSH_9\x1b[31m\r\n")) as port:
        found = probe(port)
    assert found.contact is Contact.FOREIGN
    assert "SSH-2.0" in found.detail
    assert "\x1b" not in found.detail


def test_a_port_with_tls_and_a_client_without(tls: ssl.SSLContext) -> None:
    with wired(Wire(tls=tls)) as port:
        assert probe(port).contact is Contact.ENCRYPTED


def test_a_port_without_tls_and_a_client_with() -> None:
    with wired(Wire()) as port:
        assert probe(port, TLS).contact is Contact.UNENCRYPTED


def test_a_web_server_behind_tls(tls: ssl.SSLContext, certificate: Path) -> None:
    def handle(connection: socket.socket) -> None:
        web(tls.wrap_socket(connection, server_side=True))

    with serving(handle) as port:
        assert probe(port).contact is Contact.HTTP
        assert probe(port, {**TLS, "ssl.ca.location": str(certificate)}).contact is Contact.HTTP


def test_a_certificate_is_trusted_by_the_file_that_the_deployment_names_and_not_without(
    tls: ssl.SSLContext, certificate: Path
) -> None:
    with wired(Wire(tls=tls)) as port:
        refused = probe(port, TLS)
        assert refused.contact is Contact.UNTRUSTED
        assert "self-signed" in refused.detail
        assert probe(port, {**TLS, "ssl.ca.location": str(certificate)}).contact is Contact.KAFKA


def test_a_certificate_of_the_client_that_is_wanted_and_missing(tls: ssl.SSLContext, certificate: Path) -> None:
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(certificate)
    with wired(Wire(tls=tls)) as port:
        assert probe(port, {**TLS, "ssl.ca.location": str(certificate)}).contact is Contact.TLS_FAILED


@pytest.fixture
def asking() -> Iterator[int]:
    with wired(Wire(user=("me", "secret"))) as port:
        yield port


@pytest.mark.parametrize(
    ("client", "said"),
    [
        (PLAIN, "it requires a login (PLAIN), and the client names no user"),
        (as_user({}, "me", "wrong", "PLAIN"), "it refuses the user 'me' (wrong password)"),
        (as_user({}, "me", "secret", "SCRAM-SHA-256"), "it knows PLAIN, and the client wants SCRAM-SHA-256"),
    ],
)
def test_a_login_that_is_refused_is_told_without_the_password(asking: int, client: dict[str, str], said: str) -> None:
    found = probe(asking, client)
    assert (found.contact, found.detail) == (Contact.LOGIN_REFUSED, said)


def test_a_user_that_is_let_in(asking: int) -> None:
    assert probe(asking, as_user({}, "me", "secret", "PLAIN")).contact is Contact.KAFKA


def test_a_login_where_nobody_asks() -> None:
    with wired(Wire()) as port:
        found = probe(port, as_user({}, "me", "secret", "PLAIN"))
    assert found.contact is Contact.LOGIN_REFUSED
    assert found.detail.startswith("it does not authenticate clients")


def test_all_brokers_are_examined_and_all_faults_are_reported_at_once() -> None:
    with socket.socket() as free, wired(Wire(cluster="two")) as other, wired(Wire(cluster="one")) as sound:
        free.bind(("127.0.0.1", 0))
        nobody = free.getsockname()[1]
        told = {
            1: ("127.0.0.1", sound),
            2: ("no-such-host.invalid", 9092),
            3: ("127.0.0.1", nobody),
            4: ("localhost", other),
        }
        with wired(Wire(brokers=told)) as first:
            facts = examine([f"127.0.0.1:{first}", f"127.0.0.1:{nobody}"], Prober(PLAIN, SECONDS))
    findings = {finding.where: finding for finding in diagnose(facts)}
    assert [where for where, finding in findings.items() if finding.ok] == [
        f"127.0.0.1:{first}",
        f"broker 1 (127.0.0.1:{sound})",
        "clock",
    ]
    assert "does not resolve" in findings["broker 2 (no-such-host.invalid:9092)"].found
    assert "refused" in findings[f"broker 3 (127.0.0.1:{nobody})"].found
    assert findings[f"broker 4 (localhost:{other})"].found.startswith("another cluster answers there: two")
    assert not findings[f"127.0.0.1:{nobody}"].ok


def test_an_address_is_examined_once() -> None:
    wire = Wire()
    with wired(wire) as port:
        examine([f"127.0.0.1:{port}"], Prober(PLAIN, SECONDS))
    assert wire.asked.count(METADATA) == 1
