"""Exceptions as Spark 4.2, Delta, Kafka and Python word them, and the class that each belongs to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.failures.classification import RULES, Thrown, classify, quoted
from sluice.streams.failures.failure import EXIT_CODES, FailureClass, class_of_exit

STREAM_FAILED = Thrown(
    "org.apache.spark.sql.streaming.StreamingQueryException",
    "[STREAM_FAILED] Query [id = 5b6b2c1e-0f6a-4d0c-9f5e-3a6f1f3f8d11, runId = 6b1c] terminated with exception: see "
    "below SQLSTATE: XXKST",
)
IN_A_BATCH = Thrown(
    "org.apache.spark.sql.execution.streaming.sources.ForeachBatchUserFuncException",
    "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. "
    "Reason: An exception was raised by the Python Proxy. Return Message: see below SQLSTATE: 39000",
)
KAFKA = "org.apache.kafka.common.errors"
F = FailureClass

ARROW = "\n   \x1b[31m↳\x1b[0m "
S3_BUSY = (
    f"Kernel error -> Generic S3 error{ARROW}Error performing GET http://store/b/t/_delta_log/_last_checkpoint in "
    f"2.4s, after 10 retries, max_retries{ARROW}10, retry_timeout{ARROW}180s  - Server returned non-2xx status code"
    f"{ARROW}503 Service Unavailable{ARROW}<Error><Code>SlowDown</Code></Error>\n"
)
ONE_EXCEPTION = [
    # another driver
    (F.FENCED, "sluice.delta.writer_log.FencedError", "generation 4 owns departures; this is generation 3."),
    (
        F.TRANSIENT,
        "org.apache.spark.SparkException",
        (
            "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 12. "
            "Please make sure only one streaming job runs on a specific checkpoint location at a time. SQLSTATE: 40000"
        ),
    ),
    (
        F.TRANSIENT,
        "org.apache.spark.sql.errors.SparkConcurrentModificationException",
        "Multiple streaming queries are concurrently using file:/state/checkpoints/departures/offsets.",
    ),
    (
        F.FENCED,
        "io.delta.exceptions.ConcurrentTransactionException",
        (
            "[DELTA_CONCURRENT_TRANSACTION] ConcurrentTransactionException: This error occurs when multiple streaming "
            "queries are using the same checkpoint to write into this table. SQLSTATE: 2D521"
        ),
    ),
    # records that are gone
    (F.DATA_LOSS, "sluice.delta.writer_log.DataLossError", "records 10 to 20 of flights/0 are gone."),
    (
        F.DATA_LOSS,
        "org.apache.spark.sql.kafka010.KafkaIllegalStateException",
        (
            "[KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED] Some data may have been lost because they are not available in "
            "Kafka any more; either the data was aged out by Kafka or the topic may have been deleted before all the "
            "data in the topic was processed. Reason: Partition flights-0 offset was changed from 120 to 3. This could "
            "be either 1) a user error that the start offset is set beyond available offset when starting query, or 2) "
            "the kafka topic-partition is deleted and re-created. SQLSTATE: 22000"
        ),
    ),
    (
        F.DATA_LOSS,
        "org.apache.spark.sql.kafka010.KafkaIllegalStateException",
        (
            "[KAFKA_DATA_LOSS.PARTITIONS_DELETED] Some data may have been lost because they are not available in Kafka "
            "any more; Reason: Partitions Set(flights-3) have been deleted. SQLSTATE: 22000"
        ),
    ),
    (F.DATA_LOSS, "org.apache.kafka.clients.consumer.OffsetOutOfRangeException", "Fetch position is out of range"),
    # a checkpoint, state or table that contradicts itself
    (F.CORRUPT, "sluice.errors.CorruptionError", "checkpoints/departures has no offsets/7 before batch 8."),
    (
        F.CORRUPT,
        "org.apache.spark.SparkException",
        (
            "[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] Checkpoint location file:/c is in an inconsistent state: the "
            "metadata file is missing but offset and/or commit logs contain data. SQLSTATE: 42K03"
        ),
    ),
    (F.CORRUPT, "java.lang.IllegalStateException", "Incomplete log file in the offset log: file:/c/offsets/12"),
    (F.CORRUPT, "java.lang.IllegalStateException", "[MALFORMED_LOG_FILE] Log file was malformed. SQLSTATE: KD002"),
    (
        F.CORRUPT,
        "org.apache.spark.SparkException",
        (
            "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred during loading state. Error "
            "reading delta file file:/c/state/0/0/3.delta of HDFSStateStoreProvider: it does not exist. SQLSTATE: 58030"
        ),
    ),
    (
        F.CORRUPT,
        "org.apache.spark.sql.delta.DeltaFileNotFoundException",
        "[DELTA_TRUNCATED_TRANSACTION_LOG] /t/_delta_log: Unable to reconstruct state at version 9. SQLSTATE: 42K03",
    ),
    # what is kept does not fit the code
    (
        F.INCOMPATIBLE_STATE,
        "org.apache.spark.sql.execution.streaming.state.StateStoreKeySchemaNotCompatible",
        (
            "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match existing state key schema. "
            "Please check number and type of fields. SQLSTATE: XXKST"
        ),
    ),
    (
        F.INCOMPATIBLE_STATE,
        "org.apache.spark.SparkException",
        (
            "[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful operator name does not match "
            "with the operator in state metadata. SQLSTATE: 42K03"
        ),
    ),
    (
        F.INCOMPATIBLE_STATE,
        "java.lang.AssertionError",
        (
            "assertion failed: There are [1] sources in the checkpoint offsets and now there are [2] sources requested "
            "by the query. Cannot continue."
        ),
    ),
    (
        F.INCOMPATIBLE_STATE,
        "org.apache.spark.sql.delta.DeltaAnalysisException",
        "[DELTA_METADATA_MISMATCH] A metadata mismatch was detected when writing to the Delta table. SQLSTATE: 42KDG",
    ),
    # what comes is not what the spec says
    (F.SCHEMA_DRIFT, "sluice.quality.breaker.SchemaDriftError", "batch 7 of departures: 80 of 100 records (80%) are"),
    # something is not set
    (F.CONFIGURATION, "sluice.errors.NotConfiguredError", "SLUICE_CONNECTION_NOWHERE is not set here. Fix: set it"),
    # it may not
    (F.AUTHORISATION, f"{KAFKA}.TopicAuthorizationException", "Not authorized to access topics: [flights]"),
    (F.AUTHORISATION, f"{KAFKA}.SaslAuthenticationException", "Authentication failed: Invalid username or password"),
    (F.AUTHORISATION, "kafka.errors.TopicAuthorizationFailedError", "[Error 29] TopicAuthorizationFailedError"),
    (F.AUTHORISATION, "kafka.errors.SaslAuthenticationFailedError", "[Error 58] SaslAuthenticationFailedError"),
    (F.AUTHORISATION, "java.nio.file.AccessDeniedException", "s3a://bucket/checkpoints: getFileStatus: Forbidden"),
    # a bucket that does not answer, and one that refuses
    (F.TRANSIENT, "OSError", S3_BUSY),
    (
        F.TRANSIENT,
        "_internal.DeltaError",
        (
            "Failed to parse parquet: External: Generic S3 error: Error performing PUT http://store/b/t/part-0.parquet "
            "in 1.2s, after 10 retries, max_retries: 10, retry_timeout: 180s - HTTP error: error sending request"
        ),
    ),
    (
        F.UNKNOWN,
        "OSError",
        S3_BUSY.replace("503 Service Unavailable", "400 Bad Request").replace("SlowDown", "Malformed"),
    ),
    (F.TRANSIENT, "sluice.settling.ports.UncertainCommitError", f"a commit may have been made or not: {S3_BUSY}"),
    (F.TRANSIENT, "org.apache.hadoop.fs.s3a.AWSServiceThrottledException", "getFileStatus on s3a://b/t: Slow Down"),
    (F.AUTHORISATION, "java.io.FileNotFoundException", "/state/tables/raw/x.parquet (Permission denied)"),
    (F.AUTHORISATION, "builtins.PermissionError", "[Errno 13] Permission denied: '/state/progress'"),
    # memory
    (F.OUT_OF_MEMORY, "java.lang.OutOfMemoryError", "Java heap space"),
    (F.OUT_OF_MEMORY, "builtins.MemoryError", ""),
    (
        F.OUT_OF_MEMORY,
        "org.apache.spark.memory.SparkOutOfMemoryError",
        "[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire 65536 bytes of memory, got 0. SQLSTATE: 53200",
    ),
    (
        F.OUT_OF_MEMORY,
        "org.apache.spark.SparkException",
        (
            "[CANNOT_LOAD_STATE_STORE.ROCKSDB_STORE_PROVIDER_OUT_OF_MEMORY] Could not load RocksDB state store. "
            "SQLSTATE: 58030"
        ),
    ),
    # what time heals
    (F.TRANSIENT, f"{KAFKA}.TimeoutException", "Timed out waiting for a node assignment. Call: describeTopics"),
    (F.TRANSIENT, f"{KAFKA}.UnknownTopicOrPartitionException", "This server does not host this topic-partition."),
    (F.TRANSIENT, f"{KAFKA}.NotEnoughReplicasException", "Messages are rejected since there are fewer in-sync"),
    (F.TRANSIENT, "java.net.ConnectException", "Connection refused"),
    (F.TRANSIENT, "java.net.UnknownHostException", "minio: Name or service not known"),
    (F.TRANSIENT, "java.util.concurrent.TimeoutException", "Futures timed out after [120 seconds]"),
    (F.DISK_FULL, "java.io.IOException", "No space left on device"),
    (F.DISK_FULL, "java.io.FileNotFoundException", "/srv/state/a.crc (No space left on device)"),
    (F.DISK_FULL, "org.rocksdb.RocksDBException", "While appending to file: /a/000012.log: No space left on device"),
    (F.DISK_FULL, "builtins.OSError", "Generic LocalFileSystem error: No space left on device (os error 28)"),
    (F.DISK_FULL, "builtins.OSError", "[Errno 122] Disk quota exceeded"),
    (F.DISK_FULL, "sqlite3.OperationalError", "database or disk is full"),
    (F.CODE, "builtins.ValueError", "'No space left on device' is no airport"),
    (F.DISK_FULL, "builtins.OSError", "[Errno 28] No space left on device: '/state/progress/.departures.json.draft'"),
    (F.TRANSIENT, "kafka.errors.NoBrokersAvailable", "NoBrokersAvailable"),
    (F.TRANSIENT, "sluice.errors.UnreachableError", "the broker does not answer."),
    (F.TRANSIENT, "sluice.errors.NotReadyError", "the cluster has no topic flights. Fix: run the DAG `topics`."),
    (
        F.TRANSIENT,
        "org.apache.spark.SparkException",
        (
            "Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: Lost task 0.3 "
            "in stage 3.0 (TID 9) (127.0.0.1 executor 1): ExecutorLostFailure (executor 1 exited caused by one of the "
            "running tasks) Reason: Command exited with code 137"
        ),
    ),
    # the same input fails again
    (
        F.CODE,
        "org.apache.spark.SparkArithmeticException",
        "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0. SQLSTATE: 22012",
    ),
    (
        F.CODE,
        "org.apache.spark.sql.AnalysisException",
        (
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column, variable, or function parameter with name `dep` cannot be "
            "resolved. SQLSTATE: 42703"
        ),
    ),
    (F.CODE, "builtins.KeyError", "'dep_delay'"),
    (F.CODE, "sluice.errors.RefusedError", "3 result rows have no 'hour': they belong to no interval."),
    # the rest
    (
        F.WRONG_SPEC,
        "sluice.specs.reading.faults.SpecFaults",
        "include/pipelines/departures.yaml:4: surce: unknown key.",
    ),
    (F.KILLED, "py4j.protocol.Py4JNetworkError", "Answer from Java side is empty"),
    (F.KILLED, "py4j.GatewayGone", "[Errno 111] Connection refused"),
    (F.UNKNOWN, "java.lang.NullPointerException", 'Cannot invoke "Object.hashCode()" because "x" is null'),
    (F.UNKNOWN, "_internal.CommitFailedError", "Failed to commit transaction: 15"),
]


@pytest.mark.parametrize(
    ("expected", "name", "message"), ONE_EXCEPTION, ids=[f"{k.name}-{n}" for k, n, _ in ONE_EXCEPTION]
)
@pytest.mark.parametrize("wrapped", [(), (STREAM_FAILED,), (STREAM_FAILED, IN_A_BATCH)], ids=["bare", "query", "batch"])
def test_an_exception_has_its_class_however_it_is_wrapped(
    wrapped: tuple[Thrown, ...], expected: FailureClass, name: str, message: str
) -> None:
    kind, telling = classify([*wrapped, Thrown(name, message)])
    assert kind is expected
    assert telling == Thrown(name, message) or telling.simple_name == Thrown(name, message).simple_name


TASK_OF_A_JOB = """Job aborted due to stage failure: Task 1 in stage 4.0 failed 1 times, \
most recent failure: Lost task 1.0 in stage 4.0 (TID 17) (host executor driver): \
org.apache.spark.SparkRuntimeException: [FAILED_EXECUTE_UDF] User \
defined function (`f`: (int) => int) failed due to: see below. SQLSTATE: 39000
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.failedExecuteUserDefinedFunctionError(QueryExecutionErrors.scala)
Caused by: java.lang.ArrayIndexOutOfBoundsException: Index 7 out of bounds for length 3
\tat Transform.apply(Transform.scala:3)
"""
READING_A_TASK = """Job aborted due to stage failure: Task 0 in stage 4.0 failed 4 times, \
most recent failure: Lost task 0.3 in stage 4.0 (TID 17) (10.0.0.7 executor 2): \
org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms \
expired before the position for partition flights-0 could be determined
"""
PYTHON_PROXY = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "py4j/clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
  File "spark_jobs/transforms/departures.py", line 12, in departures
    return rows.select(rows.dep)
pyspark.errors.exceptions.captured.AnalysisException: [UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `dep` \
cannot be resolved. SQLSTATE: 42703
"""
JVM_IN_PYTHON = """An error occurred while calling o123.save.
: org.apache.spark.SparkException: Job aborted.
Caused by: io.delta.exceptions.ConcurrentTransactionException: [DELTA_CONCURRENT_TRANSACTION] \
ConcurrentTransactionException: This error occurs when multiple streaming queries are using the same checkpoint. \
SQLSTATE: 2D521
"""


