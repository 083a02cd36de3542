"""What a driver leaves when it fails: the class, one line without secrets, in a file and in the exit code."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from pyspark import SparkContext

from sluice.alerts.redaction import Redaction
from sluice.errors import CorruptionError, NotConfiguredError, NotReadyError, SpecError
from sluice.spark.driver.causes import causes
from sluice.spark.driver.exit_report import MAX_CHARACTERS, ExitReport
from sluice.streams.failures.exits import ExitCode
from sluice.streams.failures.failure import FILE, Failure, FailureClass, from_record
from sluice.streams.life.preflight import NotStartableError, Preflight
from tests.twins.clock import START, ManualClock


class FakeThrowable:
    """A JVM exception as py4j shows it."""

    def __init__(self, name: str, message: str | None, cause: FakeThrowable | None = None) -> None:
        self._name, self._message, self._cause = name, message, cause

    def getClass(self) -> FakeThrowable:  # noqa: N802 - Java's name
        return self

    def getName(self) -> str:  # noqa: N802 - Java's name
        return self._name

    def getMessage(self) -> str | None:  # noqa: N802 - Java's name
        return self._message

    def getCause(self) -> FakeThrowable | None:  # noqa: N802 - Java's name
        return self._cause


class CallError(Exception):
    """Like Py4JJavaError."""

    def __init__(self, java_exception: Any) -> None:  # noqa: ANN401 - py4j's proxy
        super().__init__("An error occurred while calling o1.save.")
        self.java_exception = java_exception


class CapturedError(Exception):
    """Like PySpark's captured exceptions: a description, and a cause under a name of its own."""

    def __init__(self, desc: str, cause: Exception | None = None) -> None:
        super().__init__("its str() asks the JVM for a stack trace")
        self._desc, self._cause, self._origin = desc, cause, None


def leave(error: BaseException, folder: Path | None = None, stream: str = "") -> tuple[ExitCode, Failure]:
    words = ExitReport(folder, redact=Redaction(["hunter22"]), clock=ManualClock())
    code = words.write(error, stream)
    assert words.failure is not None
    return code, words.failure


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        _raise(error, cause)
    except Exception as caught:  # noqa: BLE001 - whatever was given
        return caught


def _raise(error: Exception, cause: Exception | None) -> NoReturn:
    raise error from cause


def test_the_file_has_what_whoever_records_the_death_needs(tmp_path: Path) -> None:
    code, said = leave(raised(KeyError("dep_delay")), tmp_path, "departures")
    assert code is ExitCode.CODE
    assert said == Failure(FailureClass.CODE, "KeyError", "'dep_delay'", START, "departures")
    assert from_record(json.loads((tmp_path / FILE).read_text())) == said
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_the_first_failure_counts(tmp_path: Path) -> None:
    words = ExitReport(tmp_path)
    assert words.write(CorruptionError("offsets/7 is gone.")) is ExitCode.CORRUPT
    assert words.write(ConnectionError("the JVM is gone")) is ExitCode.CORRUPT
    assert json.loads((tmp_path / FILE).read_text())["message"] == "offsets/7 is gone."


def test_a_disk_that_does_not_take_the_file_leaves_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    (tmp_path / FILE / "in the way").touch()
    assert leave(NotReadyError("no topic"), tmp_path)[0] is ExitCode.TRANSIENT


@pytest.mark.parametrize(
    "message",
    [
        "cannot log in to kafka://ada:hunter22@broker:9092",
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="ada" password="s3cr3t-word";',
        "sasl.jaas.config=s3cr3t-word",
        "no such file: hunter22",
    ],
)
def test_no_secret_is_in_the_last_words(message: str, tmp_path: Path) -> None:
    leave(raised(OSError(message)), tmp_path)
    said = (tmp_path / FILE).read_text()
    assert "hunter22" not in said
    assert "s3cr3t-word" not in said


def test_a_long_message_becomes_one_line_of_bounded_length() -> None:
    said = leave(raised(ValueError("a plan\n" * 500)))[1].message
    assert len(said) == MAX_CHARACTERS + 1
    assert "\n" not in said


def test_what_others_say_at_length_has_its_first_sentence_in_the_line_and_all_of_it_in_the_details() -> None:
    schema = "StructType(StructField(oops,IntegerType,true)), " * 50
    text = f"[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] The schema does not match the state's.\nIt was {schema}."
    said = leave(CallError(FakeThrowable("org.apache.spark.sql.X", text)))[1]
    assert said.message == "The schema does not match the state's."
    assert said.details == f"The schema does not match the state's.\nIt was {schema}."
    assert leave(CallError(FakeThrowable("org.apache.spark.sql.X", "Short.")))[1].details == ""


def test_all_that_stands_against_a_start_is_told_and_the_gravest_class_counts() -> None:
    preflight = Preflight()
    with preflight.of("raw_flights"):
        raise NotReadyError("no topic flights.")
    with preflight.of("departures"):
        raise NotReadyError("no topic flights.")
    with preflight.of("departures_live"):
        raise NotConfiguredError("SLUICE_CONNECTION_NOWHERE is not set here.")
    with preflight.of("departures_dead"):
        pass
    with pytest.raises(NotStartableError) as refused:
        preflight.refuse()
    code, said = leave(refused.value)
    assert code is ExitCode.CONFIGURATION
    assert said.error == "3 faults"
    assert said.message == (
        "raw_flights, departures: no topic flights.; departures_live: SLUICE_CONNECTION_NOWHERE is not set here."
    )


