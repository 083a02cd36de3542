from __future__ import annotations

import json

import pytest
from hypothesis import given

from sluice.alerts.alert import Alert
from tests.unit.alerts.examples import any_alert, make_alert


@given(any_alert())
def test_an_alert_reads_back_from_json_as_it_was(alert: Alert) -> None:
    assert Alert.from_dict(json.loads(json.dumps(alert.as_dict()))) == alert


def test_its_time_is_never_without_a_zone() -> None:
    values = make_alert().as_dict() | {"at": "2026-11-05T10:00:00"}
    with pytest.raises(ValueError, match="no Alert"):
        Alert.from_dict(values)


def test_the_plain_text_says_why_evidence_what_to_do_and_where() -> None:
    assert make_alert(evidence=("owner: me", "its last errors:\nE1\nE2")).text() == (
        "flights: partitions is 2, declared 4.\n"
        "\n"
        "Evidence:\n"
        "  - owner: me\n"
        "  - its last errors:\n"
        "    E1\n"
        "    E2\n"
        "\n"
        "What to do: declare 2, or grow the topic.\n"
        "\n"
        "Where: http://airflow/dags/topics/runs/r1\n"
        "\n"
        "Alert a1, 2026-11-05 10:00:00 UTC on vm, try 1."
    )


def test_what_is_not_known_leaves_no_empty_heading() -> None:
    bare = make_alert(evidence=(), what_to_do="", where="", host="", try_number=None)
    assert bare.text() == "flights: partitions is 2, declared 4.\n\nAlert a1, 2026-11-05 10:00:00 UTC."
    assert "**" not in bare.markdown()


def test_in_markdown_no_error_text_becomes_markup() -> None:
    alert = make_alert(why="```\n# not a heading\n```", evidence=("<script>alert(1)</script>",))
    assert "````\n```\n# not a heading\n```\n````" in alert.markdown()
    assert "```\n<script>alert(1)</script>\n```" in alert.markdown()


def test_a_change_of_text_reaches_every_text_and_no_id() -> None:
    changed = make_alert(what="old", why="old", evidence=("old",), what_to_do="old", dag_id="old").with_text(
        lambda _: "new"
    )
    assert (changed.what, changed.why, changed.evidence, changed.what_to_do) == ("new", "new", ("new",), "new")
    assert changed.dag_id == "old"


def test_a_run_that_was_cleared_is_another_execution() -> None:
    first = make_alert()
    assert first.same_run(make_alert("a2", task_id="verify"))
    assert not first.same_run(make_alert("a2", clearing=1))
    assert not first.same_run(make_alert("a2", run_id="r2"))
    assert not first.same_run(make_alert("a2", dag_id="others"))


def test_nobody_can_say_that_two_runs_are_the_same_if_a_clearing_could_not_be_seen() -> None:
    assert not make_alert(clearing=None).same_run(make_alert(clearing=None))


def test_what_an_error_quotes_of_a_record_commands_no_terminal_mail_or_chat() -> None:
    hostile = "line 1\n\x1b]52;c;cm0=\x07\u202etxt\u200b"
    alert = make_alert(what=hostile, why=hostile, evidence=(hostile,), what_to_do=hostile)
    shown = "line 1\n\\x1b]52;c;cm0=\\x07\\u202etxt\\u200b"
    assert (alert.what, alert.why, alert.evidence, alert.what_to_do) == (shown, shown, (shown,), shown)
