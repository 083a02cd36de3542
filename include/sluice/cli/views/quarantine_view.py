"""Quarantined records and cases, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from sluice.cli.terminal.output import err, err_lines, out, out_lines, print_fields
from sluice.quality.cases import Case, CaseState
from sluice.quality.quarantine import Browsed, Quarantined, Revalidation
from sluice.quality.reasons import advice_of, in_short, meaning_of
from sluice.quality.samples import masked as in_form
from sluice.topics.printable import printable_bytes, printable_line

if TYPE_CHECKING:
    from sluice.spark.backfill.replay import ReplayResult

_STYLES = {
    CaseState.OPEN: "red",
    CaseState.FIXED: "yellow",
    CaseState.REPLAYED: "green",
    CaseState.DISCARDED: "dim",
}
_NEXT = {
    CaseState.OPEN: "fix the rules or `patch`, then `sluice quarantine replay {id}`; or `discard`",
    CaseState.FIXED: "`sluice quarantine replay {id}`",
    CaseState.REPLAYED: "nothing: its records are in the results",
    CaseState.DISCARDED: "nothing: its records stay in the raw table, and out of the results",
}
_WIDTH = 200
_PER_LINE = 16
_MAX_DUMPED = 4096


def print_browsed(pipeline: str, browsed: Browsed, *, masked: bool) -> None:
    """Print counts by reason and day, and the newest records."""
    out_lines.print(f"{pipeline} rejects {browsed.total:,} records.")
    if not browsed.total:
        return
    table = Table("reason", "day (UTC)", Column("records", justify="right"), "meaning", "what to do", box=None)
    for (reason, day), count in browsed.counts.items():
        advice = advice_of(reason, next(iter(browsed.details.get(reason, {})), None))
        table.add_row(reason, day, f"{count:,}", in_short(reason, browsed.details), advice)
    out.print(table)
    for one in browsed.records:
        out.print(_line(one, masked=masked), soft_wrap=True)
    if len(browsed.records) < browsed.total:
        err.print(f"Showing the newest {len(browsed.records):,}; use --limit for more.", style="dim")


def print_record(topic: str, rejected: Quarantined, *, masked: bool) -> None:
    """Print one record in full, as text and as bytes."""
    topic_id, partition, offset = rejected.position
    lines = {
        "record": f"{topic}/{partition} offset {offset:,} (topic id {topic_id}), {rejected.at:%Y-%m-%d %H:%M:%S} UTC",
        "reason": f"{rejected.reason}: {meaning_of(rejected.reason, rejected.detail)}",
        "fix": advice_of(rejected.reason, rejected.detail),
        "violates": "; ".join(rejected.broken),
        "key": "none" if rejected.key is None else _text(rejected.key, None, masked=masked),
        "headers": ", ".join(_headers(rejected, masked=masked)),
        "value": "none (a tombstone)" if rejected.value is None else _text(rejected.value, None, masked=masked),
    }
    print_fields(lines)
    if rejected.value and not masked:
        out_lines.print(f"  {len(rejected.value):,} bytes:")
        for line in hex_dump(rejected.value[:_MAX_DUMPED]):
            out_lines.print(f"  {line}")


def hex_dump(data: bytes) -> Iterator[str]:
    """Yield bytes as lines of hexadecimal with their printable ASCII."""
    for start in range(0, len(data), _PER_LINE):
        part = data[start : start + _PER_LINE]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)  # noqa: PLR2004 - printable ASCII
        yield f"{start:08x}  {part.hex(' '):<47}  {text}"


def record_as_dict(topic: str, rejected: Quarantined, *, masked: bool) -> dict[str, Any]:
    """Return a record as JSON values; bytes that are not UTF-8 are escaped."""
    topic_id, partition, offset = rejected.position
    return {
        "topic": topic,
        "topic_id": topic_id,
        "partition": partition,
        "offset": offset,
        "timestamp": rejected.at.isoformat(),
        "reason": rejected.reason,
        "detail": rejected.detail,
        "breaks": list(rejected.broken),
        "key": None if rejected.key is None else _text(rejected.key, None, masked=masked),
        "value": None if rejected.value is None else _text(rejected.value, None, masked=masked),
        "headers": list(_headers(rejected, masked=masked)),
    }


def print_cases(cases: Sequence[Case]) -> None:
    """Print cases as a table."""
    name = Column("case", no_wrap=True, min_width=max((len(case.id) for case in cases), default=4))  # for copying
    table = Table(name, "state", Column("records", justify="right"), "reasons", "opened by", "why", box=None)
    for case in cases:
        opened, style = case.events[0], _STYLES[case.state]
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in case.reasons.items())
        state = f"[{style}]{case.state}[/{style}]"
        table.add_row(case.id, state, f"{case.records:,}", reasons, escape(opened.by), escape(opened.why))
    out.print(table)


def print_case(case: Case) -> None:
    """Print a case with its history."""
    style = _STYLES[case.state]
    out.print(f"{escape(case.id)}: [{style}]{case.state}[/{style}]", soft_wrap=True)
    positions = str(case.positions)
    lines = {
        "records": f"{case.records:,} of {case.pipeline} ({case.selection})",
        "reasons": ", ".join(f"{count:,} {reason}" for reason, count in case.reasons.items()),
        "offsets": positions if len(positions) <= _WIDTH else f"{positions[:_WIDTH]}…",
        "next": _NEXT[case.state].format(id=case.id),
    }
    print_fields(lines)
    for event in case.events:
        counts = "" if event.counts is None else f" [{', '.join(f'{n:,} {what}' for what, n in event.counts.items())}]"
        by = f"by {', '.join(event.backfills)}, " if event.backfills else ""
        line = f"{event.at:%Y-%m-%d %H:%M:%S} UTC  {event.state}: {event.why}{counts}; {by}{event.by}"
        out_lines.print(f"  {line}")


def print_patched(case: Case, revalidated: Revalidation, file: str, lines: str) -> None:
    """Print the outcomes of a case's records with a patch, and the lines that declare it."""
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in revalidated.outcomes.items() if count)
    if revalidated.reasons:
        counts += ": " + ", ".join(f"{count:,} {reason}" for reason, count in revalidated.reasons.items())
    missing = f"; {revalidated.missing:,} are no longer in the raw table" if revalidated.missing else ""
    accepted = f"{revalidated.better:,} of {case.records:,} records ({counts}){missing}"
    summary = f"With the patch, today's rules accept {accepted}."
    out.print(summary, style="green" if revalidated.better == case.records else "red", soft_wrap=True)
    out_lines.print(f"To declare it, add to `value` in {file}:")
    out.write(f"{lines}\n")  # unwrapped, for copying


