"""`sluice contracts fetch` against a local server that speaks a schema registry's protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sluice.cli.main import app
from sluice.errors import SpecError, UnreachableError
from sluice.kafka.schema_registry import SchemaRegistry
from tests.http_servers import QuietHandler, answering
from tests.unit.specs.bench import Bench, sound_project

ONE = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
TWO = {**ONE, "fields": [*ONE["fields"], {"name": "shop", "type": "string", "default": "größer"}]}


class Server(ThreadingHTTPServer):
    """Subjects with their versions: what each path is answered with."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Any] = {}
        self.login = ""
        self.moved: set[str] = set()
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def register(self, subject: str, *versions: dict[str, Any]) -> None:
        path = f"/subjects/{subject}/versions"
        self.answers[path] = list(range(1, len(versions) + 1))
        for number, version in enumerate(versions, start=1):
            self.answers[f"{path}/{number}"] = {"subject": subject, "version": number, **version}


class Handler(QuietHandler):
    server: Server

    def answer(self) -> None:
        wanted = f"Basic {base64.b64encode(self.server.login.encode()).decode()}"
        self.server.asked.append(self.path)
        if self.path in self.server.moved:
            self.respond(302, Location=f"/elsewhere{self.path}")
        elif self.server.login and self.headers.get("Authorization") != wanted:
            self.send_error(401)
        elif self.path not in self.server.answers:
            self.send_error(404)
        else:
            self.respond(200, json.dumps(self.server.answers[self.path]).encode())


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    with answering(found):
        yield found


@pytest.fixture
def bench(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    return sound_project(tmp_path)  # type: ignore[arg-type]


def avro(key: int, schema: dict[str, Any]) -> dict[str, Any]:
    return {"id": key, "schema": json.dumps(schema)}


def fetch(url: str, *more: str) -> Result:
    return CliRunner().invoke(app, ["contracts", "fetch", "orders", "--registry", url, *more], catch_exceptions=False)


def test_versions_become_files_once_and_ids_lines_for_the_spec(bench: Bench, server: Server) -> None:
    server.register("orders-value", avro(7, ONE), avro(9, TWO))
    said = fetch(server.url + "/").stdout
    folder = bench.home / "include" / "schemas" / "orders"
    assert [json.loads((folder / f"{number}.avsc").read_text()) for number in (1, 2)] == [ONE, TWO]
    assert said.endswith("value:\n  format: avro\n  framing: confluent\n  schemas: {7: 1, 9: 2}\n")
    (folder / "1.avsc").write_text(json.dumps(ONE))  # another layout is the same version
    server.register("orders-value", avro(7, ONE), avro(9, TWO), avro(70, ONE))
    again = fetch(server.url).stdout
    assert "is version" not in again
    assert "schemas: {7: 1, 9: 2, 70: 1}" in again
    assert sorted(path.name for path in folder.iterdir()) == ["1.avsc", "2.avsc"]


def test_json_schema_another_subject_and_a_login(bench: Bench, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.login = "ann:secret"
    server.register("a%2Fb", {"id": 3, "schemaType": "JSON", "schema": '{"type": "object"}'})
    with pytest.raises(UnreachableError, match=r"refuses .*401"):
        fetch(server.url, "--subject", "a/b")
    monkeypatch.setenv("SLUICE_REGISTRY_LOGIN", "ann:secret")
    assert "format: json" in fetch(server.url, "--subject", "a/b").stdout
    assert (bench.home / "include" / "schemas" / "orders" / "1.json").is_file()


def test_protobuf_is_written_as_it_is_and_its_first_message_proposed(bench: Bench, server: Server) -> None:
    one = 'syntax = "proto3";\npackage shop;\nmessage Order { int64 id = 1; }\nmessage Line {}\n'
    two = one.replace("id = 1;", "id = 1; string shop = 2;")
    server.register(
        "orders-value",
        {"id": 7, "schemaType": "PROTOBUF", "schema": one},
        {"id": 8, "schemaType": "PROTOBUF", "schema": one.replace("package", "// a comment\npackage")},
        {"id": 9, "schemaType": "PROTOBUF", "schema": two.rstrip()},
    )
    said = fetch(server.url).stdout
    folder = bench.home / "include" / "schemas" / "orders"
    assert [(folder / f"{number}.proto").read_text() for number in (1, 2)] == [one, two]
    lines = "  format: protobuf\n  message: shop.Order\n  framing: confluent\n  schemas: {7: 1, 8: 1, 9: 2}\n"
    assert said.endswith(f"value:\n{lines}")
    server.register(
        "orders-value", {"id": 7, "schemaType": "PROTOBUF", "schema": 'syntax = "proto3"; import "a.proto";'}
    )
    with pytest.raises(SpecError, match="was not found or had errors") as refused:
        fetch(server.url)
    assert "a contract is one file" in refused.value.fix


@pytest.mark.parametrize(
    ("answers", "error", "said"),
    [
        ({}, SpecError, "has no subject 'orders-value'"),
        ({"/subjects/orders-value/versions": {"a": 1}}, UnreachableError, "no answer of a schema registry"),
        (
            {"/subjects/orders-value/versions": [1], "/subjects/orders-value/versions/1": {"id": 7}},
            UnreachableError,
            "no answer of a schema registry",
        ),
    ],
)
def test_what_is_no_answer_is_refused(
    bench: Bench, server: Server, answers: dict[str, Any], error: type[Exception], said: str
) -> None:
    server.answers.update(answers)
    with pytest.raises(error, match=said):
        fetch(server.url)
    assert not (bench.home / "include" / "schemas").exists()


def test_a_login_is_sent_to_no_other_address(server: Server) -> None:
    path = "/subjects/orders-value/versions"
    server.moved = {path}
    with pytest.raises(UnreachableError, match=f"refuses {path}: 302 Found"):
        list(SchemaRegistry(server.url, "ann:secret").versions("orders-value"))
    assert server.asked == [path]


def test_an_unsupported_schema_is_refused(server: Server) -> None:
    server.register("p", {"id": 1, "schemaType": "THRIFT", "schema": "x"})
    server.register("r", {**avro(1, ONE), "references": [{"name": "x"}]})
    server.register("s", {"id": 1, "schema": '"string"'})
    server.register("t", {"id": 1, "schema": "{"})
    for subject, said in (
        ("p", "is written in THRIFT"),
        ("r", "refers to other subjects"),
        ("s", "is no object"),
        ("t", "is no object"),
    ):
        with pytest.raises(SpecError, match=said):
            list(SchemaRegistry(server.url).versions(subject))
    with pytest.raises(SpecError, match="is no address"):
        list(SchemaRegistry("file:///etc/passwd").versions("p"))
    with pytest.raises(SpecError, match="holds a login") as refused:
        list(SchemaRegistry("http://ann:secret@127.0.0.1:1").versions("p"))
    assert "secret" not in str(refused.value)
    for address in ("http://127.0.0.1:1", "http://127.0.0.1:80a"):
        with pytest.raises(UnreachableError, match="could not be queried"):
            list(SchemaRegistry(address).versions("p"))
