"""The token of the scrape is asked for at Airflow, kept for its reader alone, and asked for again."""

from __future__ import annotations

import json
import ssl
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from sluice.containers import scrape_token
from tests.certificates import make_authority


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Draw an authority's certificate, and one that it has signed for Airflow."""
    authority = make_authority(tmp_path_factory.mktemp("drawn"))
    return authority.ca, authority.issue("airflow").both


@pytest.fixture
def airflow(drawn: tuple[Path, Path]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = (self.path, asked) == ("/auth/token", {"username": "metrics", "password": "secret"})
            self.send_response(201 if known else 401)
            self.end_headers()
            self.wfile.write(b'{"access_token": "a.b.c"}' if known else b"{}")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that is refused is no fault of ours
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(drawn[1])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_token_is_kept_for_its_reader_alone_and_renewed_long_before_it_ends(
    airflow: str, drawn: tuple[Path, Path], tmp_path: Path
) -> None:
    file = tmp_path / "sluice.token"
    again = scrape_token.renew(lambda: scrape_token.ask(airflow, "metrics", "secret", drawn[0]), file)
    assert file.read_text() == "a.b.c"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert 3_600 <= again <= 12 * 3_600


@pytest.mark.parametrize("password", ["wrong"])
def test_a_token_that_is_refused_leaves_the_old_one_and_is_asked_for_soon(
    airflow: str, drawn: tuple[Path, Path], tmp_path: Path, password: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sluice.token"
    file.write_text("old")
    assert scrape_token.renew(lambda: scrape_token.ask(airflow, "metrics", password, drawn[0]), file) <= 60
    assert file.read_text() == "old"
    assert "401" in capsys.readouterr().err


def test_an_airflow_that_is_away_is_asked_again_soon(tmp_path: Path) -> None:
    again = scrape_token.renew(lambda: scrape_token.ask("http://127.0.0.1:1", "metrics", "secret"), tmp_path / "token")
    assert again <= 60
    assert list(tmp_path.iterdir()) == []


def test_an_airflow_that_the_authority_does_not_know_gets_no_password(
    airflow: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_authority(tmp_path).ca
    scrape_token.renew(lambda: scrape_token.ask(airflow, "metrics", "secret", other), tmp_path / "token")
    assert "CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().err
    assert not (tmp_path / "token").exists()
