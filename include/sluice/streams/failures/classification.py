"""Which class of failure an exception belongs to, judged by the names that its makers gave it.

Three kinds of names are stable: classes, Spark's and Delta's error conditions (`[KAFKA_DATA_LOSS.…]`), and SQLSTATEs.
Free text is not: it quotes plans, options and data, so only the few old messages without a condition are looked for,
and only at the start. Wrappers say nothing about the cause (`STREAM_FAILED`, `Job aborted`), so the whole chain counts,
including what a message quotes of another process: a task's failure, a traceback that crossed from Python to the JVM.

Rules are tried in order over the whole chain: what must never be retried goes before what time heals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain as joined

from sluice.streams.failures.failure import FailureClass


@dataclass(frozen=True)
class Thrown:
    """One exception of a chain: the qualified name of its class, and its message."""

    name: str
    message: str

    @property
    def simple_name(self) -> str:
        """The class without its package."""
        return re.split(r"[.$]", self.name)[-1]

    @property
    def condition(self) -> str:
        """The name of the error condition, such as `KAFKA_DATA_LOSS.PARTITIONS_DELETED`; empty without one."""
        match = _CONDITION.match(self.message)
        return match[1] if match else ""

    @property
    def sqlstate(self) -> str:
        """The SQLSTATE of the condition; empty without one."""
        match = _SQLSTATE.search(self.message) if self.condition else None
        return match[1] if match else ""

    @property
    def is_ours(self) -> bool:
        """Whether Sluice raises it, in a sentence that is made for one line."""
        return self.name.startswith("sluice.")

    @property
    def called(self) -> str:
        """The most telling name."""
        return self.condition or self.simple_name


_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_SQLSTATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
_QUOTED = re.compile(
    r"^(?:Caused by: |: |.*?most recent failure: .*?\): )?"
    r"((?:[a-zA-Z_]\w*[.$])+[A-Z]\w*(?:Exception|Error|Failure)|[A-Z]\w*(?:Exception|Error)): ?(.*)$",
    re.MULTILINE,
)
"""An exception as a stack trace, a traceback or the scheduler's report of a task prints it."""


@dataclass(frozen=True)
class ErrorPattern:
    """What makes an exception one of a class; each part is a pattern, and one that matches is enough.

    Attributes:
        kind: the class.
        names: of the exception's class without its package; all of it must match.
        conditions: of the error condition; its beginning must match up to a dot or its end.
        messages: how the message begins, where there is no condition.
        sqlstates: how the SQLSTATE begins.
    """

    kind: FailureClass
    names: str = ""
    conditions: str = ""
    messages: str = ""
    sqlstates: str = ""

    def fits(self, thrown: Thrown) -> bool:
        """Whether the exception is of this class."""
        return any(
            (
                self.names and re.fullmatch(self.names, thrown.simple_name),
                self.conditions and re.match(rf"(?:{self.conditions})(?:\.|$)", thrown.condition),
                self.messages and re.match(self.messages, thrown.message),
                self.sqlstates and thrown.condition not in _WRAPPERS and re.match(self.sqlstates, thrown.sqlstate),
            )
        )


