"""Values that some producer, by mistake or on purpose, may have put into a topic. Every reader takes them."""

from __future__ import annotations

import json

from hypothesis import strategies as st

DEEP = 10_000

_GOOD = b'"flight_id":7,"origin":"JFK","delay":61,"flights":9,"observed_at":"2013-01-01T10:00:00Z"'


def _with(field: bytes) -> bytes:
    return b"{" + _GOOD + b"," + field + b"}"


def _heartbeat(at: bytes) -> bytes:
    return b'{"heartbeat":true,"observed_at":' + at + b',"scheduled_at":' + at + b"}"


def _nested(deep: int) -> bytes:
    return _with(b'"nested":' + b"[" * deep + b"]" * deep)


VALUES: dict[str, bytes | None] = {
    "tombstone": None,
    "empty": b"",
    "blank": b" \r\n\t",
    "zeros": b"\x00\x00\x00\x00",
    "no UTF-8": b"\xff\xfe{",
    "UTF-16": '{"flight_id":7}'.encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf{" + _GOOD + b"}",
    "bytes of a surrogate": _with(b'"x":"\xed\xa0\x80"'),
    "half a character": _with(b'"x":"\\ud800"'),
    "half a character as a key": _with(b'"\\udc00":1'),
    "half a character as the origin": b'{"origin":"\\uD83D","flight_id":"\\udfff","delay":1}',
    "nested 10,000 deep": _nested(DEEP),
    "objects nested 10,000 deep": _with(b'"nested":' + b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "nested 900 deep": _nested(900),
    "nested 500 deep as the origin": b'{"origin":' + b"[" * 500 + b"]" * 500 + b"}",
    "nested 150 deep": _nested(150),
    "never closed": b"[" * DEEP,
    "5,000 digits": b'{"flight_id":' + b"7" * 5000 + b',"origin":' + b"7" * 5000 + b"}",
    "4,000 digits": b'{"flight_id":' + b"7" * 4000 + b',"origin":' + b"7" * 4000 + b"}",
    "4,000 digits of a delay": b'{"origin":"JFK","delay":' + b"7" * 4000 + b"}",
    "65 bits": b'{"flight_id":18446744073709551616,"origin":"JFK"}',
    "true as a number": b'{"flight_id":true,"origin":true,"delay":true}',
    "an infinite number": _with(b'"x":1e400'),
    "NaN": _with(b'"x":NaN'),
    "Infinity": _with(b'"x":-Infinity'),
    "a list": b"[1,2,3]",
    "a text": b'"JFK"',
    "a number": b"7",
    "null": b"null",
    "twice a key": b'{"flight_id":1,"flight_id":2,"origin":"JFK"}',
    "an object as the origin": b'{"origin":{"a":[1]},"flight_id":[7],"delay":{}}',
    "nulls": b'{"flight_id":null,"origin":null,"delay":null,"observed_at":null}',
    "trailing bytes": b"{" + _GOOD + b"}{}",
    "no name of a field": b'{"":1,"a b":2,"\\u0000":3,"__proto__":4,"\xe2\x80\xae":5}',
    "escapes": _with(b'"x":"\\u001b[31m\\u0000\\u202e[/red]"'),
    "a heartbeat before all calendars": _heartbeat(b'"0001-01-01T00:00:00+14:00"'),
    "a heartbeat after all calendars": _heartbeat(b'"9999-12-31T23:59:59-14:00"'),
    "a heartbeat in another age": _heartbeat(b'"2200-01-01T00:00:00Z"'),
    "a heartbeat on no day": _heartbeat(b'"2013-02-30T00:00:00Z"'),
    "a heartbeat without a zone": _heartbeat(b'"2013-01-01T00:00:00"'),
    "a heartbeat at a number": _heartbeat(b"1357034400000"),
    "a heartbeat at an object": _heartbeat(b'{"at":1}'),
    "a heartbeat with an odd zone": _heartbeat(b'"2013-01-01T00:00:00+99:99"'),
    "a heartbeat with a zero behind it": _heartbeat(b'"2013-01-01T00:00:00Z\\u0000"'),
    "a megabyte of blanks in a text": _with(b'"x":"' + b" " * 1_000_000 + b'"'),
}

HEADERS: dict[str, tuple[tuple[str, bytes | None], ...]] = {
    "none": (),
    "without a value": (("sluice-id", None), ("sluice-generation", None), ("sluice-position", None)),
    "no text": (("sluice-id", b"\xff"), ("sluice-generation", b"\xff"), ("sluice-position", b"\xff")),
    "no number": (("sluice-id", b"a"), ("sluice-generation", b"one"), ("sluice-position", b"NaN")),
    "5,000 digits": (("sluice-id", b"a"), ("sluice-generation", b"9" * 5000), ("sluice-position", b"1")),
    "30 digits": (("sluice-id", b"a"), ("sluice-generation", b"9" * 30), ("sluice-position", b"1")),
    "twice, and without a name": (("", b""), ("a\x1b[31m", b"\x00"), ("a", None), ("a", b"\xff")),
}

KEYS: tuple[bytes | None, ...] = (None, b"", b"\x00", b"\xff\xfe", b"JFK", b"\x1b[31m" * 1000)

TIMESTAMPS: tuple[int | None, ...] = (None, -1, 0, 1_357_034_400_000, 253_402_300_800_000, 2**62, 2**63 - 1)
"""Of records, in milliseconds: some brokers keep whatever a producer says."""


def near_objects() -> st.SearchStrategy[bytes]:
    """Values that are objects or nearly so, cut and written over."""
    texts = st.text(max_size=8) | st.sampled_from(["0001-01-01T00:00:00+14:00", "2013-01-01T00:00:00Z", "\ud800"])
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
    values = st.recursive(leaves, lambda part: st.lists(part, max_size=3) | st.dictionaries(texts, part, max_size=3))
    names = st.sampled_from(["flight_id", "origin", "delay", "heartbeat", "scheduled_at", "observed_at"]) | texts
    whole = st.dictionaries(names, values, max_size=6).map(_written)
    cut = st.tuples(whole, st.integers(0, 60)).map(lambda pair: pair[0][: pair[1]])
    return st.binary(max_size=40) | whole | cut


def _written(value: object) -> bytes:
    return json.dumps(value).encode()
