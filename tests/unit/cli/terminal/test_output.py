"""A result is printed once: as a document for programs, or by the command for people."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from sluice.cli.terminal.output import Output, emit, out

DATA = {"topic": "flights", "records": 3}


def refuse() -> None:
    raise AssertionError("printed for people")


@pytest.mark.parametrize(("output", "parse"), [(Output.JSON, json.loads), (Output.YAML, yaml.safe_load)])
def test_programs_get_one_document_and_nothing_else(
    output: Output, parse: Callable[[str], object], capsys: pytest.CaptureFixture[str]
) -> None:
    emit(output, DATA, refuse)
    assert parse(capsys.readouterr().out) == DATA


def test_people_get_what_the_command_prints_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    emit(Output.TABLE, DATA, lambda: out.print("3 records"))
    assert capsys.readouterr().out == "3 records\n"
