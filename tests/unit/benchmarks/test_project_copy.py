"""Copies of this project for benchmarks: what was asked to differ differs, nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.project_copy import dense_project
from sluice.settings import settings
from sluice.specs.load import load_catalog


def test_a_dense_project_changes_the_named_keys_and_the_limits_of_the_gate(tmp_path: Path) -> None:
    original = load_catalog(settings().home / "include")
    copy = load_catalog(dense_project(tmp_path / "copy", 30, {"trigger": "5 seconds"}) / "include")
    assert copy.topics == original.topics
    before, after = (catalog.pipelines["departures"] for catalog in (original, copy))
    assert {key for key, value in after if value != getattr(before, key)} == {"trigger"}
    suite = (tmp_path / "copy" / "include" / "expectations" / "departures.yaml").read_text(encoding="utf-8")
    assert suite.count("max_value: 3000") == 2
    assert "max_value: 100}" not in suite


def test_a_key_that_the_spec_does_not_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="has no"):
        dense_project(tmp_path / "copy", 1, {"no_such_key": "1"})
