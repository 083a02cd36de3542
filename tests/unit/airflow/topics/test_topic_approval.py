"""The page that a person reads, and what an answer approves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.airflow.topics.topic_approval import MAX_SAFE, Answer, page_of
from sluice.errors import RefusedError
from sluice.provisioning.plans.approval import Approval
from sluice.provisioning.plans.changes import PlannedChange, Refused, Unable
from sluice.provisioning.plans.plan import Plan
from sluice.provisioning.plans.topic_changes import create, grow, set_config
from sluice.topics.administration import TopicCreation

GROW = grow("flights", 2, 4, keyed=False)
REFUSED = Refused("orders", "partitions", "5", "4", "nobody can", "declare 5")
names = st.sets(st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), min_size=1, max_size=5)


def cut(topic: str) -> PlannedChange:
    return set_config(topic, "retention.ms", "-1", "1000")


def created(number: int) -> PlannedChange:
    return create(TopicCreation(f"topic_{number}", 1, 1))


LOSING = Plan((cut("sales"), cut("weather")))


@pytest.mark.parametrize("found", [Plan(), Plan((created(1),)), Plan((GROW,), (REFUSED,))])
def test_nobody_is_asked_about_what_is_safe_or_cannot_be_approved(found: Plan) -> None:
    assert page_of(found, {}) is None


def test_the_page_has_the_plan_and_says_what_the_buttons_do() -> None:
    page = page_of(Plan((GROW, created(1))), {})

    assert page is not None
    assert page["losing"] == []
    assert page["plan"] in page["subject"]
    assert page["body"].startswith("2 changes to topics. One of them needs a person who has read this.")
    assert "| flights | partitions | 2 | 4 | approval | partitions can never be taken away again |" in page["body"]
    assert "**Reject** applies nothing." in page["body"]
    assert "may go" not in page["body"]


def test_the_page_shows_what_the_service_does_not_do_apart_from_what_is_approved() -> None:
    unable = Unable("hubs", "placement", "the service's own", "balanced-leaders", "it has no brokers", "remove it")
    page = page_of(Plan((GROW,), unable=(unable,)), {})
    assert page is not None
    before, _, after = page["body"].partition("Declared, and not done by any plan here:")
    assert "hubs" not in before
    assert "not done" in after
    assert "it has no brokers: remove it" in after
    assert "more that are safe" not in page["body"]


def test_the_page_tells_what_a_change_touches_and_whatever_that_quotes_is_text() -> None:
    page = page_of(Plan((GROW,)), {("flights", "partitions"): ("half of *all* keys", "8 records | more")})

    assert page is not None
    assert "**flights, partitions** affects:\n\n- half of &#42;all&#42; keys\n- 8 records &#124; more" in page["body"]


@pytest.mark.parametrize(
    ("guarded", "safe", "said"),
    [
        (1, 0, "1 change to topics. It needs a person"),
        (2, 0, "2 changes to topics. All of them need a person"),
        (2, 1, "3 changes to topics. 2 of them need a person"),
    ],
)
def test_the_page_says_how_much_needs_somebody(guarded: int, safe: int, said: str) -> None:
    page = page_of(Plan((*(grow(f"t{n}", 1, 2) for n in range(guarded)), *map(created, range(safe)))), {})

    assert page is not None
    assert page["body"].startswith(said)


def test_the_page_names_the_topics_of_which_records_may_go() -> None:
    page = page_of(LOSING, {})

    assert page is not None
    assert page["losing"] == ["sales", "weather"]
    assert "types the names of the topics below: **sales** **weather**" in page["body"]


def test_of_what_is_safe_the_page_shows_some_and_of_the_rest_everything() -> None:
    guarded = [grow(f"big_{n}", 1, 2) for n in range(300)]
    page = page_of(Plan((*map(created, range(200)), *guarded)), {})

    assert page is not None
    assert sum(line.startswith("| big") for line in page["body"].splitlines()) == 300
    assert sum(line.startswith("| topic&#95;") for line in page["body"].splitlines()) == MAX_SAFE
    assert f"And {200 - MAX_SAFE} more that are safe" in page["body"]


def test_an_answer_approves_the_plan_that_was_read() -> None:
    assert Answer(Plan((GROW,)).id, "", "ada").approval(Plan((GROW,))) == Approval(Plan((GROW,)).id)


@pytest.mark.parametrize("typed", ["sales weather", "weather,sales", " sales ,\n weather "])
def test_the_names_may_be_typed_in_any_order(typed: str) -> None:
    assert Answer(LOSING.id, typed, "ada").approval(LOSING).losing == {"sales", "weather"}


@given(names, st.text(max_size=30))
def test_any_other_text_than_exactly_the_names_approves_nothing(losing: set[str], typed: str) -> None:
    found = Plan(tuple(cut(name) for name in sorted(losing)))
    if set(typed.replace(",", " ").split()) != losing:
        with pytest.raises(RefusedError, match="was expected, and nothing was applied"):
            Answer(found.id, typed, "ada").approval(found)


@given(names)
def test_exactly_the_names_approve(losing: set[str]) -> None:
    found = Plan(tuple(cut(name) for name in sorted(losing)))

    assert Answer(found.id, " ".join(losing), "ada").approval(found).losing == losing


@pytest.mark.parametrize("typed", ["", "sales", "sales weather flights", "Sales Weather", "sales weather.", "yes"])
def test_a_refusal_says_what_was_typed_and_what_was_expected(typed: str) -> None:
    with pytest.raises(RefusedError) as refused:
        Answer(LOSING.id, typed, "ada").approval(LOSING)

    assert f"ada has approved the plan {LOSING.id} and typed {typed!r}" in refused.value.message
    assert "'sales weather' was expected, and nothing was applied" in refused.value.message


def test_names_that_no_plan_asks_for_are_refused_too() -> None:
    with pytest.raises(RefusedError, match="records of no topic may go, so '' was expected"):
        Answer(Plan((GROW,)).id, "flights", "ada").approval(Plan((GROW,)))


@pytest.mark.parametrize("plan", ["", "0123456789ab"])
def test_another_plan_than_the_one_that_was_read_is_refused_with_what_it_is_now(plan: str) -> None:
    with pytest.raises(RefusedError) as refused:
        Answer(plan, "sales weather", "ada").approval(Plan((GROW,)))

    assert f"The plan is {Plan((GROW,)).id} now: flights: partitions is 2, declared 4." in refused.value.message
    assert refused.value.fix == "trigger the DAG `topics` again and read the new page."


def test_an_answer_without_fields_is_read_as_one_that_approves_nothing() -> None:
    assert Answer.of({"plan": None, "losing": None, "by": "ada"}) == Answer("", "", "ada")
