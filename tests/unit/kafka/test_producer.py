"""What a producer says of records that are not taken: too large, not allowed, or not acknowledged."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)

from sluice.errors import SluiceError, UnreachableError
from sluice.kafka import producer as module
from sluice.kafka.client.session import RightMissingError
from sluice.kafka.producer import KafkaPythonProducer
from sluice.topics.records import RecordTooLargeError


class Refused:
    """An answer that is an error."""

    is_done = True

    def __init__(self, error: KafkaError) -> None:
        self._error = error

    def get(self, _seconds: float) -> None:
        raise self._error


class Client:
    """A client that sends nothing.

    Attributes:
        refuses: what it says at once.
        answers: what it says later.
        settings: what it was made with.
    """

    refuses: KafkaError | None = None
    answers: KafkaError = KafkaTimeoutError("nobody answered")

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - whatever the client takes
        self.settings = settings

    def send(self, _topic: str, **_: object) -> Refused:
        if self.refuses is not None:
            raise self.refuses
        return Refused(self.answers)


def made(monkeypatch: pytest.MonkeyPatch, client: dict[str, str] | None = None, **options: int) -> KafkaPythonProducer:
    monkeypatch.setattr(module, "KafkaProducer", Client)
    monkeypatch.setattr(module, "reachable", list)
    return KafkaPythonProducer(["broker:9092"], "posts", client, **options)


@pytest.mark.parametrize(
    ("client", "options", "largest"),
    [
        ({}, {}, 1_048_576),
        ({}, {"largest_batch": 262_144}, 262_144),
        ({"max.request.size": "1000000"}, {}, 1_000_000),
        ({"max.request.size": "1000000"}, {"largest_batch": 262_144}, 262_144),
        ({}, {"largest_batch": 9_000_000}, 1_048_576),
        ({"max.request.size": "5000000"}, {"largest_batch": 3_000_000}, 3_000_000),
    ],
)
def test_no_record_is_sent_that_the_topic_or_the_client_does_not_take(
    monkeypatch: pytest.MonkeyPatch, client: dict[str, str], options: dict[str, int], largest: int
) -> None:
    assert made(monkeypatch, client, **options)._producer.settings["max_request_size"] == largest


def test_a_record_that_is_too_large_is_told_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "refuses", MessageSizeTooLargeError("too large"))
    with pytest.raises(RecordTooLargeError, match=r"A record of 301 bytes .* posts takes .*\(200 bytes"):
        made(monkeypatch, largest_batch=200).send(b"k", b"x" * 300)


TOO_LARGE = "one of the records that were on their way as too large for posts"


@pytest.mark.parametrize(
    ("error", "kind", "why"),
    [
        (TopicAuthorizationFailedError("posts"), RightMissingError, "does not allow us to send to posts"),
        (ClusterAuthorizationFailedError(""), RightMissingError, "does not allow us to send to posts"),
        (MessageSizeTooLargeError(""), UnreachableError, TOO_LARGE),
        (RecordListTooLargeError(""), UnreachableError, TOO_LARGE),
        (KafkaTimeoutError("nobody answered"), UnreachableError, "not acknowledged .*nobody answered.*brokers run"),
    ],
)
def test_what_kafka_refuses_is_no_broker_without_an_answer(
    monkeypatch: pytest.MonkeyPatch, error: KafkaError, kind: type[SluiceError], why: str
) -> None:
    monkeypatch.setattr(Client, "answers", error)
    with pytest.raises(kind, match=why):
        made(monkeypatch).send(None, b"{}").wait()


def test_what_is_not_allowed_is_told_when_it_is_sent_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "refuses", TopicAuthorizationFailedError("posts"))
    with pytest.raises(RightMissingError, match="does not allow us to send to posts"):
        made(monkeypatch).send(None, b"{}")
