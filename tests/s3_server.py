"""An S3 server with faults, as a process of its own: moto's, one request at a time.

One at a time, because moto looks for an object and writes it in two steps, and a bucket has one winner.
`POST /__faults` with a list of rules replaces those in force; `GET /__faults` says how often each kind was made.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from socket import SHUT_RDWR
from threading import Event, Lock, Thread
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class FaultyStore:
    """Moto behind faults, as a WSGI application.

    A rule has `kind`, and which requests it is for: `method`, a part of the path (`contains`), and either a `share` of
    them or the first so many (`times`). Kinds: `refuse` with 503; `lose`: carried out, and the connection
    ends without an answer; `fail`: carried out and answered with 500; `slow`: carried out after `seconds`.
    """

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._one = Lock()
        self._rules: list[dict[str, Any]] = []
        self._made: Counter[str] = Counter()
        self._random = random.Random(1)

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/__faults":
            return self._told(environ, start)
        rule = self._rule(environ)
        kind = rule.get("kind")
        if kind:
            self._made[kind] += 1
        if kind == "refuse":
            return _refused(start, "503 Slow Down", "SlowDown")
        if kind == "slow":
            Event().wait(rule["seconds"])
        with self._one:
            body = list(self._moto(environ, start if kind not in {"lose", "fail"} else _nothing))
        if kind == "lose":
            environ["werkzeug.socket"].shutdown(SHUT_RDWR)
            raise ConnectionAbortedError
        return _refused(start, "500 Internal Server Error", "InternalError") if kind == "fail" else body

    def _told(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterator[bytes]:
        if environ["REQUEST_METHOD"] == "POST":
            self._rules = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            self._made.clear()
        start("200 OK", [("Content-Type", "application/json")])
        return iter([json.dumps(self._made).encode()])

    def _rule(self, environ: dict[str, Any]) -> dict[str, Any]:
        query = environ.get("QUERY_STRING", "")
        asked = f"{environ['PATH_INFO']}?{query}"
        with self._one:
            for rule in self._rules:
                if rule.get("method", "PUT") != environ["REQUEST_METHOD"] or rule.get("contains", "") not in asked:
                    continue
                if rule.get("times", 1) > 0 and self._random.random() < rule.get("share", 1):
                    if "times" in rule:
                        rule["times"] -= 1
                    return rule
        return {}


def _nothing(*_: object) -> None:
    """Take the answer that nobody is to see."""


def _refused(start: Callable[..., Any], status: str, code: str) -> list[bytes]:
    start(status, [("Content-Type", "application/xml")])
    return [f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>by a test</Message></Error>'.encode()]


class _Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        pass


def _end_with_stdin() -> None:
    """End when the process that has started this one is gone, however that came."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    Thread(target=_end_with_stdin, daemon=True).start()
    server = make_server("127.0.0.1", 0, FaultyStore(), threaded=True, request_handler=_Quiet)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
