"""The glossary is complete, and finds words in any spelling."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from sluice.cli.glossary.entries import GlossaryEntry, entries, find
from sluice.cli.main import app
from sluice.errors import SluiceError
from sluice.quality.drift import Drift
from sluice.quality.duplicates import Duplicate
from sluice.wording import ExplainedEnum


@pytest.mark.parametrize("entry", entries(), ids=str)
def test_every_word_has_a_meaning_that_is_one_clause(entry: GlossaryEntry) -> None:
    assert entry.meaning
    assert not f"{entry.meaning}{entry.what_to_do}".endswith(".")


def test_exit_codes_are_those_of_the_errors() -> None:
    def below(error: type[SluiceError]) -> set[int]:
        return {error.exit_code}.union(*map(below, error.__subclasses__()))

    words = [int(entry.term) for entry in entries() if entry.kind == "exit codes of a command"]
    assert sorted(words) == sorted({0} | below(SluiceError))


def test_every_enum_with_explanations_is_in_the_glossary_or_explained_where_it_is_printed() -> None:
    explained = {member.value for enum in ExplainedEnum.__subclasses__() for member in enum}
    assert explained - {entry.term for entry in entries()} == {*Drift, *Duplicate}


@pytest.mark.parametrize(
    "word",
    [
        *("pipeline", "topic spec", "deployment", "stream", "unit", "attempt", "generation", "raw table", "validation"),
        *("late", "future", "interval", "closed", "backfill", "parity", "interval ledger", "verdict", "plan"),
        *("control database", "HALTED", "heartbeat", "quality gate", "watermark", "fencing", "epoch", "code hash"),
    ],
)
def test_every_word_of_the_design_is_explained(word: str) -> None:
    assert {entry.term.lower() for entry in find(word)} == {word.lower()}


@pytest.mark.parametrize("written", ["LOSS_RISK", "loss_risk", "loss risk", " Loss-Risk ", "loss_r"])
def test_a_word_is_found_however_it_is_written(written: str) -> None:
    assert [entry.term for entry in find(written)] == ["LOSS_RISK", "loss-risk"]


def test_a_word_of_several_kinds_is_explained_for_each() -> None:
    assert {entry.kind for entry in find("open")} == {
        "states of an interval",
        "states of a case",
        "parts of a traced record in an interval",
    }
    assert find("") == find("nothing of ours") == []


def test_the_command_explains_one_and_lists_all() -> None:
    one = CliRunner().invoke(app, ["explain", "duplicate_key"])
    assert (one.exit_code, "What to do: find the producer" in one.stdout) == (0, True)
    everything = CliRunner().invoke(app, ["explain", "-o", "json"])
    assert len(json.loads(everything.stdout)) == len(entries())


def test_an_unknown_word_is_refused_with_suggestions() -> None:
    answer = CliRunner().invoke(app, ["explain", "laging"])
    assert isinstance(answer.exception, SluiceError)
    assert "did you mean lagging" in str(answer.exception)
