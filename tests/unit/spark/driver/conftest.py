"""Tests of the driver without a JVM: one that another test of this process has left is not asked about its end."""

from __future__ import annotations

import pytest
from pyspark import SparkContext


@pytest.fixture(autouse=True)
def _no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