def test_a_fault_of_several_streams_is_one_sentence_under_its_own_name() -> None:
    preflight = Preflight()
    for number, stream in enumerate(("departures", "departures_live")):
        with preflight.of(stream):
            schema = f"StructType(StructField(c{number},LongType,true)) " * 20
            text = f"[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] The schema does not match. It was {schema}"
            raise CallError(FakeThrowable("org.apache.spark.sql.X", text))
    with pytest.raises(NotStartableError) as refused:
        preflight.refuse()
    code, said = leave(refused.value)
    assert code is ExitCode.INCOMPATIBLE_STATE
    assert said.error == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
    assert said.message == "departures, departures_live: The schema does not match."
    assert [line.partition(":")[0] for line in said.details.splitlines()] == ["departures", "departures_live"]


def test_one_fault_is_told_as_itself_and_of_its_stream() -> None:
    preflight = Preflight()
    with preflight.of("departures"):
        raise KeyError("dep_delay")
    with pytest.raises(NotStartableError) as refused:
        preflight.refuse()
    code, said = leave(refused.value)
    assert (code, str(said)) == (ExitCode.CODE, "stream departures: KeyError: 'dep_delay'")


def test_without_a_fault_nothing_is_refused() -> None:
    Preflight().refuse()


def test_a_condition_is_said_once_and_without_its_number() -> None:
    error = CallError(
        FakeThrowable("org.apache.spark.SparkException", "[DIVIDE_BY_ZERO] Division. SQLSTATE: 22012 (x)")
    )
    assert str(leave(error)[1]) == "DIVIDE_BY_ZERO: Division."


def test_the_chain_crosses_the_border_to_the_jvm_and_back() -> None:
    root = FakeThrowable("org.apache.kafka.common.errors.TimeoutException", None)
    error = raised(RuntimeError("batch 7"), CallError(FakeThrowable("org.apache.spark.SparkException", "Job", root)))
    assert [(thrown.name, thrown.message) for thrown in causes(error)] == [
        ("builtins.RuntimeError", "batch 7"),
        ("org.apache.spark.SparkException", "Job"),
        ("org.apache.kafka.common.errors.TimeoutException", ""),
    ]
    assert leave(error)[0] is ExitCode.TRANSIENT


def test_the_end_of_a_query_is_told_by_its_cause() -> None:
    timed_out = CapturedError("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node")
    code, said = leave(CapturedError("[STREAM_FAILED] Query [id = 1] terminated with exception: x", timed_out))
    assert (code, str(said)) == (ExitCode.TRANSIENT, "TimeoutException: Timed out waiting for a node")


def test_a_connection_that_the_gateway_lost_is_the_death_of_the_jvm() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gateway = ClientServer(JavaParameters(port=port), PythonParameters(port=0))
    try:
        with pytest.raises(Exception) as lost:  # noqa: PT011 - which one is py4j's choice
            gateway.jvm.java.lang.System.currentTimeMillis()
    finally:
        gateway.shutdown()
    assert leave(lost.value)[0] is ExitCode.JVM_LOST


def test_a_broker_that_refuses_the_connection_is_not() -> None:
    assert leave(raised(ConnectionRefusedError(111, "Connection refused")))[0] is ExitCode.TRANSIENT


def test_a_jvm_that_dies_while_it_is_asked_is_told_all_the_same() -> None:
    class Dying(FakeThrowable):
        def getMessage(self) -> str:  # noqa: N802 - Java's name
            raise ConnectionResetError(104, "Connection reset by peer")

    assert leave(CallError(Dying("java.lang.Throwable", "")))[1].kind is FailureClass.TRANSIENT


def test_a_chain_that_bites_its_tail_ends() -> None:
    error = ValueError("x")
    error.__cause__ = RuntimeError("y")
    error.__cause__.__cause__ = error
    assert len(list(causes(error))) == 2


def test_our_own_errors_keep_their_fix() -> None:
    code, said = leave(SpecError("surce: unknown key.", fix="call it source."))
    assert (code, said.message) == (ExitCode.WRONG_SPEC, "surce: unknown key. Fix: call it source.")


def test_whatever_falls_over_a_dead_jvm_is_told_as_its_death(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=gone))
    code, said = leave(raised(TypeError("'JavaPackage' object is not callable")), tmp_path)
    assert code is ExitCode.JVM_LOST
    assert (said.kind, said.message) == (FailureClass.KILLED, "Spark's JVM ended with code 3")


def test_a_jvm_that_lives_is_not_to_blame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as alive:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=alive))
        code, said = leave(raised(TypeError("'NoneType' object is not callable")), tmp_path)
        alive.kill()
    assert (code, said.kind) == (ExitCode.CODE, FailureClass.CODE)
