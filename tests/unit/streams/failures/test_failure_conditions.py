"""The conditions that the classification looks for are those of the installed Spark, Kafka source and Delta."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from sluice.settings import Settings
from sluice.streams.failures.classification import RULES

CATALOGUES = ("error/error-conditions.json", "error/kafka-error-conditions.json", "error/delta-error-classes.json")


def jars() -> Iterator[Path]:
    yield from Path(pyspark.__file__).with_name("jars").glob("spark-common-utils_*.jar")
    yield from (Settings().jars / "spark").glob("*.jar")


def conditions() -> Iterator[str]:
    for jar in jars():
        with zipfile.ZipFile(jar) as archive:
            for name in CATALOGUES:
                if name in archive.namelist():
                    for condition, about in json.loads(archive.read(name)).items():
                        yield condition
                        yield from (f"{condition}.{sub}" for sub in about.get("subClass", {}))


def alternatives(pattern: str) -> Iterator[str]:
    """Yield what stands between the bars of a pattern, the groups' too."""
    depth, start = 0, 0
    for place, character in enumerate(f"{pattern}|"):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "|" and depth == 0:
            yield from expanded(pattern[start:place])
            start = place + 1


def expanded(alternative: str) -> Iterator[str]:
    group = re.search(r"\(([^()]*\|[^()]*)\)", alternative)
    if group is None:
        yield alternative
        return
    for choice in group[1].split("|"):
        yield from expanded(alternative[: group.start()] + choice + alternative[group.end() :])


@pytest.fixture(scope="module")
def known() -> list[str]:
    found = list(conditions())
    assert {"STREAM_FAILED", "KAFKA_DATA_LOSS", "DELTA_CONCURRENT_TRANSACTION"} <= set(found)
    return found


@pytest.mark.parametrize(
    "alternative", [one for rule in RULES for one in alternatives(rule.conditions) if rule.conditions]
)
def test_a_condition_exists(alternative: str, known: list[str]) -> None:
    assert any(re.match(rf"(?:{alternative})(?:\.|$)", condition) for condition in known)
