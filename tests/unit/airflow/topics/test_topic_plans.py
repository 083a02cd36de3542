from __future__ import annotations

from typing import Any

from sluice.airflow.topics.topic_plans import MOST_NAMES, differences, log_table, rows, summary
from sluice.provisioning.plan import Provision
from sluice.provisioning.topics.changes import Create, Delete, Elect, Grow, Reassign, Refused, Risk, SetConfig
from sluice.provisioning.topics.plan import Plan
from sluice.topics.administration import TopicCreation

CREATE = Create(TopicCreation("weather", 2, 1, {"retention.ms": "-1"}))
GROW = Grow("sales", 2, 4, keyed=False)
CUT = SetConfig("sales", "retention.ms", "-1", "1000", Risk.LOSS, "less is kept")
ELECT = Elect("orders", {0: (2, 1)})
MOVING = Reassign("orders", "placement", ((1, 2),), ((1, 2),), under_way=True)
REFUSED = Refused("flights", "partitions", "5", "4", "nobody can", "declare 5")


def of_topics(*arguments: Any) -> Provision:  # noqa: ANN401 - a plan's
    return Provision(Plan(*arguments))


def test_a_row_says_what_is_there_and_what_is_declared_and_what_matters_comes_first() -> None:
    found = of_topics((CREATE, GROW), (REFUSED,))

    assert rows(found) == [
        ("flights", "partitions", "5", "4", "refused", "nobody can: declare 5"),
        ("sales", "partitions", "2", "4", "approval", "partitions can never be taken away again"),
        (
            "weather",
            "topic",
            "absent",
            "2 partitions, replication 1, retention.ms=-1",
            "safe",
            "it is declared and not there",
        ),
    ]


def test_the_log_has_a_line_for_each_value_whatever_that_holds() -> None:
    odd = SetConfig("sales", "x", "a\nb\x1b[31m", "1", Risk.SAFE, "why")
    lines = log_table(of_topics((odd,))).splitlines()

    assert lines[1:] == [
        "topic or principal | what | now | declared | risk | why",
        "sales | x | a b[31m | 1 | safe | why",
    ]
    assert lines[0].startswith("Plan ")
    assert "Nothing to change" in log_table(of_topics())


def test_what_differs_is_told_by_topic_and_what_comes_and_goes_by_itself_is_not() -> None:
    assert differences(of_topics((GROW, CUT, ELECT, MOVING), (REFUSED,))) == {
        "flights": ("partitions is 5, declared 4",),
        "sales": ("partitions is 2, declared 4", "retention.ms is -1, declared 1000"),
    }
    assert differences(of_topics((ELECT, MOVING))) == {}


def test_a_summary_says_what_was_done() -> None:
    assert summary(of_topics((CREATE, GROW, CUT, Delete("old", 1)))) == "created weather; changed sales; deleted old"
    assert summary(of_topics()) == "nothing to change"


def test_a_summary_stays_short_with_a_thousand_topics() -> None:
    many = of_topics(tuple(Create(TopicCreation(f"topic_{n}", 1, 1)) for n in range(1000)))

    assert summary(many).endswith(f"topic_{MOST_NAMES - 1} and {1000 - MOST_NAMES} more")
