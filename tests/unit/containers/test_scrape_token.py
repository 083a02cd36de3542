"""The token of the scrape is asked for at Airflow, kept for its reader alone, and asked for again."""

from __future__ import annotations

import json
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from sluice.containers import scrape_token


@pytest.fixture
def airflow() -> Iterator[str]:
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
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_token_is_kept_for_its_reader_alone_and_renewed_long_before_it_ends(airflow: str, tmp_path: Path) -> None:
    file = tmp_path / "sluice.token"
    again = scrape_token.renew(lambda: scrape_token.ask(airflow, "metrics", "secret"), file)
    assert file.read_text() == "a.b.c"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert 3_600 <= again <= 12 * 3_600


@pytest.mark.parametrize("password", ["wrong"])
def test_a_token_that_is_refused_leaves_the_old_one_and_is_asked_for_soon(
    airflow: str, tmp_path: Path, password: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sluice.token"
    file.write_text("old")
    assert scrape_token.renew(lambda: scrape_token.ask(airflow, "metrics", password), file) <= 60
    assert file.read_text() == "old"
    assert "401" in capsys.readouterr().err


def test_an_airflow_that_is_away_is_asked_again_soon(tmp_path: Path) -> None:
    again = scrape_token.renew(lambda: scrape_token.ask("http://127.0.0.1:1", "metrics", "secret"), tmp_path / "token")
    assert again <= 60
    assert list(tmp_path.iterdir()) == []
