"""Why a driver ends, on queries that have failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sluice.spark.driver import Driver, Stream
from sluice.spark.last_words import LastWords
from sluice.streams.exits import ExitCode
from sluice.streams.failure import FailureClass
from sluice.streams.fencing import FencedError

LOST_THE_PLAN = Exception("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. SQLSTATE: 40000")


@dataclass
class FailedQuery:
    """A query of Spark's that has failed; also all that starts it."""

    name: str = "raw_flights"
    error: Exception = LOST_THE_PLAN
    isActive: bool = False  # noqa: N815 - Spark's name
    lastProgress: None = None  # noqa: N815 - the same

    def __getattr__(self, _step: str) -> Callable[..., FailedQuery]:
        return lambda *_arguments, **_named: self

    @property
    def writeStream(self) -> FailedQuery:  # noqa: N802 - Spark's name
        return self

    def exception(self) -> Exception:
        return self.error


def ended(check_fence: Callable[[], None]) -> tuple[ExitCode, LastWords]:
    words, rows = LastWords(), FailedQuery()
    stream = Stream(rows.name, as_rows(rows), lambda *_: None, Path("checkpoint"), 1.0, check_fence=check_fence)
    return Driver([stream], {}, last_words=words).run(), words


def as_rows(query: FailedQuery) -> Any:  # noqa: ANN401 - it stands for a DataFrame
    return query


def own() -> None:
    """Nobody newer is here."""


def taken() -> None:
    raise FencedError.of("tables/flights_raw", 2, 1)


def silent() -> None:
    raise OSError("the storage does not answer")


@pytest.mark.parametrize(
    ("check_fence", "exit_code"),
    [(own, ExitCode.TRANSIENT), (taken, ExitCode.FENCED), (silent, ExitCode.TRANSIENT)],
    ids=["it is the newest", "a newer one is here", "nobody can tell"],
)
def test_who_loses_a_race_for_the_checkpoint_is_fenced_only_if_a_newer_generation_is_here(
    check_fence: Callable[[], None], exit_code: ExitCode
) -> None:
    code, words = ended(check_fence)
    assert code is exit_code
    assert words.failure is not None
    assert words.failure.kind is FailureClass[exit_code.name]
    assert words.failure.stream == "raw_flights"
