"""What must become of a record with nested fields, by Python's own `json` and plain rules. It shares no code."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any

from tests.admission_oracle import BLANK, moment, read_document

NAN_TEXTS = {"NaN", "Infinity", "+Infinity", "-Infinity", "INF", "+INF", "-INF"}
INSTANTS = (
    "2013-01-01T10:00:00Z",
    "2013-01-01 10:00+01:00",
    "2013-01-01T09:59:59.1234567Z",
    "2013-02-30T00:00:00Z",
    "2013-01-01T10:00:00",
    "2013-01-01",
    "1850-01-01T00:00:00Z",
)
"""Texts that are times, and some that are none."""
LOG_FORM, LOG_STRPTIME = "dd/MMM/yyyy:HH:mm:ss Z", "%d/%b/%Y:%H:%M:%S %z"
PLAUSIBLE = (datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))
_MISSING = object()


@dataclass
class Verdict:
    """What is wrong with a record.

    Attributes:
        found: the ways to the fields with each reason, as the detail names them.
        values: the declared fields, as they are kept.
    """

    found: dict[str, set[str]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def blame(self, reason: str, where: str) -> None:
        """Note a field."""
        self.found.setdefault(reason, set()).add(where)


ORDER = ("trailing_bytes", "duplicate_key", "wrong_case", "not_finite", "wrong_type")
LATER = ("missing_field", "out_of_range", "not_allowed")


def judge_nested(value: bytes, fields: dict[str, Any]) -> tuple[str, Verdict]:
    """Return the reason for which a record is quarantined, or `good`, with what was found."""
    verdict = Verdict()
    if not value.strip(BLANK.encode()):
        return "empty", verdict
    read = read_document(value, Decimal)
    if read is None or _too_long(value):
        return "malformed", verdict
    found, rest, document = read
    if rest.strip(BLANK):
        return "trailing_bytes", verdict
    if document.repeated:
        return "duplicate_key", verdict
    if document.constants:
        verdict.blame("not_finite", "?")
    verdict.values = _object(found, fields, "", verdict)
    return next((reason for reason in (*ORDER, *LATER) if reason in verdict.found), "good"), verdict


def _too_long(value: bytes) -> bool:
    return re.search(rb"[0-9.]{990}", value) is not None


def _object(found: dict[str, Any], fields: dict[str, Any], before: str, verdict: Verdict) -> dict[str, Any]:
    _cases(found, [_keys(name, said) for name, said in fields.items()], before, verdict)
    row = {}
    for name, said in fields.items():
        part = _at(found, _keys(name, said), before, verdict)
        row[name] = _value(part, said, before + name, verdict)
    return row


def _keys(name: str, said: dict[str, Any]) -> list[str]:
    steps = re.findall(r"\['([^']+)'\]|\.(\w+)", said["path"]) if "path" in said else [(name, "")]
    return [quoted or plain for quoted, plain in steps]


def _cases(found: Any, paths: list[list[str]], before: str, verdict: Verdict) -> None:  # noqa: ANN401  JSON is any
    """Look for keys in another case, wherever a path goes."""
    if not isinstance(found, dict):
        return
    declared = {path[0] for path in paths}
    lower = {key.lower(): key for key in declared}
    for key in found:
        if key not in declared and key.lower() in lower:
            verdict.blame("wrong_case", before + lower[key.lower()])
    for key in declared:
        further = [path[1:] for path in paths if path[0] == key and len(path) > 1]
        if further:
            _cases(found.get(key), further, f"{before}{key}.", verdict)


def _at(found: Any, keys: list[str], before: str, verdict: Verdict) -> Any:  # noqa: ANN401  JSON is any
    for place, key in enumerate(keys):
        if not isinstance(found, dict):
            if found is not None:
                verdict.blame("wrong_type", before + ".".join(keys[:place]))
            return None
        found = found.get(key)
    return found


def _value(found: Any, said: dict[str, Any], where: str, verdict: Verdict) -> Any:  # noqa: ANN401  JSON is any
    if found is None:
        if said.get("required"):
            verdict.blame("missing_field", where)
        return None
    kind = said["type"]
    if kind in ("object", "map") and isinstance(found, dict):
        if kind == "object":
            return _object(found, said["fields"], f"{where}.", verdict)
        return {key: _value(part, said["values"], f"{where}{{}}", verdict) for key, part in found.items()}
    if kind == "array" and isinstance(found, list):
        return [_value(part, said["items"], f"{where}[]", verdict) for part in found]
    kept = _scalar(found, said)
    if kept is _MISSING:
        verdict.blame("wrong_type", where)
        return None
    for reason in _outside(kept, said):
        verdict.blame(reason, where)
    return kept


def _outside(kept: Any, said: dict[str, Any]) -> Iterator[str]:  # noqa: ANN401  JSON is any
    if isinstance(kept, float) and not math.isfinite(kept):
        yield "not_finite"
    elif "minimum" in said and kept < said["minimum"]:
        yield "out_of_range"
    if "one_of" in said and kept not in said["one_of"]:
        yield "not_allowed"
    if isinstance(kept, datetime) and not PLAUSIBLE[0] <= kept < PLAUSIBLE[1]:
        yield "out_of_range"


def _scalar(found: Any, said: dict[str, Any]) -> Any:  # noqa: ANN401, C901, PLR0911  a table of types
    whole = isinstance(found, int) and not isinstance(found, bool)
    match said["type"]:
        case "string":
            return found
        case "long" | "integer":
            bits = 63 if said["type"] == "long" else 31
            return found if whole and -(2**bits) <= found < 2**bits else _MISSING
        case "boolean":
            return found if isinstance(found, bool) else _MISSING
        case "double":
            if found in NAN_TEXTS if isinstance(found, str) else isinstance(found, float):
                return math.nan
            return _float(found) if whole or isinstance(found, Decimal) else _MISSING
        case "decimal":
            return _decimal(found, said) if whole or isinstance(found, Decimal) else _MISSING
        case "binary":
            return _bytes(found) if isinstance(found, str) else _MISSING
        case "date":
            return _date(found) if isinstance(found, str) else _MISSING
        case "timestamp":
            if "epoch" in said:
                return _counted(found) if whole and -(2**63) <= found < 2**63 else _MISSING
            at = _instant(found, said) if isinstance(found, str) else None
            return _MISSING if at is None else at
    return _MISSING


def _float(number: Any) -> float:  # noqa: ANN401  int or Decimal
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _decimal(number: Any, said: dict[str, Any]) -> Any:  # noqa: ANN401  int or Decimal
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 3000, 10**15, -(10**15)
        exact = Decimal(number)
        try:
            fits = abs(exact) < 10 ** (said["precision"] - said["scale"])
            kept = exact.quantize(Decimal(1).scaleb(-said["scale"])) if fits else None
        except InvalidOperation:
            return _MISSING
        return kept if kept is not None and kept == exact else _MISSING


def _bytes(text: str) -> Any:  # noqa: ANN401
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return _MISSING
    return found if base64.b64encode(found).decode() == text else _MISSING


def _date(text: str) -> Any:  # noqa: ANN401
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return _MISSING
    return found if found.isoformat() == text else _MISSING


def _counted(number: int) -> datetime:
    try:
        return datetime.fromtimestamp(number, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime(1, 1, 1, tzinfo=UTC)


def _instant(text: str, said: dict[str, Any]) -> datetime | None:
    if said.get("format") != LOG_FORM:
        return _written(moment(text, None))
    try:
        found = datetime.strptime(text, LOG_STRPTIME)  # noqa: DTZ007 - the form has a zone
    except ValueError:
        return None
    return found.astimezone(UTC) if found.strftime(LOG_STRPTIME) == text else None


def _written(found: tuple[int, datetime] | None) -> datetime | None:
    if found is None:
        return None
    ages, at = found
    year = at.year - 2000 + 400 * ages
    # A year that Python does not know is out of range, as the first one is.
    return at.replace(year=year).astimezone(UTC) if 2 <= year < 9999 else datetime(1, 1, 1, tzinfo=UTC)
