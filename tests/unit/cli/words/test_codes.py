"""The list of words: whole, findable, and the same in the documentation."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.alerts.delivery import DeliveryOutcome
from sluice.cli.main import app
from sluice.cli.words.codes import codes, find
from sluice.errors import SluiceError
from sluice.intervals.backfill.backfills import BackfillState
from sluice.intervals.backfill.parity import ParityOutcome
from sluice.intervals.ledger import State
from sluice.provisioning.plans.changes import Risk
from sluice.quality.cases import CaseState
from sluice.quality.reasons import Outcome, Reason
from sluice.specs.model.alerting import AlertClass
from sluice.streams.failures.failure import FailureClass
from sluice.streams.health.verdict import Health

KINDS: dict[str, type[StrEnum]] = {
    "verdicts of a stream": Health,
    "ends of a driver": FailureClass,
    "states of an interval": State,
    "states of a backfill": BackfillState,
    "results of a comparison": ParityOutcome,
    "outcomes of a record": Outcome,
    "reasons of the quarantine": Reason,
    "states of a case": CaseState,
    "risks of a plan": Risk,
    "classes of an alert": AlertClass,
    "deliveries of an alert": DeliveryOutcome,
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_no_word_of_a_kind_is_missing(kind: str) -> None:
    assert {code.word for code in codes() if code.kind == kind} == {word.value for word in KINDS[kind]}


def test_exit_codes_are_those_of_the_errors() -> None:
    def below(error: type[SluiceError]) -> set[int]:
        return {error.exit_code}.union(*map(below, error.__subclasses__()))

    words = [int(code.word) for code in codes() if code.kind == "exit codes of a command"]
    assert sorted(words) == sorted({0} | below(SluiceError))


def test_there_is_no_kind_of_word_that_is_not_examined_here() -> None:
    assert {code.kind for code in codes()} == {"words of the design", *KINDS, "exit codes of a command"}


@pytest.mark.parametrize(
    "word",
    [
        *("pipeline", "topic spec", "deployment", "stream", "unit", "attempt", "generation", "raw table", "validation"),
        *("late", "future", "interval", "closed", "backfill", "parity", "interval ledger", "verdict", "plan"),
        *("control database", "HALTED", "heartbeat", "quality gate", "watermark", "fencing", "epoch", "code hash"),
    ],
)
def test_every_word_of_the_design_is_explained(word: str) -> None:
    assert {code.word.lower() for code in find(word)} == {word.lower()}


@pytest.mark.parametrize("written", ["LOSS_RISK", "loss_risk", "loss risk", " Loss-Risk ", "loss_r"])
def test_a_word_is_found_however_it_is_written(written: str) -> None:
    assert [code.word for code in find(written)] == ["LOSS_RISK", "loss-risk"]


def test_a_word_of_several_kinds_is_explained_for_each() -> None:
    assert {code.kind for code in find("open")} == {"states of an interval", "states of a case"}
    assert find("") == find("nothing of ours") == []


def test_the_documentation_has_the_same_words() -> None:
    text = (Path(__file__).parents[4] / "docs" / "codes.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \| ?(.*?) \|$", text, re.MULTILINE)
    assert rows == [(code.word, code.meaning, code.what_to_do) for code in codes()]


def test_the_command_explains_one_and_lists_all() -> None:
    one = CliRunner().invoke(app, ["explain", "duplicate_key"])
    assert (one.exit_code, "What to do: find the producer" in one.stdout) == (0, True)
    everything = CliRunner().invoke(app, ["explain", "-o", "json"])
    assert len(json.loads(everything.stdout)) == len(codes())


def test_a_word_that_is_none_is_answered_with_those_that_resemble_it() -> None:
    answer = CliRunner().invoke(app, ["explain", "laging"])
    assert isinstance(answer.exception, SluiceError)
    assert "did you mean lagging" in str(answer.exception)