def print_replayed(result: ReplayResult) -> None:
    """Print how a replay ended."""
    if result.revalidation is None:
        out_lines.print("It was already replayed; nothing was done.")
    elif result.why:
        err_lines.print(f"Nothing was changed: {result.why}")
    print_case(result.case)


def case_as_dict(case: Case) -> dict[str, Any]:
    """Return a case as JSON values."""
    return {
        "id": case.id,
        "pipeline": case.pipeline,
        "state": case.state,
        "selection": case.selection,
        "records": case.records,
        "reasons": dict(case.reasons),
        "offsets": str(case.positions),
        "events": [
            {
                "state": event.state,
                "by": event.by,
                "why": event.why,
                "at": event.at.isoformat(),
                "backfills": list(event.backfills),
                "counts": None if event.counts is None else dict(event.counts),
            }
            for event in case.events
        ],
    }


def _line(rejected: Quarantined, *, masked: bool) -> Text:
    _, partition, offset = rejected.position
    line = Text(f"{rejected.at:%Y-%m-%dT%H:%M:%SZ}  {partition}:{offset}  ", style="dim")
    line.append(f"{rejected.reason}  ", style="red not dim")
    if rejected.detail:
        line.append(f"[{rejected.detail}]  ", style="magenta not dim")
    if rejected.broken:
        line.append(f"[{'; '.join(rejected.broken)}]  ", style="magenta not dim")
    if rejected.key is not None:
        line.append(f"{_text(rejected.key, _WIDTH, masked=masked)}  ", style="cyan not dim")
    value = "(tombstone)" if rejected.value is None else _text(rejected.value, _WIDTH, masked=masked)
    return line.append(value, style="not dim")


def _text(data: bytes, most: int | None, *, masked: bool) -> str:
    text = printable_bytes(data, most)
    return in_form(text) if masked else text


def _headers(rejected: Quarantined, *, masked: bool) -> Iterator[str]:
    for name, value in rejected.headers:
        yield printable_line(name) if value is None else f"{printable_line(name)}={_text(value, _WIDTH, masked=masked)}"
