"""Random values of records: bytes, near-JSON, and objects that are changed, cut, doubled and written over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

_TOKENS = [
    *(b'{ } [ ] : , "id" "at" "ID" "x" 1 -0 01 1. .5 1e2 1e400 -1E-3 9223372036854775808'.split()),
    *(b"NaN Infinity -Infinity true false null tru nul 'id' // /**/ \\".split()),
    *(b' "" "\\ud800" "\\udc00\\ud800" "\\ud83d\\ude42" "\\u00e9" "\\x" "\\n" "\n"'.split(b" ")),
    *(b'{"id":1} {"id":1,"id":2} "2013-01-01T10:00:00Z"'.split()),
    *(b"\x00 \xff \xc3\xa4 \xed\xa0\x80 \xef\xbb\xbf \t \r\n \x0b \x1e \x7f \xc2\xa0".split(b" ")),
]
_TEXTS = [
    *(
        "",
        "JFK",
        "EWR",
        "NaN",
        "Infinity",
        "-INF",
        "12",
        "1.5",
        "soon",
        "now",
        "\ud800",
        "\ud83d\ude42",
        "a\x00b",
        "ÄÖ",
    ),
    *(
        "2013-01-01T06:00:00Z",
        "2013-01-01T09:00:00Z",
        "2013-01-01T13:05:01Z",
        "2013-02-30T00:00:00Z",
        "1899-12-31T23:59:59Z",
    ),
    *(
        "2013-01-01T10:00:00Z\x00",
        " 2013-01-01T10:00:00Z",
        "2013",
        "2013-1-1 1:00",
        "2013-01-01",
        "2013-01-01T10:00:00",
    ),
    *(
        "2013-01-01T10:00",
        "2013-01-01T10:00+01",
        "2013-01-01 10:00:00.123456789-0130",
        "2013-01-01T10:00:00.1234567890Z",
    ),
    *("2013-01-01T10:00:00 Europe/Paris", "2013-01-01T10:00:00+19:00", "0000-01-01T00:00Z", "2013-01-01T24:00:00Z"),
    *("2300-01-01T00:00:00Z", "1900-01-01T00:00:00+01:00", "2199-12-31T23:59:59-01:00", "2013-01-01T10:00:60Z"),
    *("12:00", "T12:00:00", "12:00:00Z", "+12:00", " 12:00", "2200-01-01T00:00:00Z", "2199-12-31T23:59:59Z"),
]
_NUMBERS = [0, -1, 7, 1357034400, 1357034400000, 1357034400000000, -(10**18), 2**63 - 1, -(2**63), 2**63, 10**30]
_SEPARATORS = [(",", ":"), (", ", ": "), (" ,\n", "\t:\r\n")]
_FURTHER = ("ID", "Place", "sEEn", "extra", "nested", "_fault")


class NearJson:
    """Makes values from a seed, the same ones each time.

    Args:
        seed: of the random numbers.
        good: an object as it is declared.
    """

    def __init__(self, seed: int, good: Mapping[str, Any]) -> None:
        self._random = Random(seed)
        self._good = good

    def value(self) -> bytes | None:
        """Return one value; most are an object that is nearly right."""
        kind = self._random.random()
        if kind < 0.01:
            return None
        if kind < 0.04:
            return self._random.randbytes(self._random.randrange(40))
        if kind < 0.14:
            return b"".join(self._random.choices(_TOKENS, k=self._random.randrange(14)))
        text = self._object()
        for _ in range(0 if kind < 0.6 else self._random.randint(1, 3)):
            text = self._mutated(text)
        return text

    def _object(self) -> bytes:
        """Names left out, added and in another order, values of any kind."""
        found = dict(self._good)
        for _ in range(self._random.choice([0, 1, 1, 1, 2, 3])):
            found[self._random.choice([*self._good, *_FURTHER])] = self._json(3)
        if self._random.random() < 0.1:
            del found[self._random.choice(list(found))]
        names = list(found)
        if self._random.random() < 0.3:
            self._random.shuffle(names)
        spaced, escaped = self._random.choice(_SEPARATORS), self._random.random() < 0.5
        text = json.dumps({name: found[name] for name in names}, separators=spaced, ensure_ascii=escaped)
        return text.encode("utf-8", "surrogatepass")

    def _json(self, depth: int) -> object:
        random = self._random
        if depth and random.random() < 0.2:
            parts = {random.choice("abc"): self._json(depth - 1) for _ in range(random.randrange(3))}
            return random.choice([parts, list(parts.values())])
        return random.choice(
            [
                *(None, True, False, random.randint(-20, 20), random.choice(_NUMBERS), random.uniform(-12, 12)),
                *(
                    random.choice([1e300, -0.0, float("nan"), float("inf")]),
                    random.choice(_TEXTS),
                    random.choice(_TEXTS),
                ),
            ]
        )

    def _mutated(self, text: bytes) -> bytes:
        random = self._random
        start = random.randint(0, len(text))
        end = random.randint(start, min(len(text), start + 30))
        before, part, after = text[:start], text[start:end], text[end:]
        return random.choice(
            [
                before + after,
                before + part,
                before + part + part + after,
                before + random.choice(_TOKENS) + after,
                before + part.swapcase() + after,
                bytes([*before, random.randrange(256), *after[1:]]),
                text + random.choice(_TOKENS),
                text[:-1] + b"," + self._object()[1:],
            ]
        )
