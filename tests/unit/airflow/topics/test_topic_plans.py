from __future__ import annotations

from sluice.airflow.topics.topic_plans import MAX_NAMES, differences, log_table, rows, summary, unable_rows
from sluice.provisioning.plans.changes import ChangeKind, PlannedChange, Reassignment, Refused, Risk, Unable
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.plans.topic_changes import create, delete, elect, grow, reassign, set_config
from sluice.topics.administration import TopicCreation

CREATE = create(TopicCreation("weather", 2, 1, {"retention.ms": "-1"}))
GROW = grow("sales", 2, 4, keyed=False)
CUT = set_config("sales", "retention.ms", "-1", "1000")
ELECT = elect("orders", {0: (2, 1)})
MOVING = reassign("orders", "placement", Reassignment(((1, 2),), ((1, 2),), under_way=True))
UNABLE = Unable("hubs", "topic", "absent", "2 partitions", "it is done elsewhere", "do it there")
REFUSED = Refused("flights", "partitions", "5", "4", "nobody can", "declare 5")


def test_a_row_says_what_is_there_and_what_is_declared_and_what_matters_comes_first() -> None:
    found = Plan((CREATE, GROW), (REFUSED,))

    assert rows(found) == [
        ("flights", "partitions", "5", "4", "refused", "nobody can: declare 5"),
        ("sales", "partitions", "2", "4", "approval", "partitions can never be taken away again"),
        (
            "weather",
            "topic",
            "absent",
            "2 partitions, replication 1, retention.ms=-1",
            "safe",
            "it is declared and does not exist",
        ),
    ]


def test_what_the_service_does_not_do_is_in_the_log_after_the_changes_and_no_difference() -> None:
    found = Plan((GROW,), unable=(UNABLE,))
    assert unable_rows(found) == [
        ("hubs", "topic", "absent", "2 partitions", "not done", "it is done elsewhere: do it there")
    ]
    assert log_table(found).splitlines()[-1].startswith("hubs | topic | absent | 2 partitions | not done")
    assert "not done" in log_table(Plan(unable=(UNABLE,)))
    assert differences(Plan(unable=(UNABLE,))) == {}


def test_the_log_has_a_line_for_each_value_whatever_that_holds() -> None:
    odd = PlannedChange(ChangeKind.SET, "sales", "x", "a\nb\x1b[31m", "1", Risk.SAFE, "why")
    lines = log_table(Plan((odd,))).splitlines()

    assert lines[1:] == [
        "topic or principal | what | now | declared | risk | why",
        "sales | x | a b[31m | 1 | safe | why",
    ]
    assert lines[0].startswith("Plan ")
    assert "Nothing to change" in log_table(Plan())


def test_what_differs_is_told_by_topic_and_what_comes_and_goes_by_itself_is_not() -> None:
    assert differences(Plan((GROW, CUT, ELECT, MOVING), (REFUSED,))) == {
        "flights": ("partitions is 5, declared 4",),
        "sales": ("partitions is 2, declared 4", "retention.ms is -1, declared 1000"),
    }
    assert differences(Plan((ELECT, MOVING))) == {}


def test_a_summary_says_what_was_done() -> None:
    assert summary(Plan((CREATE, GROW, CUT, delete("old", 1)))) == "created weather; changed sales; deleted old"
    assert summary(Plan()) == "nothing to change"


def test_a_summary_stays_short_with_a_thousand_topics() -> None:
    many = Plan(tuple(create(TopicCreation(f"topic_{n}", 1, 1)) for n in range(1000)))

    assert summary(many).endswith(f"topic_{MAX_NAMES - 1} and {1000 - MAX_NAMES} more")
