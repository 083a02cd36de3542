"""A server of Spark's transport answers nothing before the secret is proven, in a JVM with our option and our jar."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from sluice.devstack.kafka.java import find_compiler, java_command
from sluice.devstack.spark_authentication import AUTHENTICATION_FIRST
from sluice.settings import inherited, settings
from tests.spark_strangers import CHUNK, STREAM, chunk_request, first_word, kind_of, one_way, stream_request, told

TEXT = "what strangers should not have"


@dataclass(frozen=True)
class Server:
    """Runs `Served`."""

    java: str
    class_path: str

    @contextmanager
    def running(self, *options: str, cipher: bool, asks: bool) -> Iterator[int]:
        """Serve, and give the port; a client with the secret has the text by then."""
        command = [self.java, *options, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", self.class_path]
        words = [str(word).lower() for word in (cipher, asks)]
        pipe = subprocess.PIPE
        with subprocess.Popen([*command, "Served", *words], stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdout is not None
            port, _, text = process.stdout.readline().partition(" ")
            assert text.strip() == TEXT
            yield int(port)
            process.communicate("")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    home = inherited().get("JAVA_HOME", "")
    compiler = find_compiler(home)
    assert compiler is not None
    classes = tmp_path_factory.mktemp("classes")
    class_path = ":".join([str(classes), f"{Path(pyspark.__file__).parent}/jars/*", f"{settings().jars}/spark/*"])
    source = Path(__file__).parent / "java" / "Served.java"
    subprocess.run([compiler, "-cp", class_path, "-d", classes, source], check=True)
    return Server(java_command(home), class_path)


@pytest.mark.parametrize("cipher", [True, pytest.param(False, marks=pytest.mark.verify)], ids=["AES", "SASL"])
def test_nothing_is_answered_before_the_secret_is_proven(server: Server, *, cipher: bool) -> None:
    with server.running(AUTHENTICATION_FIRST, cipher=cipher, asks=True) as port:
        for request in (stream_request("/jars/a.jar"), chunk_request(1), one_way()):
            assert told(port, request) == b""
            begun = first_word("app")
            assert told(port, begun), "the handshake itself is answered"
            assert told(port, begun, request) == b"", "to begin one is no proof"


@pytest.mark.verify
def test_without_the_option_everybody_gets_streams_and_chunks(server: Server) -> None:
    with server.running(cipher=True, asks=True) as port:
        assert kind_of(told(port, stream_request("/jars/a.jar"))) == STREAM
        assert kind_of(told(port, chunk_request(1))) == CHUNK


@pytest.mark.verify
def test_a_server_that_asks_for_no_secret_is_as_it_was(server: Server) -> None:
    with server.running(AUTHENTICATION_FIRST, cipher=False, asks=False) as port:
        assert kind_of(told(port, stream_request("/jars/a.jar"))) == STREAM
