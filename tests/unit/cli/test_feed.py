"""`sluice feed` for feeds that follow a live source: what is refused, what is shown, and how a signal ends it."""

from __future__ import annotations

import json
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sluice.cli.main import app
from sluice.cli.terminal.interruption import stopping_on_signals
from sluice.cli.views.follow_view import FollowPrinter, position_text
from sluice.errors import SluiceError
from sluice.feeds.following.manifest import MOST_GAPS, FollowManifest, FollowManifestStore, Gap
from tests.twins.clock import START, ManualClock

FEED = """\
name: posts
topic: flights
source: socket
socket: {address: "127.0.0.1:9"}
"""


def manifest(**said: object) -> FollowManifest:
    return FollowManifest.model_validate(
        {"feed": "posts", "topic": "flights", "topic_id": "x1", "cursor_of": "$.at", "started_at": START, **said}
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source = Path(__file__).parents[3]
    for name in ("dags", "spark_jobs"):
        (tmp_path / name).symlink_to(source / name)
    include = tmp_path / "include"
    include.mkdir()
    for each in (source / "include").iterdir():
        if each.name not in {"feeds", "sluice"}:
            (include / each.name).symlink_to(each)
    (include / "feeds").mkdir()
    (include / "feeds" / "flights.yaml").write_text((source / "include" / "feeds" / "flights.yaml").read_text())
    (include / "feeds" / "posts.yaml").write_text(FEED)
    monkeypatch.setenv("SLUICE_HOME", str(tmp_path))
    return tmp_path


def run(*words: str) -> tuple[str, BaseException | None]:
    done = CliRunner().invoke(app, ["feed", *words])
    return done.output, done.exception


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("send", "posts"), "follows a live source, which has no days. Fix: run `sluice feed follow posts`."),
        (("follow", "flights"), "has an end, so it is not followed. Fix: run `sluice feed send flights`."),
        (("follow", "posts", "--for", "soon"), "--for: 'soon' is not a duration"),
        (("follow", "nothing"), "There is no feed 'nothing'"),
    ],
)
def test_the_other_kind_of_feed_is_refused_with_the_command_for_it(
    home: Path, words: tuple[str, ...], said: str
) -> None:
    assert home
    _, error = run(*words)
    assert isinstance(error, SluiceError)
    assert (error.exit_code, said in str(error)) == (2, True), str(error)


def test_a_manifest_shows_counts_gaps_and_the_cursor(home: Path) -> None:
    gap = {"since": START, "until": START + timedelta(hours=1), "why": "the source cannot be asked"}
    found = manifest(records=1234, repeated=5, cursor=17, cursor_at=START, gaps=[gap], followed_until=START)
    FollowManifestStore(home / ".sluice" / "feeds" / "posts").save(found)
    shown, _ = run("manifest", "posts")
    for words in ("1,234", "the source cannot be asked", "2013-01-07 13:00:00", "cursor 17 (2013-01-07 12:00:00 UTC)"):
        assert words in " ".join(shown.split())
    printed, _ = run("manifest", "posts", "-o", "json")
    assert json.loads(printed)["gaps"][0]["why"] == "the source cannot be asked"


def test_a_manifest_that_is_not_there_is_no_error(home: Path) -> None:
    assert home
    assert run("manifest", "posts") == ("Nothing of posts was sent.\n", None)


def test_the_newest_gaps_are_kept_and_the_others_counted() -> None:
    found = manifest()
    for number in range(MOST_GAPS + 5):
        at = START + timedelta(seconds=number)
        found.miss(Gap(since=at, until=at, why="x"))
    assert (len(found.gaps), found.older_gaps, found.gaps[0].since) == (MOST_GAPS, 5, START + timedelta(seconds=5))


def test_a_line_of_progress_comes_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    printer = FollowPrinter(clock)
    for records in range(0, 3000, 100):
        printer.report(manifest(records=records))
        clock.sleep(1)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "0 records, no cursor",
        "1,000 records, 100/s, no cursor",
        "2,000 records, 100/s, no cursor",
    ]


def test_the_cursor_of_a_folder_is_shown_as_file_and_line() -> None:
    cursor = {"file": "a.csv", "line": 7, "last": False, "mark": [1, 2], "sent": {}}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert position_text(manifest(cursor=cursor, cursor_at=at)) == "cursor a.csv line 7 (2026-01-01 00:00:00 UTC)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_asks_and_the_next_one_ends(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stopping_on_signals() as stopping:
        assert not stopping()
        os.kill(os.getpid(), number)
        assert stopping()
        assert signal.getsignal(number) == signal.SIG_DFL
    assert signal.getsignal(number) == before
