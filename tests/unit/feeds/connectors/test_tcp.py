"""Lines from a TCP connection are followed, and what is missed is on record."""

from __future__ import annotations

from sluice.clock import SystemClock
from sluice.feeds.connectors.tcp import SocketSource
from sluice.feeds.following.ending import FollowUntil
from sluice.specs.feeds.live import SocketSpec
from tests.twins.feeds.live_servers import line_server
from tests.unit.feeds.following.follow_bench import Bench


def bench(port: int) -> Bench:
    live = SocketSpec.model_validate({"address": f"127.0.0.1:{port}"})
    return Bench(SocketSource(live), live, SystemClock())  # type: ignore[arg-type]


def test_lines_become_records_however_they_are_cut() -> None:
    with line_server([[b"a\nb", b"b\r\n", b"\n", b"c\n"]]) as port:
        follower = bench(port)
        stop = FollowUntil(seconds=20, stopping=lambda: sum(follower.values().values()) == 3)
        manifest = follower.follow(until=stop)
    assert sorted(follower.values()) == [b"a", b"bb", b"c"]
    assert (manifest.no_object, manifest.gaps, manifest.cursor) == (3, [], None)


def test_a_connection_that_ends_within_a_line_leaves_a_gap() -> None:
    with line_server([[b"a\nhalf"], [b"b\n"]]) as port:
        follower = bench(port)
        stop = FollowUntil(seconds=20, stopping=lambda: sum(follower.values().values()) == 2)
        manifest = follower.follow(until=stop)
    assert sorted(follower.values()) == [b"a", b"b"]
    assert "4 bytes of a line without an end were dropped" in manifest.gaps[0].why
