"""What the trial of the containers takes for an open port: each kind is found, and what asks for a login is not one."""

from __future__ import annotations

import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from tests.certificates import make_authority
from tests.compose import prober


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prober, "SECONDS", 0.8)


@pytest.fixture(scope="module")
def encryption(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(make_authority(folder := tmp_path_factory.mktemp("drawn")).issue("own").both)
    context.load_verify_locations(folder / "ca.pem")
    return context


@contextmanager
def listening(handler: type[StreamRequestHandler], encryption: ssl.SSLContext | None = None) -> Iterator[int]:
    server = ThreadingTCPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that is refused is no fault of ours
    if encryption is not None:
        server.socket = encryption.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def pages(found: dict[str, tuple[int, str]]) -> type[StreamRequestHandler]:
    class Pages(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, kind = found.get(self.path, (401, "text/plain"))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"data")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Pages


def saying(answer: bytes, after: int) -> type[StreamRequestHandler]:
    """Answer whoever sends so many bytes that begin like the protocol's."""

    class Says(StreamRequestHandler):
        def handle(self) -> None:
            if self.connection.recv(4096)[after : after + 1] in {b"\x00", b"\x06"}:
                self.wfile.write(answer)

    return Says


METRICS = {"/metrics": (200, "text/plain")}
LOGIN = {"/": (200, "text/html"), "/json/": (200, "text/html")}
"""An application that comes under any address."""


def test_data_without_a_login_is_found_encrypted_or_not(encryption: ssl.SSLContext) -> None:
    with listening(pages(METRICS)) as port:
        assert [said[:41] for said in prober.found_open("127.0.0.1", port)] == [
            "in plain text: answers GET /metrics with "
        ]
    with listening(pages(METRICS), encryption) as port:
        (said,) = prober.found_open("127.0.0.1", port)
        assert said == "encrypted, to everybody: answers GET /metrics with b'data'"


def test_a_login_and_its_page_are_no_open_port_when_encrypted(encryption: ssl.SSLContext) -> None:
    with listening(pages(LOGIN), encryption) as port:
        assert prober.found_open("127.0.0.1", port) == []
    with listening(pages(LOGIN)) as port:
        assert prober.found_open("127.0.0.1", port) != [], "a password would be sent in plain text"


def test_who_asks_for_a_certificate_says_nothing(encryption: ssl.SSLContext) -> None:
    encryption.verify_mode = ssl.CERT_REQUIRED
    with listening(pages(METRICS), encryption) as port:
        assert prober.found_open("127.0.0.1", port) == []


@pytest.mark.parametrize(
    ("answer", "after", "words"),
    [
        (struct.pack(">ii", 20, 7) + b"x" * 16, 0, "Kafka's request for metadata"),
        (b"R" + struct.pack(">ii", 8, 0), 0, "lets everybody in"),
        (b"R" + struct.pack(">ii", 8, 3), 0, "asks for the password as it is"),
        (struct.pack(">q", 30) + b"\x07" + b"x" * 21, 8, "Spark looks for a file"),
        (struct.pack(">q", 30) + b"\x08" + b"x" * 21, 8, "Spark looks for a file"),
    ],
)
def test_each_protocol_that_answers_everybody_is_found(answer: bytes, after: int, words: str) -> None:
    with listening(saying(answer, after)) as port:
        assert any(words in said for said in prober.found_open("127.0.0.1", port))


def test_where_nobody_listens_nothing_is_open() -> None:
    with listening(pages({})) as port:
        pass
    assert prober.found_open("127.0.0.1", port) == []


def test_it_runs_with_the_standard_library_alone() -> None:
    text = Path(prober.__file__).read_text(encoding="utf-8")
    assert "sluice" not in text.replace("/sluice/", "")
