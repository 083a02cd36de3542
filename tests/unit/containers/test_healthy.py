"""The health checks say what is wrong, and are not content with an open port."""

from __future__ import annotations

import json
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, TCPServer
from typing import Any

import pytest

from sluice.containers import healthy
from tests.certificates import make_authority
from tests.unit.containers.compose_file import SERVICES


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draw what is mounted in a service: the authority's certificate, and one of its own."""
    folder = tmp_path_factory.mktemp("drawn")
    authority = make_authority(folder)
    secrets = folder / "secrets"
    secrets.mkdir()
    (secrets / "tls_ca").write_bytes(authority.ca.read_bytes())
    (secrets / "tls_own").write_bytes(authority.issue("own").both.read_bytes())
    return secrets


@pytest.fixture(autouse=True)
def _mounted(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healthy, "SECRETS", drawn)


def _encrypted(server: TCPServer) -> TCPServer:
    """Let a server encrypt, and ask who comes."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(healthy.SECRETS / "tls_ca"))
    context.load_cert_chain(healthy.SECRETS / "tls_own")
    context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that is refused is no fault of ours
    return server


@contextmanager
def _serving(server: TCPServer) -> Iterator[str]:
    thread = threading.Thread(target=_encrypted(server).serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def _broker(answer: bytes) -> Iterator[str]:
    class Answers(StreamRequestHandler):
        def handle(self) -> None:
            (length,) = struct.unpack(">i", self.rfile.read(4))
            key, version, correlation, client = struct.unpack(">hhih", self.rfile.read(length))
            assert (key, version, client) == (18, 0, -1)
            self.wfile.write(answer.replace(b"CORR", struct.pack(">i", correlation)))

    with _serving(TCPServer(("127.0.0.1", 0), Answers)) as address:
        yield address


@contextmanager
def _pages(pages: dict[str, Any]) -> Iterator[str]:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = pages.get(self.path)
            self.send_response(200 if found is not None else 404)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *_: object) -> None:
            pass

    with _serving(HTTPServer(("127.0.0.1", 0), Answers)) as address:
        yield f"https://{address}"


def test_a_broker_that_answers_is_healthy() -> None:
    with _broker(struct.pack(">i", 10) + b"CORR" + struct.pack(">hi", 0, 0)) as address:
        assert healthy.main(["kafka", address]) is None


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        pytest.param(b"", "closed the connection", id="accepts-and-says-nothing"),
        pytest.param(struct.pack(">i", 10) + b"CORR" + struct.pack(">hi", 35, 0), "error 35", id="an-error"),
        pytest.param(struct.pack(">iihi", 10, 99, 0, 0), "to request 99", id="another-ones-answer"),
    ],
)
def test_a_port_that_does_not_answer_in_kafkas_protocol_is_unhealthy(answer: bytes, sentence: str) -> None:
    with _broker(answer) as address:
        assert sentence in healthy.main(["kafka", address])


@pytest.mark.parametrize("role", ["kafka", "spark-master", "spark-worker", "airflow"])
def test_a_service_that_is_not_there_is_unhealthy(role: str) -> None:
    with _pages({}) as url:
        address = url.removeprefix("https://")
    assert healthy.main([role, address if role == "kafka" else url]).startswith(f"{role}: ")


@pytest.mark.parametrize(("status", "fine"), [("ALIVE", True), ("STANDBY", False), ("RECOVERING", False)])
def test_a_spark_master_is_healthy_when_it_leads(status: str, *, fine: bool) -> None:
    with _pages({"/json/": {"status": status}}) as url:
        assert (healthy.main(["spark-master", url]) is None) == fine


@pytest.mark.parametrize(("master", "fine"), [("spark://spark-master:7077", True), ("", False)])
def test_a_spark_worker_is_healthy_when_a_master_knows_it(master: str, *, fine: bool) -> None:
    with _pages({"/json/": {"masterurl": master}}) as url:
        assert (healthy.main(["spark-worker", url]) is None) == fine


def test_airflow_is_healthy_when_all_components_asked_for_are() -> None:
    monitor = {"scheduler": {"status": "healthy"}, "triggerer": {"status": None}, "metadatabase": {"status": "healthy"}}
    with _pages({"/api/v2/monitor/health": monitor}) as url:
        assert healthy.main(["airflow", url, "scheduler", "metadatabase"]) is None
        assert healthy.main(["airflow", url, "scheduler", "triggerer"]) == "airflow: triggerer is None"
        assert healthy.main(["airflow", url, "dag_processor"]) == "airflow: dag_processor is None"


def test_an_answer_that_is_no_json_is_unhealthy() -> None:
    with _pages({"/json/": "a text"}) as url:
        assert healthy.main(["airflow", url, "scheduler"]) is not None


def test_every_check_of_the_compose_file_exists() -> None:
    tests = [service["healthcheck"]["test"] for service in SERVICES.values() if "healthcheck" in service]
    ours = [test for test in tests if "containers/healthy.py" in test]

    assert len(ours) == len(tests) - 1  # PostgreSQL brings its own
    assert {test[3] for test in ours} == set(healthy.CHECKS)


@pytest.mark.parametrize(
    ("status", "said"), [(401, None), (200, "door: it lets every client in"), (503, "door: HTTP Error 503")]
)
def test_a_door_is_sound_if_it_asks_who_comes(status: int, said: str | None) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with _serving(HTTPServer(("127.0.0.1", 0), Answers)) as address:
        found = healthy.main(["door", f"https://{address}"])
    assert found is None if said is None else str(found).startswith(said)


def test_who_shows_no_certificate_of_the_authority_is_no_healthy_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _pages({"/json/": {"status": "ALIVE"}}) as url, _broker(b"") as address:
        assert healthy.main(["spark-master", url]) is None
        make_authority(tmp_path)
        (tmp_path / "ca.pem").rename(tmp_path / "tls_ca")
        monkeypatch.setattr(healthy, "SECRETS", tmp_path)
        for check in (["spark-master", url], ["page", url], ["kafka", address]):
            assert "CERTIFICATE_VERIFY_FAILED" in str(healthy.main(check))


def test_a_service_shows_its_own_certificate_to_those_that_ask(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _pages({"/json/": {"status": "ALIVE"}}) as url:
        (tmp_path / "tls_ca").write_bytes((drawn / "tls_ca").read_bytes())
        monkeypatch.setattr(healthy, "SECRETS", tmp_path)
        assert str(healthy.main(["spark-master", url])).startswith("spark-master: ")