@pytest.mark.parametrize(
    ("message", "expected", "called"),
    [
        (TASK_OF_A_JOB, F.CODE, "ArrayIndexOutOfBoundsException"),
        (READING_A_TASK, F.TRANSIENT, "TimeoutException"),
        (PYTHON_PROXY, F.CODE, "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        (JVM_IN_PYTHON, F.FENCED, "DELTA_CONCURRENT_TRANSACTION"),
    ],
    ids=["task", "executor", "proxy", "py4j"],
)
def test_what_a_message_quotes_of_another_process_counts(message: str, expected: FailureClass, called: str) -> None:
    kind, telling = classify([STREAM_FAILED, Thrown("org.apache.spark.SparkException", message)])
    assert (kind, telling.called) == (expected, called)


def test_what_must_not_be_retried_goes_before_what_time_heals() -> None:
    refused = Thrown(f"{KAFKA}.SaslAuthenticationException", "Authentication failed")
    timed_out = Thrown(f"{KAFKA}.TimeoutException", "Timed out waiting for a node assignment.")
    assert classify([timed_out, refused])[0] is F.AUTHORISATION
    assert classify([refused, timed_out])[0] is F.AUTHORISATION


@pytest.mark.parametrize(
    "message",
    [
        (
            "the option failOnDataLoss decides what happens when Some data may have been lost because they are not "
            "available in Kafka"
        ),
        "cannot parse {'note': 'KAFKA_DATA_LOSS [KAFKA_DATA_LOSS] CONCURRENT_STREAM_LOG_UPDATE Incomplete log file'}",
        "Project [java.lang.OutOfMemoryError AS note]",
    ],
)
def test_words_in_the_middle_of_a_message_are_no_class(message: str) -> None:
    assert classify([Thrown("java.lang.RuntimeException", message)])[0] is F.UNKNOWN


def test_a_wrapper_alone_is_of_no_class() -> None:
    assert classify([STREAM_FAILED])[0] is F.UNKNOWN
    assert classify([STREAM_FAILED, IN_A_BATCH])[0] is F.UNKNOWN


@given(st.lists(st.builds(Thrown, st.text(max_size=20), st.text(max_size=80)), min_size=1, max_size=4))
def test_any_chain_has_a_class_that_an_exit_code_keeps(chain: list[Thrown]) -> None:
    kind, telling = classify(chain)
    assert class_of_exit(EXIT_CODES[kind]) is kind
    assert telling in [one for thrown in chain for one in (thrown, *quoted(thrown.message))]


def test_every_class_that_can_be_raised_has_a_rule_and_an_example() -> None:
    raised = set(FailureClass) - {F.STOPPED, F.COMPLETED, F.IDLE, F.FORCED, F.UNKNOWN}
    assert {rule.kind for rule in RULES} == raised
    assert {kind for kind, _, _ in ONE_EXCEPTION} >= raised
