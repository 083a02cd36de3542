"""What brokers answer that have not heard of the same changes yet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import tenacity

from sluice.errors import UnreachableError
from sluice.kafka import administration
from sluice.kafka.administration import KafkaPythonAdministration

HERE = {"error_code": 0, "name": "flights", "topic_id": "a", "partitions": []}
GONE = {"error_code": 3, "name": "flights"}
SET = {"retention.ms": {"value": "-1", "config_source": "DYNAMIC_TOPIC_CONFIG"}}


class Brokers:
    """A client that is answered by one broker after the other, each as far as it knows.

    Args:
        topics: what the asked ones say of the topic; the last one answers all further questions.
        configs: what they say of its configurations; nothing of a topic that they do not know.
    """

    def __init__(self, topics: Iterable[dict[str, Any]], configs: Iterable[dict[str, Any]]) -> None:
        self._topics, self._configs = list(topics), list(configs)

    def describe_topics(self, _names: list[str]) -> list[dict[str, Any]]:
        return [self._topics.pop(0) if len(self._topics) > 1 else self._topics[0]]

    def describe_configs(self, _resources: list[Any], *, config_filter: str) -> dict[int, dict[str, dict[str, Any]]]:
        assert config_filter == "all"
        return {1: {"flights": self._configs.pop(0) if len(self._configs) > 1 else self._configs[0]}}


def described(brokers: Brokers) -> set[str]:
    asked = KafkaPythonAdministration(("nowhere:9",), {})
    asked._connected = brokers
    return {name for name, state in asked.describe(["flights"]).items() if state.configs == {"retention.ms": "-1"}}


def test_a_topic_is_gone_when_all_brokers_have_heard_of_it() -> None:
    assert described(Brokers([HERE, HERE, GONE], [{}])) == set()


def test_a_topic_is_there_when_all_brokers_have_heard_of_it() -> None:
    assert described(Brokers([HERE], [{}, {}, SET])) == {"flights"}


def test_a_topic_whose_configurations_nobody_returns_is_not_described(monkeypatch: pytest.MonkeyPatch) -> None:
    soon = administration._SOON_KNOWN.copy(stop=tenacity.stop_after_attempt(3))
    monkeypatch.setattr(administration, "_SOON_KNOWN", soon)
    with pytest.raises(UnreachableError, match="no authorization, or just made or deleted"):
        described(Brokers([HERE], [{}]))
