"""What listens in a network, asked without credentials in every way that its parts understand.

A listener refuses by ending the connection, by an error, by an alert of TLS, by asking for a login or by a challenge.
What answers in another way is an open route, unless it says nothing but that it lives, or how one logs in.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import httpx
import psutil
from kafka.protocol.metadata import MetadataRequest

from sluice.kafka.client.conversation import Conversation

_SECONDS = 3.0
ANSWER_SECONDS = 60.0
"""For so long a route may take on a busy machine; one that does not answer then has refused nothing."""
_HTTP = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_METHODS = ("get", "post", "put", "patch", "delete")
_REFUSALS = frozenset({400, 401, 403, 404, 405, 406, 415, 421, 422, 426})
_HARMLESS = re.compile(
    r"(/execution)?/(health(/ping)?|docs|redoc|openapi\.json)|/api/v2/(monitor/health|version)|/auth/(login|logout|token.*|openapi\.json|docs|redoc)?"
    r"|/|/\{rest_of_path\}|/ui/(auth/menus)?|/static/.*|/sluice/static/.*"
)
"""Says that it lives and in which version, describes its interface, or is the page on which one logs in."""
_VERSION = re.compile(r"\b20\d\d-\d\d-\d\d\b")
_CHUNK_REQUEST, _STREAM_REQUEST, _SPARK_ANSWERS, _LONGEST = 0, 6, (1, 2, 7, 8), 10_000
_NO_FILE = b"/files/none"
_PY4J_QUESTION = b"c\nt\ngetClass\ne\n"
_PY4J_CALL = b"c\np0\ncall\ne\n"
_PY4J_REFUSAL = b"!x"


@dataclass(frozen=True)
class Listener:
    """A socket that takes connections: its port, and the process."""

    port: int
    process: str


def listeners() -> list[Listener]:
    """Return what listens in the network of this process."""
    found = {}
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN:
            found[connection.laddr.port] = Listener(connection.laddr.port, _name(connection.pid))
    return sorted(found.values(), key=lambda listener: listener.port)


def open_routes(listener: Listener, routes: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return what a listener says to a stranger that it should not.

    Args:
        listener: whom to ask.
        routes: the methods by path, if it serves HTTP.
    """
    found = []
    for name, ask in _QUESTIONS.items():
        with suppress(OSError, ValueError, struct.error):  # it refuses
            if said := ask(listener.port):
                found.append(f"{name}: {said}")
    for scheme in ("http", "https"):
        found += _open_http(f"{scheme}://127.0.0.1:{listener.port}", routes)
    return found


def routes_of(get: Callable[[str], httpx.Response]) -> dict[str, tuple[str, ...]]:
    """Return all routes of Airflow's server by its own descriptions.

    Args:
        get: returns the answer at a path.
    """
    found: dict[str, tuple[str, ...]] = {}
    versions = _VERSION.findall(get("/execution/docs").text)  # of the interface of tasks, each has a description
    of_tasks = {f"?version={version}" for version in versions}
    for mount, query in [("", ""), ("/auth", ""), *(("/execution", query) for query in of_tasks)]:
        answer = get(f"{mount}/openapi.json{query}")
        described = answer.json()["paths"] if answer.is_success else {}
        for path, methods in described.items():
            full = path if path.startswith(mount) else f"{mount}{path}"
            found[full] = tuple(method for method in methods if method in _METHODS)
    return found


def _open_http(base: str, routes: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield the routes that answer, of a server that speaks HTTP; a server without known routes is asked for its root.

    A server whose root is no login is open as a whole.
    """
    with httpx.Client(base_url=base, verify=False, timeout=10, trust_env=False) as client:  # noqa: S501 - a stranger
        try:
            client.get("/", timeout=ANSWER_SECONDS if routes else 10)
        except (httpx.HTTPError, ValueError):
            return
        for path, methods in (routes or {"": ("get",)}).items():
            if _HARMLESS.fullmatch(path):
                continue
            for method in methods:
                with suppress(httpx.HTTPError):  # it ends the connection
                    try:
                        answer = client.request(method, re.sub(r"\{[^}]*\}", "1", path) or "/", timeout=ANSWER_SECONDS)
                    except httpx.ReadTimeout:
                        yield f"{method.upper()} {path or '/'}: no answer"
                        continue
                    if answer.status_code not in _REFUSALS and not (_is_login(answer) or _encrypts(answer)):
                        yield f"{method.upper()} {path or '/'}: {answer.status_code} {answer.text[:60]!r}"


def _is_login(answer: httpx.Response) -> bool:
    return answer.is_redirect and "/auth/" in answer.headers.get("location", "")


def _encrypts(answer: httpx.Response) -> bool:
    """Whether it only sends everybody to where it encrypts, and is asked, too."""
    return answer.is_redirect and answer.url.scheme == "http" and answer.headers.get("location", "")[:6] == "https:"


def _asked(port: int, question: bytes, size: int = 200) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
        connection.sendall(question)
        return connection.recv(size)


def _kafka(port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as plain:
        return _metadata(plain)


def _kafka_in_tls(port: int) -> str:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as plain,
        context.wrap_socket(plain) as connection,
    ):
        return _metadata(connection)


def _metadata(connection: socket.socket) -> str:
    """Ask a broker for its topics."""
    try:
        answer = Conversation(connection).ask(MetadataRequest(version=7, topics=None))
    except Exception as refusal:  # of many kinds, all of which say that this is no broker, or refuses
        raise OSError from refusal
    return f"{len(answer.brokers)} brokers, {len(answer.topics)} topics"


def _spark(body: bytes) -> Callable[[int], str]:
    """Ask in a frame of Spark's transport; nobody gets an answer who has to authenticate first."""

    def ask(port: int) -> str:
        said = _asked(port, struct.pack(">q", 8 + len(body)) + body)
        length, kind = struct.unpack_from(">qb", said)
        return f"answers as Spark, {said[9:60]!r}" if 0 < length < _LONGEST and kind in _SPARK_ANSWERS else ""

    return ask


def _py4j(question: bytes) -> Callable[[int], str]:
    def ask(port: int) -> str:
        said = _asked(port, question)
        return f"answers as py4j, {said!r}" if said.startswith(b"!") and not said.startswith(_PY4J_REFUSAL) else ""

    return ask


def _callback(port: int) -> str:
    """Call Python as a driver's JVM does; an error about the object that is called has passed the door."""
    said = _asked(port, _PY4J_CALL)
    is_error = said.startswith(_PY4J_REFUSAL) and b"Authentication" not in said
    return f"is called, {said!r}" if is_error and len(said) > len(b"!x\n") else ""


_QUESTIONS: Mapping[str, Callable[[int], str]] = {
    "Kafka": _kafka,
    "Kafka in TLS": _kafka_in_tls,
    "Spark": _spark(struct.pack(">bi", _STREAM_REQUEST, len(_NO_FILE)) + _NO_FILE),
    "Spark's blocks": _spark(struct.pack(">bqi", _CHUNK_REQUEST, 1, 0)),
    "py4j": _py4j(_PY4J_QUESTION),
    "py4j's callbacks": _callback,
}


def _name(pid: int | None) -> str:
    if pid is None:
        return "?"
    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return "?"
    return next(
        (word for word in reversed(words) if re.fullmatch(r"[\w./]*\.(Kafka|py|\w*Submit|Master|Worker)", word)),
        words[0],
    )


def described(found: Mapping[Listener, list[str]]) -> dict[str, list[str]]:
    """Return what was found as a note, for JSON."""
    return {f"{listener.process}:{listener.port}": said for listener, said in found.items()}