_WRAPPERS = {"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "TASK_WRITE_FAILED"}
"""Conditions that only say where something failed."""

RULES: Sequence[ErrorPattern] = (
    ErrorPattern(
        FailureClass.FENCED,
        names=r"FencedError|ConcurrentTransactionException|ProducerFencedException",
        conditions=r"CONCURRENT_QUERY|DELTA_CONCURRENT_TRANSACTION",
    ),
    ErrorPattern(
        FailureClass.DATA_LOSS,
        names=r"DataLossError|OffsetOutOfRangeException",
        conditions=r"KAFKA_DATA_LOSS",
        messages=r"Some data may have been lost because they are not available in Kafka",
    ),
    ErrorPattern(
        FailureClass.INCOMPATIBLE_STATE,
        names=r"IncompatibleStateError",
        conditions=r"STATE_STORE_(KEY|VALUE)_SCHEMA_NOT_COMPATIBLE|STATE_STORE_COLUMN_FAMILY_SCHEMA_INCOMPATIBLE"
        r"|STATE_STORE_INVALID_(CONFIG_AFTER_RESTART|VARIABLE_TYPE_CHANGE|VALUE_SCHEMA_EVOLUTION|PROVIDER)"
        r"|STATE_STORE_(KEY|VALUE)_ROW_FORMAT_VALIDATION_FAILURE|STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"
        r"|STATE_STORE_(STATE_SCHEMA_FILES|VALUE_SCHEMA_EVOLUTION)_THRESHOLD_EXCEEDED"
        r"|STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA|STREAMING_QUERY_EVOLUTION_ERROR|INVALID_LOG_VERSION"
        r"|CANNOT_LOAD_STATE_STORE\.((KEY|VALUE)_ROW_FORMAT_VALIDATION_FAILURE|INVALID_CHANGE_LOG_READER_VERSION)"
        r"|DELTA_METADATA_MISMATCH|DELTA_FAILED_TO_MERGE_FIELDS|DELTA_SCHEMA_CHANGED|DELTA_INVALID_PROTOCOL_VERSION"
        r"|DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART",
        messages=r"(assertion failed: )?There are \[\d+\] sources in the checkpoint offsets and now there are",
    ),
    ErrorPattern(
        FailureClass.OUT_OF_MEMORY,
        names=r"OutOfMemoryError|SparkOutOfMemoryError|MemoryError",
        conditions=r"(\w+\.)?\w*_OUT_OF_MEMORY|UNABLE_TO_ACQUIRE_MEMORY",
    ),
    ErrorPattern(
        FailureClass.CORRUPT,
        names=r"CorruptionError",
        conditions=r"STREAMING_CHECKPOINT_MISSING_METADATA_FILE|CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"
        r"|MALFORMED_LOG_FILE|STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY|STATE_REWRITER_INVALID_CHECKPOINT"
        r"|STATE_REPARTITION_INVALID_CHECKPOINT|STREAMING_UNFINISHED_REPARTITION_DETECTED"
        r"|STATE_STORE_(BASE_CHECKPOINT_ID_MISMATCH|ROW_CHECKSUM_VERIFICATION_FAILED|COMMIT_VALIDATION_FAILED)"
        r"|STREAM_STREAM_JOIN_INCONSISTENT_STATE|CANNOT_LOAD_STATE_STORE\.(AUTO_SNAPSHOT_REPAIR_FAILED"
        r"|CANNOT_(FIND|READ)_\w+|INVALID_CHECKPOINT_LINEAGE|SNAPSHOT_PARTITION_ID_NOT_FOUND|UNEXPECTED_\w+)"
        r"|DELTA_(TRUNCATED_TRANSACTION_LOG|TXN_LOG_FAILED_INTEGRITY|VERSIONS_NOT_CONTIGUOUS|STATE_RECOVER_ERROR"
        r"|LOG_FILE_NOT_FOUND|DELETION_VECTOR_CHECKSUM_MISMATCH)",
        messages=r"Incomplete log file",
    ),
    # The words of the operating system, at the end of what Java, RocksDB, Arrow and Delta's writer make of them.
    ErrorPattern(
        FailureClass.DISK_FULL,
        messages=r"(?s)\[Errno (28|122)\]|.{0,100}database or disk is full"
        r"|.{0,300}\b(No space left on device|Disk quota exceeded)(\Z| \(os error|[:;)\n])",
    ),
    ErrorPattern(
        FailureClass.AUTHORISATION,
        names=r"\w*Authori[sz]ation(Failed)?(Exception|Error)|\w*Authentication(Failed)?(Exception|Error)"
        r"|AccessDeniedException|AccessControlException|PermissionError|UnsupportedSaslMechanism(Exception|Error)"
        r"|DelegationTokenExpiredException|SSLHandshakeException",
        messages=r".* \(Permission denied\)",
    ),
    ErrorPattern(FailureClass.SCHEMA_DRIFT, names=r"SchemaDriftError"),
    ErrorPattern(FailureClass.CONFIGURATION, names=r"NotConfiguredError"),
    ErrorPattern(FailureClass.WRONG_SPEC, names=r"SpecError|SpecFaults|ManyRowsError"),
    ErrorPattern(FailureClass.KILLED, names=r"Py4JNetworkError|GatewayGone"),
    ErrorPattern(
        FailureClass.TRANSIENT,
        names=r"UnreachableError|NotReadyError"
        # Kafka: what its Java client calls retriable, and kafka-python's names for the same
        r"|(Kafka)?Timeout(Exception|Error)|Disconnect(Exception|edError)|NetworkException|\w*NotAvailable(Exception|Error)"
        r"|NotLeaderOrFollowerException|NotCoordinatorException|NotControllerException|NotEnoughReplicas\w*"
        r"|KafkaStorageException|CoordinatorLoadInProgressException|UnknownTopicOrPartition(Exception|Error)"
        r"|NoBrokersAvailable(Error)?|KafkaConnectionError|NodeNotReadyError|RetriableException"
        # the network and the executors
        r"|ConnectException|SocketTimeoutException|SocketException|UnknownHostException|NoRouteToHostException"
        r"|BindException|Connection(Refused|Reset|Aborted)?Error|BrokenPipeError|gaierror|RpcTimeoutException"
        r"|FetchFailedException|ExecutorLostFailure|ShuffleBlockFetcherIterator"
        # a bucket, as Spark's file system names it; what it refuses for good has names of its own
        r"|AWS(ServiceThrottled|Status500|ApiCallTimeout|NoResponse)Exception|AWSClientIOException"
        r"|HttpChannelEOFException|ConnectTimeoutException",
        conditions=r"STREAMING_PYTHON_RUNNER_INITIALIZATION_\w+"
        r"|LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW"
        r"|END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW"
        # An older driver woke up and planned or ended a batch first; who is the older one, is fenced: see `Driver`
        r"|CONCURRENT_STREAM_LOG_UPDATE",
        messages=r"Multiple streaming queries are concurrently using "
        # delta-rs after its last try: `OSError` or `DeltaError` by name; 429 and 5xx pass by, other answers do not
        r"|(?s:.{0,300}Generic S3 error(?!.*status code.{0,60}?\b4(?!29)\d\d\b))"
        r"|Job aborted due to stage failure: .*ExecutorLostFailure"
        r"|(Application has been killed\. Reason: )?All masters are unresponsive",
    ),
    ErrorPattern(
        FailureClass.CODE,
        names=r"RefusedError|AnalysisException|ParseException|PythonException|ArithmeticException|DateTimeException"
        r"|NumberFormatException|ArrayIndexOutOfBoundsException|(Type|Value|Key|Index|Name|Attribute|ZeroDivision"
        r"|Assertion|Import|ModuleNotFound|Syntax|Unicode\w+)Error|ClassNotFoundException|NoSuchMethodError",
        sqlstates=r"0A|21|22|38|39|42|54|P0",
    ),
)


def classify(thrown: Iterable[Thrown]) -> tuple[FailureClass, Thrown]:
    """Return the class of a failure, outermost exception first, and the exception that decides it."""
    everything = list(joined.from_iterable((one, *quoted(one.message)) for one in thrown))
    for rule in RULES:
        # Of several that fit, the innermost: it is nearest to the cause.
        if telling := next((one for one in reversed(everything) if rule.fits(one)), None):
            return rule.kind, telling
    innermost = next((one for one in reversed(everything) if one.condition not in _WRAPPERS), everything[0])
    return FailureClass.UNKNOWN, innermost


def quoted(message: str) -> Iterator[Thrown]:
    """Yield the exceptions that a message quotes, in the order of the text."""
    for match in _QUOTED.finditer(message):
        yield Thrown(match[1], match[2])
