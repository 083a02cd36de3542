"""What the end of a batch means for its task."""

from __future__ import annotations

import pytest
import structlog
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from hypothesis import given
from hypothesis import strategies as st

from sluice.airflow.batches.spark_batch import class_in, failure, last_error
from sluice.errors import SluiceError
from sluice.specs.model.alerting import AlertClass


def logged(why: str) -> str:
    """Return the line that a main writes."""
    render = structlog.dev.ConsoleRenderer(colors=False)
    return str(render(None, "error", {"level": "error", "event": "batch cannot run", "why": why}))


@pytest.mark.parametrize("code", [1, 2, 5, 6])
def test_what_was_judged_is_final(code: int) -> None:
    said = SluiceError("different.", fix="see the page.")

    assert isinstance(failure(code, said), AirflowFailException)
    assert str(failure(code, said)) == "different. Fix: see the page."


@pytest.mark.parametrize("code", [3, 4, 137, -9, None])
def test_what_was_not_ready_unreachable_or_killed_is_tried_again(code: int | None) -> None:
    assert type(failure(code, SluiceError("the broker is not up."))) is AirflowException


def test_an_end_without_a_word_is_tried_again_whatever_its_code() -> None:
    error = failure(1, None)

    assert type(error) is AirflowException
    assert "exit code 1 and did not say why" in str(error)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1))
def test_the_last_words_are_read_as_they_were_written(why: str) -> None:
    found = last_error("\n".join(["Cannot execute: …", logged("an earlier one"), logged(why), "the session ends"]))

    assert found is not None
    assert str(found) == str(SluiceError(*why.split(" Fix: ", 1)[:1], fix="".join(why.split(" Fix: ", 1)[1:])))


def test_words_with_quotes_and_several_lines_survive() -> None:
    found = last_error(logged("2 faults:\n- `from` is 'x'\n- \"to\". Fix: repair them."))

    assert found is not None
    assert (found.message, found.fix) == ("2 faults:\n- `from` is 'x'\n- \"to\".", "repair them.")


def test_other_output_is_nobodys_last_words() -> None:
    assert last_error("Cannot execute: spark-submit --conf why='not'. Error code is: 1.\nTraceback …") is None


@pytest.mark.parametrize("said", AlertClass)
def test_what_a_failure_is_about_is_said_by_the_main(said: AlertClass) -> None:
    render = structlog.dev.ConsoleRenderer(colors=False)
    event = {"level": "error", "event": "backfill ends", "alert_class": str(said), "why": "it says alert_class=none"}
    assert class_in(f"Cannot execute. Last lines:\n{render(None, 'error', event)}") is said


@pytest.mark.parametrize("output", ["", "alert_class=nonsense", "[info ] all is well"])
def test_a_main_that_does_not_say_it_is_a_failed_run(output: str) -> None:
    assert class_in(output) is None
